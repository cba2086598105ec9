"""The instructions for a model that writes a summary."""

from ullage.model.message import CompactionBlock
from ullage.summary.draft import HEADINGS, REQUIRED, write_instructions
from ullage.summary.summary_request import SummaryRequest

REQUEST = SummaryRequest(messages=(), indices=(), max_tokens=1_000)
MARKER = CompactionBlock(compaction_number=1, timestamp=0, summary="", messages_archived=3, context_size_before=9)


def test_it_names_every_heading_once_in_order_and_those_that_must_be_there() -> None:
    text = write_instructions(REQUEST, 1_000)
    places = [text.index(f"\n{HEADINGS[section]}: ") for section in sorted(HEADINGS)]
    assert places == sorted(places)
    assert all(text.count(HEADINGS[section]) == 2 for section in REQUIRED)


def test_it_speaks_of_an_earlier_record_only_where_there_is_one() -> None:
    request = SummaryRequest(messages=(), indices=(), max_tokens=1_000, previous=MARKER)
    assert "earlier compaction" not in write_instructions(REQUEST, 1_000)
    assert "the newer fact replaces the older one" in write_instructions(request, 1_000)


def test_the_room_bounds_the_words() -> None:
    assert "at most 550 words" in write_instructions(REQUEST, 1_000)
    assert "at most 60 words" in write_instructions(REQUEST, 50)


def test_focus_and_own_instructions_come_last() -> None:
    request = SummaryRequest(messages=(), indices=(), max_tokens=1_000, focus="the rounding rule")
    text = write_instructions(request, 1_000, ("", "Write in French.", "Name the tickets."))
    assert text.endswith("above all: the rounding rule\n\nWrite in French.\n\nName the tickets.")
