"""Search: time words of a question prefer messages of that time, in the user's zone, and hide no others."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from support.logs import message
from ullage.model.events import Record, SessionCreated
from ullage.store import SqliteStore
from ullage.store.search.query import Span, read_query, read_time

# A Wednesday.
NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


def days(text: str, now: datetime = NOW) -> tuple[str, str]:
    span = read_time(text, now)[1]
    assert span is not None
    first, after = (datetime.fromtimestamp(time / 1000, now.tzinfo) for time in (span.start, span.stop))
    return first.date().isoformat(), (after - timedelta(milliseconds=1)).date().isoformat()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what failed today", "2026-03-18", "2026-03-18"),
        ("what failed yesterday", "2026-03-17", "2026-03-17"),
        ("the day before yesterday", "2026-03-16", "2026-03-16"),
        ("the plan of last night", "2026-03-17", "2026-03-17"),
        ("two days ago", "2026-03-16", "2026-03-16"),
        ("3 weeks ago", "2026-02-22", "2026-02-28"),
        ("on Tuesday", "2026-03-17", "2026-03-17"),
        ("last Wednesday", "2026-03-11", "2026-03-11"),
        ("this week", "2026-03-16", "2026-03-22"),
        ("last week", "2026-03-09", "2026-03-15"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in May", "2025-05-01", "2025-05-31"),
        ("in December 2024", "2024-12-01", "2024-12-31"),
        ("on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("on 2026-01-31", "2026-01-31", "2026-01-31"),
    ],
)
def test_time_words_mean_days(text: str, first: str, last: str) -> None:
    assert days(text) == (first, last)


def test_hours_ago_are_around_that_hour() -> None:
    span = read_time("two hours ago", NOW)[1]
    assert span is not None
    assert span.has(int((NOW - timedelta(hours=2)).timestamp() * 1000))
    assert not span.has(int(NOW.timestamp() * 1000))


def test_a_day_is_one_of_the_users_zone() -> None:
    east = timezone(timedelta(hours=9))
    span = read_time("yesterday", datetime(2026, 3, 18, 1, 0, tzinfo=east))[1]
    assert span is not None
    assert span.start == int(datetime(2026, 3, 16, 15, 0, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    "text", ["the retry limit", "may I see it", "march through the list", "on 31 June", "Tuesday.py"]
)
def test_other_words_mean_no_time(text: str) -> None:
    assert read_time(text, NOW) == (text, None)


def test_time_words_are_not_looked_for_as_words_if_others_remain() -> None:
    assert read_query("which tests failed last week", now=NOW).stems == ("test", "fail")
    assert read_query("yesterday", now=NOW).stems == ("yesterda",)
    assert read_query("what did we do yesterday", now=NOW).span is not None


def test_a_message_of_the_named_time_comes_first_and_others_are_found_too(sqlite_store: SqliteStore) -> None:
    written = [datetime(2023, 5, day, 12, tzinfo=UTC) for day in (1, 7, 20)]
    failed = [
        Record(position=at, timestamp=int(time.timestamp() * 1000), event=message(f"m{at}", "the build failed"))
        for at, time in enumerate(written, 1)
    ]
    sqlite_store.create("s", [Record(position=0, timestamp=0, event=SessionCreated()), *failed])
    hits = [hit.message_id for hit in sqlite_store.search("why did the build fail on 7 May 2023")]
    assert hits[0] == "m2"
    assert set(hits) == {"m1", "m2", "m3"}
    assert sqlite_store.search("the build on May 1, 2023")[0].message_id == "m1"


def test_a_stretch_of_time_has_its_beginning_and_not_its_end() -> None:
    span = Span(1_000, 2_000)
    assert [span.has(time) for time in (999, 1_000, 1_999, 2_000)] == [False, True, True, False]
