"""Hooks: a person's own programs around a compaction. One before it may stop it or add instructions, one after it is
told what was done.

Each gets one JSON object on standard input. The one before answers with exit status 2 (the reason on standard error),
or with `{"veto": reason}` or `{"instructions": text}` on standard output; nothing is an answer, too. A hook that fails
or takes too long is told of in a notice and changes nothing.
"""

import asyncio

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.errors import CompactionVetoed
from ullage.model.message import Message
from ullage.redaction.clean import redact
from ullage.redaction.privacy import with_texts
from ullage.service.conversation.notices import hook_failed
from ullage.service.conversation.session import Planned
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.world import CommandOutcome
from ullage.summary.request import SummaryRequest

_VETO_STATUS = 2
# Instructions stand beside the person's focus; a book of them would crowd out what is to be summarised.
_MOST_INSTRUCTIONS = 4_000
_MOST_REASON = 300


class PreCompact(Struct, frozen=True, kw_only=True, rename="camel", tag_field="event", tag="preCompact"):
    """What the hook before a compaction is given: what is about to go, as counts; sizes are tokens. `dryRun` says that
    it is a preview. `messages` come only with `hooks.shareContent`, without secrets and private passages."""

    session_id: str
    cwd: str
    trigger: str
    focus: str
    context_size_before: int
    messages_archived: int
    tokens_archived: int
    dry_run: bool
    messages: tuple[Message, ...] | UnsetType = UNSET


class PostCompact(Struct, frozen=True, kw_only=True, rename="camel", tag_field="event", tag="postCompact"):
    """What the hook after a compaction is given."""

    session_id: str
    cwd: str
    trigger: str
    edit_id: str
    compaction_number: int
    summary: str
    summarizer: str
    messages_archived: int
    context_size_before: int
    context_size_after: int
    seconds: float


class HookAnswer(Struct, frozen=True, kw_only=True):
    """What the hook before a compaction may say; more is ignored."""

    veto: str | None = None
    instructions: str | None = None


async def before_compaction(workspace: Workspace, planned: Planned, request: SummaryRequest, *, dry_run: bool) -> str:
    """The focus to go on with: the person's, and what the hook adds. Raises `CompactionVetoed`."""
    command = workspace.settings.hooks.pre_compact
    if not command:
        return request.focus
    outcome = await _run(workspace, command, _pre(workspace, planned, request, dry_run=dry_run))
    if outcome.status == _VETO_STATUS:
        raise CompactionVetoed(_stopped(outcome.err or outcome.out))
    answer, fault = _read(outcome)
    if fault:
        workspace.emit(planned.session_id, hook_failed("preCompact", fault))
    if answer.veto is not None:
        raise CompactionVetoed(_stopped(answer.veto))
    return "\n".join(filter(None, [request.focus, (answer.instructions or "")[:_MOST_INSTRUCTIONS]]))


class Heard:
    """What the hook before one compaction said, asked once however often its summary is tried."""

    def __init__(self) -> None:
        self._focus: str | None = None

    async def before(self, workspace: Workspace, planned: Planned, request: SummaryRequest, *, dry_run: bool) -> str:
        """`before_compaction`, or what it said."""
        if self._focus is None:
            self._focus = await before_compaction(workspace, planned, request, dry_run=dry_run)
        return self._focus


def after_compaction(workspace: Workspace, planned: Planned, edit: CompactionEdit, began: int) -> None:
    """Tells the hook in the background; `began` is Unix milliseconds."""
    command = workspace.settings.hooks.post_compact
    if command:
        given = _post(workspace, planned, edit, workspace.ports.clock.now() - began)
        task = asyncio.get_running_loop().create_task(_tell(workspace, planned.session_id, command, given))
        workspace.background.add(task)
        task.add_done_callback(workspace.background.discard)


async def _tell(workspace: Workspace, session_id: str, command: tuple[str, ...], given: PostCompact) -> None:
    outcome = await _run(workspace, command, given)
    if outcome.fault or outcome.status:
        workspace.emit(session_id, hook_failed("postCompact", outcome.fault or _failure(outcome)))


async def _run(workspace: Workspace, command: tuple[str, ...], given: PreCompact | PostCompact) -> CommandOutcome:
    return await workspace.ports.commands.run(command, msgspec.json.encode(given), workspace.settings.hooks.timeout)


def _read(outcome: CommandOutcome) -> tuple[HookAnswer, str]:
    """The hook's answer, and what is wrong with it. Output that is no JSON object is for people, not for us."""
    if outcome.fault or outcome.status:
        return HookAnswer(), outcome.fault or _failure(outcome)
    try:
        return msgspec.json.decode(outcome.out, type=HookAnswer), ""
    except msgspec.ValidationError as error:
        return HookAnswer(), f"its answer cannot be used: {error}"
    except msgspec.DecodeError:
        return HookAnswer(), ""


def _failure(outcome: CommandOutcome) -> str:
    said = _line(outcome.err)
    return f"exit status {outcome.status}: {said}" if said else f"exit status {outcome.status}"


def _stopped(reason: str) -> str:
    return f"the preCompact hook stopped the compaction: {_line(reason) or 'it gave no reason'}"


def _line(text: str) -> str:
    return " ".join(text.split())[:_MOST_REASON]


def _pre(workspace: Workspace, planned: Planned, request: SummaryRequest, *, dry_run: bool) -> PreCompact:
    plan = planned.plan
    shares = workspace.settings.hooks.share_content
    going = [message for message in request.messages if message.id not in plan.stays]
    return PreCompact(
        session_id=planned.session_id,
        cwd=workspace.session(planned.session_id).transcript.cwd,
        trigger=planned.stamp.trigger.value,
        focus=request.focus,
        context_size_before=plan.used_before,
        messages_archived=plan.messages_archived,
        tokens_archived=plan.used_before - plan.used_without_marker,
        dry_run=dry_run,
        messages=tuple(with_texts(message, redact) for message in going) if shares else UNSET,
    )


def _post(workspace: Workspace, planned: Planned, edit: CompactionEdit, took: int) -> PostCompact:
    block = compaction_block(edit)
    return PostCompact(
        session_id=planned.session_id,
        cwd=workspace.session(planned.session_id).transcript.cwd,
        trigger=edit.trigger.value,
        edit_id=edit.id,
        compaction_number=block.compaction_number,
        summary=block.summary,
        summarizer=block.summarizer,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
        seconds=max(0, took) / 1000,
    )
