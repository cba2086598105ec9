"""The methods `context/*`: params, results and handlers. Those that read come first, then edits, then what a compaction
left out and what hooks gave back to the agent.

Slash commands: prompts that need no model and do not change the transcript. They work at every door.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, field
from msgspec.structs import asdict, replace

from ullage.api.protocol import UsageResult, context_text, usage_result
from ullage.api.session_methods import PromptParams, PromptResult, SessionParams
from ullage.api.session_methods import prompt as ask_model
from ullage.edits.compaction import Summary
from ullage.formats.provider import Provider
from ullage.ledger.ledger_entry import Entry as LedgerEntry
from ullage.ledger.ledger_entry import Kind, Life
from ullage.lost import LONGEST
from ullage.memory.memory_tool import NAME
from ullage.model import words
from ullage.model.answer import TurnEnd
from ullage.model.errors import EditNotFound, InvalidRequest
from ullage.model.events import compaction_block
from ullage.model.json_values import as_text
from ullage.model.message import ArtifactLedger, ToolUseBlock
from ullage.model.updates import Notice, Severity
from ullage.service.archive import export
from ullage.service.archive import search as archive
from ullage.service.archive import undo as history
from ullage.service.archive.search import recall
from ullage.service.archive.undo import HistoryEntry, Reverted
from ullage.service.compact import by_hand
from ullage.service.compact.automatic import ready
from ullage.service.compact.by_hand import ManualRequest
from ullage.service.compact.run import AppliedCompaction
from ullage.service.conversation.conversation import Checkpoint, Conversation, Entry, Page, transcript_page, view_page
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import GivenBack
from ullage.service.ports.models import LookUpResult
from ullage.transcript.fold import EditInfo, compaction_edits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.lost.left_out import LeftOut


Limit = Annotated[int, Meta(ge=1, le=1_000)]


class MessagesParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists messages. `scope` `context` lists the messages that the model would be sent, `transcript` lists every
    message, archived or not. `messageId` asks for that message alone, archived or not; scope, offset and limit are then
    ignored. Without `limit`, all from `offset` on are listed. With `provider`, the result also has the context as a
    request of that provider."""

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
    """What a compaction did, or would do. A compaction has an `editId`, a preview a `previewId` instead.
    `archived` holds the messages that it archives. Sizes are tokens of the context. `note` says how the compacted
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


class HistoryResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """Every edit ever made in the session, oldest first."""

    edits: tuple[HistoryEntry, ...]


class LookUpParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Has a tool of `ullage mcp` (`search`, `open`, `context` or `lost`, also with `ullage_` before it) answer about a
    session, with the arguments that it has there."""

    session_id: str
    tool: str
    arguments: dict[str, Any] = {}


async def get(workspace: Workspace, params: SessionParams) -> UsageResult:
    return usage_result(workspace.open(params.session_id))


async def messages(workspace: Workspace, params: MessagesParams) -> MessagesResult:
    conversation = workspace.open(params.session_id)
    if params.message_id is not None:
        page = Page(entries=(archive.find_entry(conversation, params.message_id),), total=1)
    elif params.scope == "context":
        page = await view_page(await ready(conversation), params.offset, params.limit)
    else:
        page = transcript_page(conversation, params.offset, params.limit)
    request = None
    if params.provider is not None:
        request = await export.provider_request(conversation, params.provider)
    return MessagesResult(entries=_as_read(page.entries), total=page.total, request=request)


def _as_read(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns entries without what the client gave them as: `request` has it, and twice would cost too much."""
    return tuple(replace(entry, message=replace(entry.message, provided=None)) for entry in entries)


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


async def search(workspace: Workspace, params: SearchParams) -> archive.SearchResult:
    return await archive.search(workspace, params.session_id, params.query, params.limit)


async def list_edits(workspace: Workspace, params: SessionParams) -> HistoryResult:
    return HistoryResult(edits=history.history(workspace.open(params.session_id)))


def _reverted(reverted: Reverted) -> RevertResult:
    usage = usage_result(reverted.conversation)
    return RevertResult(edits=reverted.edits, messages_back=reverted.messages_back, usage=usage)


def _compacted(conversation: Conversation, done: AppliedCompaction) -> CompactResult:
    block = compaction_block(done.edit)
    return CompactResult(
        summary=block.summary,
        ledger=block.ledger,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
        usage=usage_result(conversation),
        edit_id=done.edit.id,
        archived=_as_read(tuple(by_hand.archived_entries(done.planned))),
        note=done.planned.note,
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
        archived=_as_read(preview.archived),
        note=preview.note,
    )


async def look_up(workspace: Workspace, params: LookUpParams) -> LookUpResult:
    if workspace.looks_up is None:
        raise InvalidRequest("context/lookUp: this server has no tools for a conversation; run `ullage lsp`")
    return await workspace.looks_up(params.session_id, params.tool, params.arguments)


class GivenBackRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A text that a hook gave the agent, `at` a time in Unix milliseconds.

    `why` is `compact` at the restart after a compaction, `resume` when the session was resumed, `prompt` at the next
    prompt, and `fill` for a note of how full the context is. `editId` is the compaction in force that it was given
    after; null if there is none, and for a note. `counts` has how many of each kind are in the text, with the kinds of
    `context/lost`. `characters` are UTF-16 units, `tokens` an estimate of what it costs.
    """

    at: int
    why: str
    edit_id: str | None
    counts: dict[str, int]
    characters: int
    tokens: int
    text: str


class GivenBackResult(Struct, frozen=True, kw_only=True):
    """What hooks gave back to the agent, the oldest first."""

    rows: tuple[GivenBackRow, ...]


async def given_back(workspace: Workspace, params: SessionParams) -> GivenBackResult:
    from ullage.lost.left_out import compaction_before  # noqa: PLC0415

    conversation = workspace.open(params.session_id)
    receipts = await asyncio.to_thread(_receipts, conversation)
    records = conversation.workspace.ports.store.read_edits(conversation.id) if receipts else ()
    edits = compaction_edits(records)
    return GivenBackResult(
        rows=tuple(
            GivenBackRow(edit_id=compaction_before(one.at, edits) if one.why != "fill" else None, **asdict(one))
            for one in receipts
        )
    )


def _receipts(conversation: Conversation) -> Sequence[GivenBack]:
    origin = conversation.transcript.origin
    return conversation.workspace.receipts(origin.origin_id) if origin and origin.origin_id else ()


class LostParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists what the compaction `editId` left out, or without it the last one in force. `limit` is the most entries of
    each kind, `briefSize` the most UTF-16 units of the brief."""

    session_id: str
    edit_id: str | None = None
    limit: Limit = 100
    brief_size: Annotated[int, Meta(ge=1, le=100_000)] = LONGEST


class LostEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that was left out. `text` is as it was written, without secrets; it may have several lines. `state` is
    its newest state, such as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question
    that a reply answers, how a check ended, the line of the summary that says otherwise; may be empty. `index` is the
    message that it was in."""

    kind: Kind
    state: Life
    text: str
    detail: str
    index: int


class LostResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a compaction left out that its summary does not say: what the user said and decided, and what is open,
    failed or done, but not every archived message. It comes by kind: of each first what the summary contradicts, then
    what is open, then the rest, the newest first.

    `editId` is null, and the rest empty, if no compaction is in force. `timestamp` is the compaction's time in Unix
    milliseconds, 0 if unknown. `messages` counts those before it, `kept` those among them that the agent still has.
    `readable` is false if the summary is encrypted, so that what it leaves out is not known. `counts` has how many were
    left out of each kind, whether listed or not, and `missing` how many of these no hook has given back yet. `brief`
    quotes it as a page to be given back to the agent; empty if nothing was left out or there is no room for a line.
    """

    edit_id: str | None = None
    timestamp: int = 0
    messages: int = 0
    kept: int = 0
    readable: bool = True
    counts: dict[str, int] = {}
    missing: dict[str, int] = {}
    entries: tuple[LostEntry, ...] = ()
    brief: str = ""


async def lost(workspace: Workspace, params: LostParams) -> LostResult:
    # Imported on use: what finds losses takes 50 ms to import, and the answer to `initialize` needs none of it.
    from ullage.lost.left_out import left_out  # noqa: PLC0415

    conversation = workspace.open(params.session_id)
    read, cwd = workspace.ports.store.read_apart, conversation.transcript.cwd

    def find() -> "LeftOut | None":
        given = [(one.at, one.text) for one in _receipts(conversation)]
        return left_out(read(conversation.id), cwd, params.edit_id, given)

    # In a thread: reading a long conversation for the first time takes a second.
    found = await asyncio.to_thread(find)
    if found is None:
        if params.edit_id is not None:
            raise EditNotFound(f"context/lost: no compaction {params.edit_id!r} is in force in this session")
        return LostResult()
    return _lost_result(found, params)


def _lost_result(found: "LeftOut", params: LostParams) -> LostResult:
    from ullage.lost.left_out import detail_of, ranked, text_of, write_brief  # noqa: PLC0415

    def row_of(entry: LedgerEntry) -> LostEntry:
        return LostEntry(
            kind=entry.kind,
            state=entry.life,
            text=text_of(entry, found.cwd),
            detail=detail_of(entry),
            index=entry.index,
        )

    compaction = found.compaction
    of_kind = (ranked(entry for entry in found.entries if entry.kind is kind) for kind in Kind)
    rows = (entry for entries in of_kind for entry in entries[: params.limit])
    return LostResult(
        edit_id=compaction.edit_id,
        timestamp=compaction.timestamp,
        messages=len(compaction.before),
        kept=compaction.kept,
        readable=compaction.is_readable,
        counts=found.counts,
        missing=found.missing,
        entries=tuple(map(row_of, rows)),
        brief=write_brief(found.entries, params.brief_size, cwd=found.cwd).text,
    )


# `/name`, and after white space the command's argument.
_SHAPE = re.compile(r"/(\w+)(?:\s+(.*))?\s*", re.DOTALL)


class SlashCommand(Struct, frozen=True, kw_only=True):
    """A command that a user types as a prompt, such as `/context`. `run` takes the workspace, the session's id and the
    argument, and returns the answer in Markdown. `hint` says what the argument is, empty if there is none. `notifies`
    says that what the command does publishes a notice with the same words."""

    name: str
    description: str
    run: Callable[[Workspace, str, str], Awaitable[str]]
    hint: str = ""
    notifies: bool = False


class Invocation(Struct, frozen=True, kw_only=True):
    """A slash command that a prompt calls, with its argument, empty if there is none."""

    command: SlashCommand
    argument: str

    async def run(self, workspace: Workspace, session_id: str) -> str:
        """Runs the command in a session and returns its answer in Markdown. Raises `UllageError`."""
        return await self.command.run(workspace, session_id, self.argument)


def find_command(prompt: Sequence[dict[str, Any]]) -> Invocation | None:
    """Returns the slash command that a prompt (ACP content blocks) calls. Returns None if the prompt is for the model,
    as any text that begins with an unknown command is."""
    if not prompt or prompt[0].get("type") != "text":
        return None
    shape = _SHAPE.fullmatch(as_text(prompt[0].get("text")).strip())
    command = _BY_NAME.get(shape[1]) if shape else None
    return Invocation(command=command, argument=(shape[2] or "").strip()) if shape and command else None


async def prompt(workspace: Workspace, params: PromptParams) -> PromptResult:
    """Runs the prompt's slash command, or sends it to the model. Returns how the turn ended. Raises `UllageError`."""
    invocation = find_command(params.prompt)
    if invocation is None:
        return await ask_model(workspace, params)
    # The answer is a notice, because it is not part of the conversation.
    answer = await invocation.run(workspace, params.session_id)
    if invocation.command.notifies:
        return PromptResult(stop_reason=TurnEnd.END_TURN)
    title, _, rest = answer.removeprefix("```\n").removesuffix("\n```").partition("\n")
    notice = Notice(severity=Severity.INFO, title=title.strip("*"), description=rest.strip() or UNSET)
    workspace.bus.emit(params.session_id, notice)
    return PromptResult(stop_reason=TurnEnd.END_TURN)


async def _context(workspace: Workspace, session_id: str, _: str) -> str:
    return context_text(await get(workspace, SessionParams(session_id=session_id)))


async def _compact(workspace: Workspace, session_id: str, focus: str) -> str:
    params = CompactParams(session_id=session_id, focus=focus)
    done = await compact(workspace, params)
    return words.compacted(done.messages_archived, done.context_size_before, done.context_size_after)


async def _undo(workspace: Workspace, session_id: str, edit_id: str) -> str:
    before = workspace.open(session_id).used
    params = UndoParams(session_id=session_id, edit_id=edit_id or None)
    done = await undo(workspace, params)
    return words.undone(before, done.usage.used)


async def _memory(workspace: Workspace, session_id: str, path: str) -> str:
    use = ToolUseBlock(id="command", name=NAME, input={"command": "view", "path": path or "/memories"})
    cwd = workspace.open(session_id).transcript.cwd
    answer = await workspace.ports.toolbox.run(session_id, cwd, use)
    return f"```\n{answer.text}\n```"


async def _recall(workspace: Workspace, session_id: str, wanted: str) -> str:
    if not wanted:
        raise InvalidRequest("Say what to look for: `/recall` and names, words or a question, or a message's id.")
    found = workspace.ports.store.find_message(session_id, wanted)
    result = await recall(workspace.open(session_id), {"message_id" if found else "query": wanted})
    return result.text


COMMANDS = (
    SlashCommand(name="context", description="Show how full the context is, and of what", run=_context),
    SlashCommand(
        name="compact",
        description="Replace the older part of the context by a summary",
        run=_compact,
        hint="what to keep above all",
        notifies=True,
    ),
    SlashCommand(name="undo", description="Take the last compaction or clearing back", run=_undo, hint="an edit's id"),
    SlashCommand(name="memory", description="Show what is kept in memory", run=_memory, hint="a file below /memories"),
    SlashCommand(
        name="recall",
        description="Search everything ever said in this session, archived or not",
        run=_recall,
        hint="names, words or a message's id",
    ),
)
_BY_NAME = {command.name: command for command in COMMANDS}
