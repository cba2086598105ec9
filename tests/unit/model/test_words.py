"""The words of the events, as people read them."""

import pytest

from ullage.model import words
from ullage.model.updates import CompactionMeta, Level, UsageMeta
from ullage.model.usage import Breakdown, Usage, UsageSource


def usage(usable: int | None, compact_at: int | None) -> UsageMeta:
    return UsageMeta(
        source=UsageSource.REPORTED,
        level=Level.WARNING,
        usable=usable,
        warn_at=None,
        compact_at=compact_at,
        breakdown=Breakdown(),
        totals=Usage(),
        model="m",
        messages_active=1,
        messages_archived=0,
        compactions=0,
        oldest_timestamp=0,
    )


def compaction(archived: int) -> CompactionMeta:
    return CompactionMeta(
        trigger="automatic",
        compaction_number=1,
        messages_archived=archived,
        context_size_before=164_200,
        context_size_after=30_900,
    )


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (999, "999"), (1000, "1K"), (58_432, "58K"), (999_499, "999K"), (999_500, "1.0M"), (1_250_000, "1.2M")],
)
def test_figures_are_short(tokens: int, text: str) -> None:
    assert words.short(tokens) == text


def test_a_warning_says_how_full_and_what_comes() -> None:
    text = words.warning(131_000, usage(160_000, 144_000))
    assert text == "Context 82% full (131K of 160K usable). Compacts by itself at 144K."


def test_a_warning_promises_nothing_where_nothing_compacts_by_itself() -> None:
    assert words.warning(131_000, usage(160_000, None)) == "Context 82% full (131K of 160K usable)."


def test_a_compaction_says_what_it_did() -> None:
    text = words.compacted(compaction(45))
    assert text == "Compacted 45 messages: 164K → 31K. Everything is kept; undo any time."


def test_one_message_is_one_message() -> None:
    assert words.compacted(compaction(1)).startswith("Compacted 1 message: ")


def test_a_failed_summary_says_what_took_its_place() -> None:
    text = words.fell_back(compaction(45), "rate limit")
    assert text == "The model's summary failed (rate limit). Used the offline summary instead: 164K → 31K."


def test_nothing_to_do_says_why() -> None:
    assert words.nothing_to_compact(6, 4_000) == "Nothing to compact: 6 messages, 4K tokens."


def test_the_breaker_names_the_culprit() -> None:
    text = words.stopped("pytest output in message 212", 61_000)
    assert text == "Compaction stopped after three refills: pytest output in message 212 alone is 61K tokens."
