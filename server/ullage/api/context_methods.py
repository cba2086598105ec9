"""The methods `context/*`: params, results and handlers."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from ullage.api.session_methods import SessionParams
from ullage.api.values import UsageResult, usage_result
from ullage.edits.compaction import Summary
from ullage.formats.provider import Provider
from ullage.model.blocks import ArtifactLedger
from ullage.model.edits import compaction_block
from ullage.model.errors import InvalidRequest
from ullage.service.archive import export
from ullage.service.archive import search as archive
from ullage.service.archive import undo as history
from ullage.service.archive.undo import HistoryEntry, Reverted
from ullage.service.compact import by_hand
from ullage.service.compact.by_hand import ManualRequest
from ullage.service.compact.room import ready
from ullage.service.compact.run import Compacted
from ullage.service.conversation import pages
from ullage.service.conversation.checkpoints import Checkpoint
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import Entry, Page
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SearchHit
from ullage.transcript.fold import EditInfo

Limit = Annotated[int, Meta(ge=1, le=1_000)]


class MessagesParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists messages. `scope` `context` lists the messages that the model would be sent, `transcript` lists every
    message, archived or not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then
    ignored. With `provider`, the result also has the context as a request of that provider."""

    session_id: str
    message_id: str | None = None
    scope: Literal["context", "transcript"] = "context"
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Limit | None = None
    provider: Provider | None = None


class MessagesResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of messages. `total` counts all messages of the scope. `request` has the fields of a request of the
    provider that the params named, null if they named none."""

    entries: tuple[Entry, ...]
    total: int
    request: dict[str, Any] | None = None


class CompactParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Compacts the context now. `focus` says what the summary must keep. `from` and `upTo` are ids of messages in the
    context: if one or both are given, the messages between them, both included, are compacted and all others stay
    verbatim. `dryRun` previews the compaction."""

    session_id: str
    focus: str = ""
    first_id: str | None = field(name="from", default=None)
    last_id: str | None = field(name="upTo", default=None)
    dry_run: bool = False


class CompactResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a compaction did, or would do. A compaction has an `editId`. A preview has a `previewId` instead, and
    `archived` holds the messages that it would archive. Sizes are tokens of the context. `note` says how the compacted
    range differs from the one in the request: it is moved so that a tool call and its result stay together."""

    summary: str
    ledger: ArtifactLedger
    messages_archived: int
    context_size_before: int
    context_size_after: int
    usage: UsageResult
    edit_id: str | None = None
    preview_id: str | None = None
    archived: tuple[Entry, ...] = ()
    note: str = ""


class CommitParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Applies the compaction of a preview. If `summary` is given, it replaces the preview's own."""

    session_id: str
    preview_id: str
    summary: str | None = None


class UndoParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Undoes the last edit, or the edit `editId`, with all edits of the same action. `dryRun` only says what the
    undo would bring back."""

    session_id: str
    edit_id: str | None = None
    dry_run: bool = False


class RestoreParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Goes back to a checkpoint: undoes the edits made after it, and redoes the edits undone after it. Exactly one
    field names the checkpoint: the place after an edit (which stays in force) or after a message, a position in the
    log, or a time in Unix milliseconds or ISO 8601. `dryRun` only says what would change."""

    session_id: str
    edit_id: str | None = None
    message_id: str | None = None
    position: int | None = None
    timestamp: int | str | None = None
    dry_run: bool = False


class RevertResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The edits that were undone or redone, in their new state, the number of messages that came back into the context
    (negative if redone edits removed more), and how full the context is. After a `dryRun`: what they would be."""

    edits: tuple[EditInfo, ...]
    messages_back: int
    usage: UsageResult


class PinParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Pins a message of the context. `pinned` false unpins it."""

    session_id: str
    message_id: str
    pinned: bool = True


class PinResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The ids of all pinned messages of the session."""

    pinned: tuple[str, ...]


class SearchParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Searches the messages of one session, or of all if `sessionId` is left out. `query` holds names, whole or in
    part, or a question in plain words."""

    query: str
    session_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class SearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages that match the query, best first. `context/messages` with a hit's `sessionId` and `messageId` gives
    the whole message. `unread` is the number of stored records that are not indexed yet and so were not searched;
    `note` is a sentence to show with the results, if it is not empty."""

    hits: tuple[SearchHit, ...]
    unread: int = 0
    note: str = ""


class HistoryResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """Every edit ever made in the session, oldest first."""

    edits: tuple[HistoryEntry, ...]


class LookUpParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Has a tool of `ullage mcp` (`search`, `open`, `context` or `lost`, also with `ullage_` before it) answer about a
    session, with the arguments that it has there."""

    session_id: str
    tool: str
    arguments: dict[str, Any] = {}


class LookUpResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The tool's text: at most 4 KB, in which everything that was said is quoted. `isError` says that it says what was
    wrong with the call."""

    text: str
    is_error: bool


async def get(workspace: Workspace, params: SessionParams) -> UsageResult:
    return usage_result(workspace.open(params.session_id))


async def messages(workspace: Workspace, params: MessagesParams) -> MessagesResult:
    conversation = workspace.open(params.session_id)
    if params.message_id is not None:
        page = Page(entries=(archive.find_entry(conversation, params.message_id),), total=1)
    elif params.scope == "context":
        page = await pages.view_page(await ready(conversation), params.offset, params.limit)
    else:
        page = pages.transcript_page(conversation, params.offset, params.limit)
    request = None
    if params.provider is not None:
        request = await export.provider_request(conversation, params.provider)
    return MessagesResult(entries=page.entries, total=page.total, request=request)


async def compact(workspace: Workspace, params: CompactParams) -> CompactResult:
    conversation = workspace.open(params.session_id)
    request = ManualRequest(focus=params.focus, first_id=params.first_id, last_id=params.last_id)
    if params.dry_run:
        return _previewed(conversation, await by_hand.preview(conversation, request))
    return _compacted(conversation, await by_hand.compact_by_hand(conversation, request))


async def commit(workspace: Workspace, params: CommitParams) -> CompactResult:
    conversation = workspace.open(params.session_id)
    return _compacted(conversation, by_hand.commit(conversation, params.preview_id, params.summary))


async def undo(workspace: Workspace, params: UndoParams) -> RevertResult:
    conversation = workspace.open(params.session_id)
    return _reverted(history.undo(conversation, params.edit_id, dry_run=params.dry_run))


async def restore(workspace: Workspace, params: RestoreParams) -> RevertResult:
    names = (params.edit_id, params.message_id, params.position, params.timestamp)
    if sum(name is not None for name in names) != 1:
        raise InvalidRequest("context/restore needs one of `editId`, `messageId`, `position` and `timestamp`")
    checkpoint = Checkpoint(
        edit_id=params.edit_id, message_id=params.message_id, position=params.position, timestamp=params.timestamp
    )
    conversation = workspace.open(params.session_id)
    return _reverted(history.restore(conversation, checkpoint, dry_run=params.dry_run))


async def pin(workspace: Workspace, params: PinParams) -> PinResult:
    conversation = workspace.open(params.session_id)
    by_hand.pin(conversation, params.message_id, pinned=params.pinned)
    return PinResult(pinned=tuple(sorted(conversation.transcript.pinned)))


async def search(workspace: Workspace, params: SearchParams) -> SearchResult:
    found = await archive.search(workspace, params.session_id, params.query, params.limit)
    return SearchResult(hits=found.hits, unread=found.unread, note=found.note)


async def list_edits(workspace: Workspace, params: SessionParams) -> HistoryResult:
    return HistoryResult(edits=history.history(workspace.open(params.session_id)))


def _reverted(reverted: Reverted) -> RevertResult:
    usage = usage_result(reverted.conversation)
    return RevertResult(edits=reverted.edits, messages_back=reverted.messages_back, usage=usage)


def _compacted(conversation: Conversation, done: Compacted) -> CompactResult:
    block = compaction_block(done.edit)
    return CompactResult(
        summary=block.summary,
        ledger=block.ledger,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
        usage=usage_result(conversation),
        edit_id=done.edit.id,
        note=done.note,
    )


def _previewed(conversation: Conversation, preview: by_hand.Preview) -> CompactResult:
    summary: Summary = preview.summary
    return CompactResult(
        summary=summary.text,
        ledger=summary.ledger,
        messages_archived=len(preview.archived),
        context_size_before=preview.context_size_before,
        context_size_after=preview.context_size_after,
        usage=usage_result(conversation),
        preview_id=preview.id,
        archived=preview.archived,
        note=preview.note,
    )


async def look_up(workspace: Workspace, params: LookUpParams) -> LookUpResult:
    if workspace.looks_up is None:
        raise InvalidRequest("context/lookUp: this server has no tools for a conversation; run `ullage lsp`")
    found = await workspace.looks_up(params.session_id, params.tool, params.arguments)
    return LookUpResult(text=found.text, is_error=found.is_error)
