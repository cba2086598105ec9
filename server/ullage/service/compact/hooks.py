"""Hooks: the user's own programs before and after a compaction.

Each program gets one JSON object on standard input. `preCompact` may veto the compaction: by exit status 2 with the
reason on standard error, or by `{"veto": reason}` on standard output. It may add to the focus by `{"instructions":
text}`. It may also print nothing. If a hook fails or takes too long, a notice says so and the compaction continues.
`postCompact` gets the result.
"""

import msgspec
from msgspec import UNSET, Struct, UnsetType

from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.errors import CompactionVetoed
from ullage.model.message import Message
from ullage.redaction.clean import redact
from ullage.redaction.privacy import with_texts
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.publish import hook_failed
from ullage.service.ports.world import CommandOutcome
from ullage.summary.summary_request import SummaryRequest

_VETO_STATUS = 2
# Characters. The instructions are added to the user's focus. Longer ones would leave the summary too little attention
# for the messages.
_MOST_INSTRUCTIONS = 4_000
_MOST_REASON = 300


class PreCompact(Struct, frozen=True, kw_only=True, rename="camel", tag_field="event", tag="preCompact"):
    """The JSON input of the hook `preCompact`: the planned compaction in figures. Sizes are tokens. `dryRun` is true
    for a preview. `messages` are the messages to be archived, without secrets and private text; they are only there if
    the setting `hooks.shareContent` is on."""

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
    """The JSON input of the hook `postCompact`, about an applied compaction. Sizes are tokens; `seconds` is how long
    the compaction took."""

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
    """The JSON output of the hook `preCompact`: `veto` is the reason to stop the compaction, `instructions` are added
    to the summary's focus. Further fields are ignored."""

    veto: str | None = None
    instructions: str | None = None


class PreCompactHook:
    """Runs the hook `preCompact` for one compaction. The program runs once, however many tries the summary takes.
    `dry_run` says that the compaction is a preview."""

    def __init__(self, *, dry_run: bool = False) -> None:
        self._dry_run = dry_run
        self._focus: str | None = None

    async def focus(self, conversation: Conversation, planned: Planned, request: SummaryRequest) -> str:
        """Runs the hook if it has not run yet. Returns the focus of `request` with the hook's instructions added.
        Raises `CompactionVetoed` if the hook stops the compaction. If the hook fails, a notice says so and the focus
        stays as it is."""
        if self._focus is None:
            self._focus = await self._ask(conversation, planned, request)
        return self._focus

    async def _ask(self, conversation: Conversation, planned: Planned, request: SummaryRequest) -> str:
        command = conversation.workspace.settings.hooks.pre_compact
        if not command:
            return request.focus
        outcome = await _run(conversation, command, _pre(conversation, planned, request, dry_run=self._dry_run))
        if outcome.status == _VETO_STATUS:
            raise CompactionVetoed(_stopped(outcome.err or outcome.out))
        answer, fault = _read(outcome)
        if fault:
            conversation.emit(hook_failed("preCompact", fault))
        if answer.veto is not None:
            raise CompactionVetoed(_stopped(answer.veto))
        return "\n".join(filter(None, [request.focus, (answer.instructions or "")[:_MOST_INSTRUCTIONS]]))


def after_compaction(conversation: Conversation, edit: CompactionEdit, began: int) -> None:
    """Starts the hook `postCompact` in the background, if the settings have one. `began` is when the compaction began,
    in Unix milliseconds."""
    command = conversation.workspace.settings.hooks.post_compact
    if command:
        given = _post(conversation, edit, conversation.workspace.ports.clock.now() - began)
        conversation.work.spawn(_run_after(conversation, command, given))


async def _run_after(conversation: Conversation, command: tuple[str, ...], given: PostCompact) -> None:
    outcome = await _run(conversation, command, given)
    if outcome.fault or outcome.status:
        conversation.emit(hook_failed("postCompact", outcome.fault or _failure(outcome)))


async def _run(conversation: Conversation, command: tuple[str, ...], given: PreCompact | PostCompact) -> CommandOutcome:
    workspace = conversation.workspace
    return await workspace.ports.commands.run(command, msgspec.json.encode(given), workspace.settings.hooks.timeout)


def _read(outcome: CommandOutcome) -> tuple[HookAnswer, str]:
    """Returns the hook's answer, and words for what went wrong, empty if nothing did. Output that is not JSON is
    ignored, because the program may have written it for its user."""
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


def _pre(conversation: Conversation, planned: Planned, request: SummaryRequest, *, dry_run: bool) -> PreCompact:
    plan = planned.plan
    shares = conversation.workspace.settings.hooks.share_content
    going = [message for message in request.messages if message.id not in plan.stays]
    return PreCompact(
        session_id=conversation.id,
        cwd=conversation.transcript.cwd,
        trigger=planned.stamp.trigger.value,
        focus=request.focus,
        context_size_before=plan.used_before,
        messages_archived=plan.messages_archived,
        tokens_archived=plan.used_before - plan.used_without_marker,
        dry_run=dry_run,
        messages=tuple(with_texts(message, redact) for message in going) if shares else UNSET,
    )


def _post(conversation: Conversation, edit: CompactionEdit, took: int) -> PostCompact:
    block = compaction_block(edit)
    return PostCompact(
        session_id=conversation.id,
        cwd=conversation.transcript.cwd,
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
