"""What a model's summary must be to stand for what it replaces. What it is not is an `AnswerBroken` that says why."""

from ullage.model.answer import Finished, Fragment, StopReason, ToolUseEnd, ToolUseStart
from ullage.model.artifacts import ArtifactLedger
from ullage.model.errors import AnswerBroken
from ullage.model.marker import render_ledger
from ullage.model.words import short
from ullage.summary.by_model.draft import Draft
from ullage.summary.choosing.items import HEADINGS, Section
from ullage.summary.request import SummaryRequest
from ullage.summary.tuning import CHARACTERS_PER_TOKEN
from ullage.tokens.counter import TokenCounter

# Without these nobody could go on with the work.
REQUIRED = (Section.TASK, Section.STATE, Section.NEXT)
# A text of so many times the usual characters per token is too long for certain; its end need not be waited for.
_CERTAINLY = 2
# The line above a summary, in any tokenizer.
_HEAD_TOKENS = 48
_WRONG_ENDS = {
    StopReason.MAX_TOKENS: "the summary was cut off at the model's output limit",
    StopReason.REFUSAL: "the model refused to summarise",
    StopReason.TOOL_USE: "the model called a tool instead of summarising",
}


def text_room(request: SummaryRequest, ledger: ArtifactLedger, counter: TokenCounter) -> int:
    """Tokens that the ledger leaves a summary's text."""
    return request.max_tokens - counter.count(render_ledger(ledger)) - _HEAD_TOKENS


def check_fragment(fragment: Fragment) -> None:
    """Raises `AnswerBroken` for a fragment that no summary has: a tool call, an end other than by itself."""
    if isinstance(fragment, ToolUseStart | ToolUseEnd):
        raise AnswerBroken(_WRONG_ENDS[StopReason.TOOL_USE])
    if isinstance(fragment, Finished) and fragment.stop_reason in _WRONG_ENDS:
        raise AnswerBroken(_WRONG_ENDS[fragment.stop_reason])


def check_length(written: int, room: int) -> None:
    """Raises `AnswerBroken` as soon as so many characters cannot be a summary of `room` tokens."""
    if written > room * CHARACTERS_PER_TOKEN * _CERTAINLY:
        raise AnswerBroken(f"the summary is too long: over {short(room)} tokens")


def check_draft(draft: Draft, written: int, room: int, counter: TokenCounter) -> None:
    """Raises `AnswerBroken` for an ended draft, of `written` characters, that is empty, lacks what it must have or
    counts more than `room` tokens."""
    if not written:
        raise AnswerBroken("the summary is empty")
    missing = [HEADINGS[section] for section in REQUIRED if section not in draft.filled]
    if missing:
        raise AnswerBroken(f"the summary has nothing under {', '.join(missing)}")
    tokens = counter.count(draft.text)
    if tokens > room:
        raise AnswerBroken(f"the summary is too long: {short(tokens)} tokens, {short(room)} allowed")
