"""A new session that an agent can resume, as a value, and what can write it in the agent's own format."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject
from ullage.model.message import ArtifactLedger, CompactionBlock, Message, Role, TextBlock, join_texts, render_marker

# The name of the summarizer whose summary is no text of the agent's.
_OFFLINE = "offline"


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be written.

    `id` is a UUID. `cwd` is the folder of its project, as an absolute path, and `version` the version of the agent
    that wrote the conversation it is made from; empty if unknown. `origin_id` is the id of that conversation.
    `made_at` is the present in Unix milliseconds. `messages` are the context that the agent will have; a marker, if
    there is one, comes first. `used` is the tokens of the context up to the last answer, as the provider will
    report them, 0 if unknown, and `window` those of the model's window.
    """

    id: str
    cwd: str
    messages: tuple[Message, ...]
    made_at: int
    version: str = ""
    origin_id: str = ""
    model: str = ""
    title: str = ""
    used: int = 0
    window: int | None = None


def is_system(message: Message) -> bool:
    """Returns whether a message is a system prompt, which every agent has of its own, and no marker."""
    return message.role is Role.SYSTEM and message.compaction is None


class SessionWriter(Struct, frozen=True, kw_only=True):
    """How sessions are written that an agent resumes. Everything is pure.

    - `lines`: returns the records of the session's file, one a line.
    - `path`: returns the file's absolute path. Raises `InvalidRequest` if the agent's name of the folder is not known.
    - `words`: the command that resumes a session, when it is run in the session's folder, without the session's id.
    - `latest`: the latest major version whose resumed sessions were tried.
    - `is_repeated`: says whether the agent itself wrote a text in the user's place, and does so again at every resume.
    - `keeps_reasoning`: whether a session of its own can contain the reasoning of the session that it is made from.
    """

    lines: Callable[[NewSession], Sequence[JsonObject]]
    path: Callable[[Machine, NewSession], str]
    words: tuple[str, ...]
    latest: int
    is_repeated: Callable[[str], bool]
    keeps_reasoning: bool = True

    def command(self, session: NewSession) -> tuple[str, ...]:
        return (*self.words, session.id)

    def unknown(self, version: str) -> str:
        """Returns why a conversation of this version of the agent can't be continued; "" if it can. A text that is no
        version can."""
        first = version.partition(".")[0]
        if not first.isdecimal() or int(first) <= self.latest:
            return ""
        known = f"up to its version {self.latest}" if self.latest else f"of its version {self.latest}"
        return f"only sessions {known} are known, this one is of {version}"

    def is_own(self, message: Message) -> bool:
        """Returns whether the agent itself wrote a message that it writes again when a session is resumed."""
        is_prompt = message.role is Role.USER and message.compaction is None
        return is_system(message) or (is_prompt and self.is_repeated(join_texts(message.content)))


def summary_text(marker: CompactionBlock) -> str:
    """Returns the text of a marker for an agent: its own summary as the agent wrote it, or what Ullage sends a model in
    place of the messages that it has archived."""
    is_bare = marker.ledger == ArtifactLedger() and not marker.brought_back and marker.summarizer != _OFFLINE
    return marker.summary if is_bare else render_marker(marker)


def as_said(message: Message) -> Message:
    """Returns a message as the agent sends it: a marker becomes the user's message with its text."""
    marker = message.compaction
    if marker is None:
        return message
    said = TextBlock(text=summary_text(marker))
    return Message(id=message.id, role=Role.USER, content=(said,), timestamp=message.timestamp)


def moment(time: int) -> str:
    """Returns a time in Unix milliseconds as agents' logs write it."""
    seconds = datetime.fromtimestamp(time // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{seconds}.{time % 1000:03}Z"


def uuid_of(*words: str) -> str:
    """Returns a UUID that is always the same for the same words, in the form of a random one."""
    digits = list(sha256("\n".join(words).encode()).hexdigest()[:32])
    # The digits by which a random UUID (version 4, RFC 9562) is known.
    digits[12], digits[16] = "4", "8"
    text = "".join(digits)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
