"""One compaction: plan it, have the summary written, record the edit, publish each step. One runs at a time in a
conversation.

Messages may be appended while the summary is written; the edit covers a range that they do not touch. If the context is
edited meanwhile, the compaction fails, because its plan was made for another view.

The project's instruction files are named in the marker, or included (`with_files`). If no summary can be had,
`compact_with_fallbacks` tries the other ways.

Hooks: the user's own programs before and after a compaction.

Each program gets one JSON object on standard input. `preCompact` may veto the compaction: by exit status 2 with the
reason on standard error, or by `{"veto": reason}` on standard output. It may add to the focus by `{"instructions":
text}`. It may also print nothing. If a hook fails or takes too long, a notice says so and the compaction continues.
`postCompact` gets the result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.edits.counted import CountedView
from ullage.model import words
from ullage.model.errors import (
    AuthenticationFailed,
    CompactionVetoed,
    Conflict,
    ContextTooLong,
    InvalidRequest,
    NoModelConfigured,
    PreviewExpired,
    ProviderError,
    ProviderUnavailable,
    SdkMissing,
    UllageError,
)
from ullage.model.events import CompactionEdit, ContextEdited, EditTrigger, compaction_block
from ullage.model.message import (
    INSTRUCTION_FILES,
    BroughtBack,
    Message,
    Role,
    TextBlock,
    render_brought_back,
    text_and_resources,
)
from ullage.model.updates import (
    CompactionMeta,
    CompactionStatus,
    CompactionSummaryChunk,
    CompactionUpdate,
    Meta,
    TextContent,
)
from ullage.policy.budget import Breaker
from ullage.redaction.clean import clean, hide_text, redact, with_texts
from ullage.service.conversation.bus import notice, offline_summary_used
from ullage.service.conversation.conversation import Conversation, Planned
from ullage.service.conversation.usage import require_not_kept
from ullage.service.conversation.work import Job
from ullage.service.plan import SUMMARIES, Attempt, finish
from ullage.service.ports.models import CommandOutcome, ProjectFile
from ullage.service.summaries.by_model import writes_by_model
from ullage.service.summaries.write import SummaryProgress, summary_request, write_summary
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
        plan = planned.plan
        shares = conversation.workspace.settings.hooks.share_content
        going = [message for message in request.messages if message.id not in plan.stays]
        outcome = await _run(
            conversation,
            command,
            PreCompact(
                session_id=conversation.id,
                cwd=conversation.transcript.cwd,
                trigger=planned.stamp.trigger.value,
                focus=request.focus,
                context_size_before=plan.used_before,
                messages_archived=plan.messages_archived,
                tokens_archived=plan.used_before - plan.used_without_marker,
                dry_run=self._dry_run,
                messages=tuple(with_texts(message, redact) for message in going) if shares else UNSET,
            ),
        )
        if outcome.status == _VETO_STATUS:
            raise CompactionVetoed(_stopped(outcome.err or outcome.out))
        answer, fault = _read(outcome)
        if fault:
            conversation.emit(notice("hook_failed", words.hook_failed("preCompact", fault)))
        if answer.veto is not None:
            raise CompactionVetoed(_stopped(answer.veto))
        return "\n".join(filter(None, [request.focus, (answer.instructions or "")[:_MOST_INSTRUCTIONS]]))


def after_compaction(conversation: Conversation, edit: CompactionEdit, began: int) -> None:
    """Starts the hook `postCompact` in the background, if there is one. `began` is Unix milliseconds."""
    command = conversation.workspace.settings.hooks.post_compact
    if command:
        block = compaction_block(edit)
        given = PostCompact(
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
            seconds=max(0, conversation.workspace.ports.clock.now() - began) / 1000,
        )
        conversation.work.spawn(_run_after(conversation, command, given))


async def _run_after(conversation: Conversation, command: tuple[str, ...], given: PostCompact) -> None:
    outcome = await _run(conversation, command, given)
    if outcome.fault or outcome.status:
        fault = outcome.fault or _failure(outcome)
        conversation.emit(notice("hook_failed", words.hook_failed("postCompact", fault)))


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


Planner = Callable[[], Awaitable[Planned]]


class AppliedCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that was applied, with what was planned."""

    edit: CompactionEdit
    planned: Planned


class CompactionProgress(SummaryProgress):
    """Publishes a compaction's progress in ACP's order: in progress, summary chunks, one final status."""

    def __init__(self, conversation: Conversation, planned: Planned) -> None:
        super().__init__(conversation)
        self._planned = planned
        self._id = planned.stamp.id

    def begun(self) -> None:
        self._publish(CompactionStatus.IN_PROGRESS)

    def piece(self, text: str, /) -> None:
        self.conversation.emit(CompactionSummaryChunk(compaction_id=self._id, content=TextContent(text=text)))

    def ended(self, status: CompactionStatus, error: str | UnsetType = UNSET) -> None:
        """Publishes that the compaction was not applied. `status` is cancelled or failed, `error` the reason."""
        self._publish(status, error=error)

    def completed(self, edit: CompactionEdit) -> None:
        self._publish(CompactionStatus.COMPLETED, edit)

    def _publish(
        self, status: CompactionStatus, edit: CompactionEdit | None = None, error: str | UnsetType = UNSET
    ) -> None:
        planned, block = self._planned, compaction_block(edit) if edit else None
        meta = CompactionMeta(
            trigger=planned.stamp.trigger.value,
            compaction_number=planned.number,
            edit_id=edit.id if edit else None,
            message_id=edit.marker.id if edit else None,
            messages_archived=planned.plan.messages_archived,
            context_size_before=planned.plan.used_before,
            context_size_after=block.context_size_after if block else 0,
        )
        summary = (TextContent(text=block.summary),) if block else UNSET
        self.conversation.emit(
            CompactionUpdate(
                compaction_id=self._id, status=status, summary=summary, error=error, meta=Meta(ullage=meta)
            )
        )


async def compact(
    conversation: Conversation, planner: Planner, attempt: Attempt, hook: PreCompactHook
) -> AppliedCompaction:
    """Plans a compaction, has its summary written as `attempt` says, applies it, and publishes the progress.

    Raises what `planner` raises, `SessionBusy` while another compaction runs, `CompactionVetoed`, `PreviewExpired` if
    the context was edited meanwhile, `Conflict` if an agent behind the proxy keeps the context, and `ProviderError` or
    `InvalidRequest` if no summary could be written. If the task is cancelled, the context stays as it was.
    """
    require_own_context(conversation)
    with conversation.work.during(Job.COMPACTING):
        planned, began = await planner(), conversation.workspace.ports.clock.now()
        progress = CompactionProgress(conversation, planned)
        progress.begun()
        try:
            planned, request = await brief(conversation, planned, attempt.focus, hook)
            summary = await write_summary(conversation, planned, request, progress, attempt)
            edit = _apply(conversation, planned, finish(planned, summary), progress.completed)
        except asyncio.CancelledError:
            progress.ended(CompactionStatus.CANCELLED)
            raise
        except UllageError as error:
            progress.ended(CompactionStatus.FAILED, str(error))
            raise
        _complete(conversation, edit, began)
        return AppliedCompaction(edit=edit, planned=planned)


def apply(
    conversation: Conversation, planned: Planned, edit: CompactionEdit, further: Sequence[ContextEdited] = ()
) -> AppliedCompaction:
    """Applies a compaction that is already made, and publishes the result. `further` are edits that are recorded with
    it, in one transaction. Raises `PreviewExpired` if the context was edited since the plan was made."""
    progress = CompactionProgress(conversation, planned)

    def done(edit: CompactionEdit) -> None:
        progress.begun()
        progress.completed(edit)

    edit = _apply(conversation, planned, edit, done, further)
    _complete(conversation, edit, conversation.workspace.ports.clock.now())
    return AppliedCompaction(edit=edit, planned=planned)


async def brief(
    conversation: Conversation, planned: Planned, focus: str, hook: PreCompactHook
) -> tuple[Planned, SummaryRequest]:
    """Returns the plan with the project's instruction files added, and the request for its summary with the hook's
    instructions added to `focus`. Raises `CompactionVetoed`."""
    planned = with_files(planned, await look_up(conversation))
    request = await summary_request(conversation, planned, focus)
    return planned, replace(request, focus=await hook.focus(conversation, planned, request))


def require_own_context(conversation: Conversation) -> None:
    """Raises `Conflict` if an agent keeps the context, one behind the proxy or one with a file of its own, because that
    agent would ignore an edit made here."""
    require_not_kept(conversation)
    agent = conversation.transcript.agent
    if agent is not None:
        raise Conflict(
            f"{agent.agent} keeps the context of session {conversation.id}; compact or undo where you talk to it"
        )


def edits_of(planned: Planned, edit: CompactionEdit) -> tuple[ContextEdited, ...]:
    """Returns the edits of a planned compaction: its cuts, and last the compaction's own."""
    # The cuts are listed as edits of their own, with the tokens that they save.
    edit = replace(edit, tokens_saved=edit.tokens_saved - sum(cut.tokens_saved for cut in planned.cuts))
    return tuple(ContextEdited(edit=one) for one in (*planned.cuts, edit))


def _apply(
    conversation: Conversation,
    planned: Planned,
    made: CompactionEdit,
    done: Callable[[CompactionEdit], object],
    further: Sequence[ContextEdited] = (),
) -> CompactionEdit:
    """Records a planned compaction and returns its edit. `done` is called before the new usage is published. Raises
    `PreviewExpired` if the context was edited since the plan was made."""
    if conversation.edits_seen != planned.edits_seen:
        raise PreviewExpired("the context was edited since this compaction was planned; plan it again")
    edits = edits_of(planned, made)
    edit = edits[-1].edit
    assert isinstance(edit, CompactionEdit)
    with conversation.one_change():
        conversation.record(*edits, *further)
        if edit.trigger is EditTrigger.MANUAL:
            conversation.guards.breaker = Breaker()
        conversation.keep_snapshot()
        done(edit)
    return edit


def _complete(conversation: Conversation, edit: CompactionEdit, began: int) -> None:
    block = compaction_block(edit)
    said = words.compacted(block.messages_archived, block.context_size_before, block.context_size_after)
    conversation.emit(notice("compaction_complete", said, edit.id))
    after_compaction(conversation, edit, began)


# About 5,000 tokens per file, as much as other products bring back.
_MOST_CHARS = 20_000
# The most that the files may take of the summary's room: the summary is the purpose of the compaction.
_SHARE = 0.25
# Joined to the text before it, a text may count a few tokens more than alone.
_SLACK = 8


async def look_up(conversation: Conversation) -> tuple[ProjectFile, ...]:
    """Returns the project's instruction files in the session's folder, with their contents as far as the settings and
    the user's trust in the folder allow. Empty if the setting `bringBack` is `off`."""
    settings, cwd = conversation.settings, conversation.transcript.cwd
    if settings.bring_back == "off" or not cwd:
        return ()
    find = conversation.workspace.ports.project_files.find
    files = await asyncio.to_thread(find, cwd, INSTRUCTION_FILES, settings.trusted_folders, _MOST_CHARS)
    messages = (item.message for item in conversation.transcript.items)
    said = "\n".join(text_and_resources(message.content) for message in messages if message.role is Role.SYSTEM)
    lacking = [file for file in files if not file.text.strip() or file.text.strip() not in said]
    return tuple(lacking if settings.bring_back == "contents" else (replace(file, text="") for file in lacking))


def with_files(planned: Planned, files: Sequence[ProjectFile]) -> Planned:
    """Returns the plan with as many instruction files as fit into the marker: first the names of all, then contents, in
    order. Their tokens are taken from the summary's room."""
    plan, view = planned.plan, planned.view
    room = plan.room - plan.summary_tokens + int(plan.summary_tokens * _SHARE)
    chosen: list[BroughtBack] = []
    for file in files:
        if _cost(view, [*chosen, BroughtBack(path=file.path)]) <= room:
            chosen.append(BroughtBack(path=file.path))
    for place, named in enumerate(chosen):
        text = next(file.text for file in files if file.path == named.path)
        whole = replace(named, text=clean(hide_text(text, planned.private)))
        if text and _cost(view, [*chosen[:place], whole, *chosen[place + 1 :]]) <= room:
            chosen[place] = whole
    if not chosen:
        return planned
    summary = min(plan.summary_tokens, plan.room - _cost(view, chosen))
    return replace(planned, plan=replace(plan, summary_tokens=summary), brought_back=tuple(chosen))


def _cost(view: CountedView, chosen: Sequence[BroughtBack]) -> int:
    text = render_brought_back(chosen)
    return view.measure(Message(id="", role=Role.USER, content=(TextBlock(text=text),))) + _SLACK


# After these errors no other request to the model would help. A busy provider was already waited for, and a
# conversation that is too long was already sent with fewer and fewer messages.
_FINAL = (AuthenticationFailed, ContextTooLong, InvalidRequest, NoModelConfigured, ProviderUnavailable, SdkMissing)


async def compact_with_fallbacks(
    conversation: Conversation, planner: Planner, trigger: EditTrigger, focus: str = ""
) -> AppliedCompaction:
    """Compacts the context with one summarizer after the other, as many as `trigger` allows, and returns the first
    compaction that succeeds. Notices say which summary failed. Raises the last try's error."""
    attempts, failure, hook = _attempts(conversation, trigger, focus), None, PreCompactHook()
    while True:
        attempt, *following = attempts
        try:
            done = await compact(conversation, planner, attempt, hook)
        except (ProviderError, InvalidRequest) as error:
            attempts, failure = _left_after(error, following), error
            if not attempts:
                raise
            if not attempts[0].offline:
                said = words.compaction_retried(attempts[0].what, str(error))
                conversation.emit(notice("compaction_retried", said))
            continue
        if failure is not None and attempt.offline:
            conversation.emit(offline_summary_used(failure, done.edit))
        return done


async def write_with_fallbacks(
    conversation: Conversation, planned: Planned, request: SummaryRequest, focus: str
) -> Summary:
    """Returns a summary for a preview, by as many summarizers as allowed. Raises the last try's error."""
    attempts = _attempts(conversation, EditTrigger.MANUAL, focus)
    while True:
        attempt, *following = attempts
        try:
            return await write_summary(conversation, planned, request, SummaryProgress(conversation), attempt)
        except (ProviderError, InvalidRequest) as error:
            attempts = _left_after(error, following)
            if not attempts:
                raise


def _attempts(conversation: Conversation, trigger: EditTrigger, focus: str) -> Sequence[Attempt]:
    """Returns the summaries to try, in order. For a compaction by hand there is only one if the settings name a
    summarizer, because their user prefers an error to another summarizer. An embedding program can require the offline
    one after it (`is_embedded`)."""
    workspace, by_model = conversation.workspace, writes_by_model(conversation)
    attempts = [replace(attempt, focus=focus) for attempt in SUMMARIES]
    offline_anyway = not by_model and workspace.ports.summarizer.name == "offline"
    named = not (by_model and workspace.settings.summary.writer == "auto") and not workspace.is_embedded
    if trigger is EditTrigger.MANUAL and (named or offline_anyway):
        return attempts[:1]
    return [attempt for attempt in attempts if not (attempt.offline and offline_anyway)]


def _left_after(error: UllageError, following: Sequence[Attempt]) -> Sequence[Attempt]:
    """Returns the tries that may still succeed: only offline ones if no other request to the model would help."""
    return [attempt for attempt in following if attempt.offline] if isinstance(error, _FINAL) else following
