"""A compaction in several tries: the summarizers of the ladder, one after the other."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.edits.compaction import Summary
from ullage.model.edits import EditTrigger
from ullage.model.errors import (
    AuthenticationFailed,
    ContextTooLong,
    InvalidRequest,
    NoModelConfigured,
    ProviderError,
    ProviderUnavailable,
    SdkMissing,
    UllageError,
)
from ullage.service.compact.hooks import PreCompactHook
from ullage.service.compact.run import Compacted, Planner, compact
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.planned import Planned
from ullage.service.conversation.publish import compaction_retried, offline_summary_used
from ullage.service.plan.ladder import SUMMARIES, Attempt
from ullage.service.summaries.choose import writes_by_model
from ullage.service.summaries.prepared import write_summary
from ullage.service.summaries.write import SummaryProgress
from ullage.summary.summary_request import SummaryRequest

# After these errors no other request to the model would help. A busy provider was already waited for, and a
# conversation that is too long was already sent with fewer and fewer messages.
_FINAL = (AuthenticationFailed, ContextTooLong, InvalidRequest, NoModelConfigured, ProviderUnavailable, SdkMissing)


async def compact_somehow(
    conversation: Conversation, planner: Planner, trigger: EditTrigger, focus: str = ""
) -> Compacted:
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
                conversation.emit(compaction_retried(attempts[0].what, str(error)))
            continue
        if failure is not None and attempt.offline:
            conversation.emit(offline_summary_used(failure, done.edit))
        return done


async def write_somehow(conversation: Conversation, planned: Planned, request: SummaryRequest, focus: str) -> Summary:
    """Returns a summary for a preview, by one summarizer after the other, as many as a compaction by hand allows.
    Raises the last try's error."""
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
    one after it (`always_falls_back`)."""
    workspace, by_model = conversation.workspace, writes_by_model(conversation)
    attempts = [replace(attempt, focus=focus) for attempt in SUMMARIES]
    offline_anyway = not by_model and workspace.ports.summarizer.name == "offline"
    named = not (by_model and workspace.settings.summary.writer == "auto") and not workspace.always_falls_back
    if trigger is EditTrigger.MANUAL and (named or offline_anyway):
        return attempts[:1]
    return [attempt for attempt in attempts if not (attempt.offline and offline_anyway)]


def _left_after(error: UllageError, following: Sequence[Attempt]) -> Sequence[Attempt]:
    """Returns those of the following tries that may still succeed after this error: only offline ones if no other
    request to the model would help."""
    return [attempt for attempt in following if attempt.offline] if isinstance(error, _FINAL) else following
