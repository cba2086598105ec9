"""Checks of a model's summary before it replaces messages. A failed check raises `AnswerBroken` with the reason."""

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

# Without these sections a model could not continue the work.
REQUIRED = (Section.TASK, Section.STATE, Section.NEXT)
# A text this many times longer than the usual characters per token is certainly too long, and its end need not be
# awaited.
_CERTAINLY = 2
# The marker's head line has fewer tokens than this in every tokenizer we pack.
_HEAD_TOKENS = 48
_WRONG_ENDS = {
    StopReason.MAX_TOKENS: "the summary was cut off at the model's output limit",
    StopReason.REFUSAL: "the model refused to summarise",
    StopReason.TOOL_USE: "the model called a tool instead of summarising",
}


def text_room(request: SummaryRequest, ledger: ArtifactLedger, counter: TokenCounter) -> int:
    """Returns the tokens that the ledger leaves for the summary's text."""
    return request.max_tokens - counter.count(render_ledger(ledger)) - _HEAD_TOKENS


def check_fragment(fragment: Fragment) -> None:
    """Raises `AnswerBroken` if a fragment cannot be part of a summary: a tool call, or the end of an answer that was
    cut off or refused."""
    if isinstance(fragment, ToolUseStart | ToolUseEnd):
        raise AnswerBroken(_WRONG_ENDS[StopReason.TOOL_USE])
    if isinstance(fragment, Finished) and fragment.stop_reason in _WRONG_ENDS:
        raise AnswerBroken(_WRONG_ENDS[fragment.stop_reason])


def check_length(written: int, room: int) -> None:
    """Raises `AnswerBroken` if `written` characters are certainly more than `room` tokens."""
    if written > room * CHARACTERS_PER_TOKEN * _CERTAINLY:
        raise AnswerBroken(f"the summary is too long: over {short(room)} tokens")


def check_draft(draft: Draft, written: int, room: int, counter: TokenCounter) -> None:
    """Raises `AnswerBroken` if an ended draft of `written` characters is empty, lacks a required section, or counts
    more than `room` tokens."""
    if not written:
        raise AnswerBroken("the summary is empty")
    missing = [HEADINGS[section] for section in REQUIRED if section not in draft.filled]
    if missing:
        raise AnswerBroken(f"the summary has nothing under {', '.join(missing)}")
    tokens = counter.count(draft.text)
    if tokens > room:
        raise AnswerBroken(f"the summary is too long: {short(tokens)} tokens, {short(room)} allowed")
