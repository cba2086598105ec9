"""The checks that a model's summary must pass."""

import pytest

from support.summaries import GOOD
from ullage.model.answer import Finished, Fragment, StopReason, TextDelta, ToolUseStart
from ullage.model.errors import AnswerBroken
from ullage.summary.by_model.check import check_draft, check_fragment, check_length
from ullage.summary.by_model.draft import Draft
from ullage.tokens.registry import get_counter

COUNTER = get_counter("gpt-4o")


def check(text: str, room: int = 500) -> None:
    draft = Draft()
    list(draft.add(text))
    list(draft.end())
    check_draft(draft, len(text), room, COUNTER)


def test_a_summary_with_all_it_needs_passes() -> None:
    check(GOOD)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the summary is empty"),
        ("All went well.", "nothing under ## Task, ## State of work, ## Next step"),
        ("## Task\n- Mend it.\n## State of work\n## Next step\n- Go on.", "nothing under ## State of work"),
    ],
)
def test_what_lacks_something_is_refused(text: str, why: str) -> None:
    with pytest.raises(AnswerBroken, match=why):
        check(text)


def test_what_counts_more_than_its_room_is_refused() -> None:
    with pytest.raises(AnswerBroken, match=r"too long: \d+ tokens, 20 allowed"):
        check(GOOD, room=20)


def test_what_cannot_fit_is_refused_before_its_end() -> None:
    check_length(800, room=100)
    with pytest.raises(AnswerBroken, match="too long"):
        check_length(801, room=100)


@pytest.mark.parametrize(
    ("fragment", "why"),
    [
        (ToolUseStart(id="t", name="run"), "called a tool"),
        (Finished(stop_reason=StopReason.MAX_TOKENS), "cut off"),
        (Finished(stop_reason=StopReason.REFUSAL), "refused"),
    ],
)
def test_no_summary_calls_tools_or_ends_but_by_itself(fragment: Fragment, why: str) -> None:
    with pytest.raises(AnswerBroken, match=why):
        check_fragment(fragment)


def test_text_and_a_proper_end_are_what_a_summary_is_made_of() -> None:
    check_fragment(TextDelta(text="a"))
    check_fragment(Finished(stop_reason=StopReason.END_TURN))
