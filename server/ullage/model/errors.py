"""Every error Ullage raises, as a tree. The text names the input and the remedy; doors map classes to codes.

UllageError
├── InputError                the input cannot be used (exit status 2, JSON-RPC -32602)
│   ├── UnknownFormat             no reader recognises the transcript
│   ├── UnreadableTranscript      the format is known, nothing in the file could be read
│   └── InvalidRequest            parameters or settings of the wrong shape
├── NotFound                  nothing has the name that was given
│   ├── SessionNotFound
│   ├── MessageNotFound
│   └── EditNotFound
├── Conflict                  the request does not fit the present state
│   ├── ConcurrentAppend          another process appended first; read on and try again
│   ├── SessionBusy               a compaction or prompt turn of this session is running
│   ├── NothingToCompact
│   ├── NothingToUndo
│   ├── SessionFollowed           an agent keeps the conversation; Ullage only reads it
│   ├── PreviewExpired            the transcript changed since the preview
│   └── CompactionVetoed          one of the user's hooks stopped it
├── StoreError                the session store cannot be used
│   ├── StoreTooNew               written by a newer Ullage; nothing was touched
│   └── StoreUnavailable
├── ContextError
│   ├── WindowUnknown             the model's window is not known and no setting gives it
│   └── CannotFit                 even the smallest legal context is over the window
├── ProviderError
│   ├── NoModelConfigured
│   ├── SdkMissing                the Python package that speaks to the provider is not installed
│   ├── ProviderUnavailable       unreachable, reset, overloaded (529, 500, 503): worth another try
│   │   └── RateLimited               429: worth another try when there are fewer requests
│   ├── AuthenticationFailed      401, 403: the key is missing or wrong
│   ├── ContextTooLong            the provider says that the request is over its window (400, 413)
│   ├── RequestRefused            400 of another kind: the request breaks a rule of the provider's
│   ├── AnswerBroken              the answer came, but empty, cut off or unreadable
│   └── AgentError                an agent behind the proxy ended, or refused
└── Cancelled                 the caller cancelled the request
"""


class UllageError(Exception):
    """The base of all errors that Ullage raises on purpose. `str(error)` is one line that can be shown to a user.
    `in_shell` is what the command line adds to it: commands and options, which other doors do not have."""

    def __init__(self, text: str = "", *, in_shell: str = "") -> None:
        super().__init__(text)
        self.in_shell = in_shell


class InputError(UllageError):
    """Base: a file, parameter or setting that the caller gave cannot be used."""


class UnknownFormat(InputError):
    """No transcript format matches the file, so it cannot be imported."""


class UnreadableTranscript(InputError):
    """The transcript's format is known, but no message in the file could be read."""


class InvalidRequest(InputError):
    """Parameters or settings have the wrong shape, or values that cannot be used."""


class NotFound(UllageError):
    """Base: there is no session, message, edit, file or other thing with the given name."""


class SessionNotFound(NotFound):
    """No session has this id."""


class MessageNotFound(NotFound):
    """No message of the session has this id."""


class EditNotFound(NotFound):
    """No edit of the session has this id, or the edit is undone already."""


class Conflict(UllageError):
    """Base: the request is valid but not possible in the session's present state."""


class ConcurrentAppend(Conflict):
    """Another process appended to the session's log first. Read the new records and try again."""


class SessionBusy(Conflict):
    """A compaction or a prompt turn of this session is running."""


class NothingToCompact(Conflict):
    """No message of the context may be archived, or archiving would save nothing."""


class NothingToUndo(Conflict):
    """The session has no edit in force that could be undone."""


class SessionFollowed(Conflict):
    """An agent keeps the conversation in a file of its own and Ullage only reads it, so it can't be changed here."""


class PreviewExpired(Conflict):
    """The transcript changed since the preview was made."""


class CompactionVetoed(Conflict):
    """One of the user's hooks stopped the compaction."""


class StoreError(UllageError):
    """Base: the store of the sessions cannot be used."""


class StoreTooNew(StoreError):
    """A newer version of Ullage wrote the store, so this version neither reads nor changes it."""


class StoreUnavailable(StoreError):
    """The store's file cannot be opened or written."""


class ContextError(UllageError):
    """Base: the context cannot be managed as asked."""


class WindowUnknown(ContextError):
    """The model's window is not known and no setting gives it."""


class CannotFit(ContextError):
    """Even after everything that may be archived, cleared or dropped, the context is over the model's window."""


class ProviderError(UllageError):
    """Base: a request to a model's provider failed, or could not be made."""


class NoModelConfigured(ProviderError):
    """No provider is configured, so no model can be asked."""

    def __init__(self, text: str, *, lacks_key: bool = False) -> None:
        """`lacks_key` says that a key is all that is missing."""
        super().__init__(text)
        self.lacks_key = lacks_key


class SdkMissing(ProviderError):
    """The Python package that speaks to the provider is not installed."""


class ProviderUnavailable(ProviderError):
    """The provider cannot be reached or is overloaded; another try may succeed. `retry_after` is the number of
    seconds that the provider asked to wait, if it gave one."""

    def __init__(self, text: str, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class RateLimited(ProviderUnavailable):
    """The provider refused the request because too many were made (HTTP 429). Another try may succeed later."""


class AuthenticationFailed(ProviderError):
    """The provider's key is missing or wrong."""


class ContextTooLong(ProviderError):
    """The provider refused the request because it exceeds the model's window."""


class RequestRefused(ProviderError):
    """The provider refused the request because it breaks one of the provider's rules."""


class AnswerBroken(ProviderError):
    """The provider's answer is empty, cut off or unreadable."""


class AgentError(ProviderError):
    """An agent behind the proxy ended, or refused a request."""


class Cancelled(UllageError):
    """The caller cancelled the request before it was answered."""
