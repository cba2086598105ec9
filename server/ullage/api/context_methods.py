"""`context/*`: params, results and handlers."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from ullage.api.session_methods import SessionParams
from ullage.api.values import UsageResult, usage_result
from ullage.edits.compaction import Summary
from ullage.model.artifacts import ArtifactLedger
from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.errors import InvalidRequest
from ullage.service import archive, contexts, export
from ullage.service.contexts import Entry, Page
from ullage.service.ports import SearchHit
from ullage.service.workspace import Workspace
from ullage.transcript.fold import EditInfo

Limit = Annotated[int, Meta(ge=1, le=1_000)]


class MessagesParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`context` lists what the model would be sent, `transcript` everything ever, archived or not. `messageId` asks for
    that message alone, archived or not, whatever scope, offset and limit say. With `provider` the context is given
    request-ready as well."""

    session_id: str
    message_id: str | None = None
    scope: Literal["context", "transcript"] = "context"
    offset: Annotated[int, Meta(ge=0)] = 0
    limit: Limit | None = None
    provider: Literal["anthropic", "openai"] | None = None


class MessagesResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of messages, how many there are, and the request's fields for the provider asked for."""

    entries: tuple[Entry, ...]
    total: int
    request: dict[str, Any] | None = None


class CompactParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Compacts now; `focus` says what to keep above all. `dryRun` only shows what would happen."""

    session_id: str
    focus: str = ""
    dry_run: bool = False


class CompactResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a compaction did or, with `previewId`, would do."""

    summary: str
    ledger: ArtifactLedger
    messages_archived: int
    context_size_before: int
    context_size_after: int
    usage: UsageResult
    edit_id: str | None = None
    preview_id: str | None = None
    archived: tuple[Entry, ...] = ()


class CommitParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Applies a preview, with `summary` in place of its own if given."""

    session_id: str
    preview_id: str
    summary: str | None = None


class UndoParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Takes back the last edit, or the one named, and what was done together with it."""

    session_id: str
    edit_id: str | None = None


class RestoreParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Takes back every edit after a checkpoint: an edit (which stays) or a time in Unix milliseconds."""

    session_id: str
    edit_id: str | None = None
    timestamp: int | None = None


class RevertResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The edits taken back, and how full the context is again."""

    edits: tuple[EditInfo, ...]
    usage: UsageResult


class PinParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Pins a message of the context, or unpins it."""

    session_id: str
    message_id: str
    pinned: bool = True


class PinResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The ids of all pinned messages."""

    pinned: tuple[str, ...]


class SearchParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Words to find, in one session or all: names, whole or in part, or a question in plain words."""

    query: str
    session_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class SearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """Messages that match, best first. `context/messages` with a hit's `sessionId` and `messageId` gives it whole."""

    hits: tuple[SearchHit, ...]


class HistoryResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """Every edit ever, oldest first."""

    edits: tuple[EditInfo, ...]


async def get(workspace: Workspace, params: SessionParams) -> UsageResult:
    return usage_result(workspace, workspace.session(params.session_id))


async def messages(workspace: Workspace, params: MessagesParams) -> MessagesResult:
    if params.message_id is not None:
        page = Page(entries=(archive.find_entry(workspace, params.session_id, params.message_id),), total=1)
    elif params.scope == "context":
        page = await contexts.view_page(workspace, params.session_id, params.offset, params.limit)
    else:
        page = contexts.transcript_page(workspace, params.session_id, params.offset, params.limit)
    request = None
    if params.provider is not None:
        request = await export.provider_request(workspace, params.session_id, params.provider)
    return MessagesResult(entries=page.entries, total=page.total, request=request)


async def compact(workspace: Workspace, params: CompactParams) -> CompactResult:
    if params.dry_run:
        return _previewed(workspace, params, await contexts.preview(workspace, params.session_id, params.focus))
    edit = await contexts.compact_by_hand(workspace, params.session_id, params.focus)
    return _compacted(workspace, params.session_id, edit)


async def commit(workspace: Workspace, params: CommitParams) -> CompactResult:
    edit = contexts.commit(workspace, params.session_id, params.preview_id, params.summary)
    return _compacted(workspace, params.session_id, edit)


async def undo(workspace: Workspace, params: UndoParams) -> RevertResult:
    edits = contexts.undo(workspace, params.session_id, params.edit_id)
    return RevertResult(edits=edits, usage=_usage(workspace, params.session_id))


async def restore(workspace: Workspace, params: RestoreParams) -> RevertResult:
    if (params.edit_id is None) == (params.timestamp is None):
        raise InvalidRequest("context/restore needs either `editId` or `timestamp`")
    edits = contexts.restore(workspace, params.session_id, params.edit_id, params.timestamp)
    return RevertResult(edits=edits, usage=_usage(workspace, params.session_id))


async def pin(workspace: Workspace, params: PinParams) -> PinResult:
    session = contexts.pin(workspace, params.session_id, params.message_id, pinned=params.pinned)
    return PinResult(pinned=tuple(sorted(session.transcript.pinned)))


async def search(workspace: Workspace, params: SearchParams) -> SearchResult:
    return SearchResult(hits=await archive.search(workspace, params.session_id, params.query, params.limit))


async def history(workspace: Workspace, params: SessionParams) -> HistoryResult:
    return HistoryResult(edits=contexts.history(workspace, params.session_id))


def _usage(workspace: Workspace, session_id: str) -> UsageResult:
    return usage_result(workspace, workspace.session(session_id))


def _compacted(workspace: Workspace, session_id: str, edit: CompactionEdit) -> CompactResult:
    block = compaction_block(edit)
    return CompactResult(
        summary=block.summary,
        ledger=block.ledger,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
        usage=_usage(workspace, session_id),
        edit_id=edit.id,
    )


def _previewed(workspace: Workspace, params: CompactParams, preview: contexts.Preview) -> CompactResult:
    summary: Summary = preview.summary
    return CompactResult(
        summary=summary.text,
        ledger=summary.ledger,
        messages_archived=len(preview.archived),
        context_size_before=preview.context_size_before,
        context_size_after=preview.context_size_after,
        usage=_usage(workspace, params.session_id),
        preview_id=preview.id,
        archived=preview.archived,
    )
