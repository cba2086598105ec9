"""Codex writes what is used of the limits of the user's subscription with each usage, in the forms of its versions."""

from typing import Any

import pytest

from support.codex_files import counted, event, said, session
from support.foreign import read_lines
from ullage.model.events import WindowReported
from ullage.model.usage import RateLimit

# The time of all lines, in Unix seconds: 2025-10-01.
WRITTEN = 1_759_276_800
FIVE_HOURS, WEEK = 300, 10_080


def window(used: Any, minutes: Any = FIVE_HOURS, **more: Any) -> dict[str, Any]:
    return {"used_percent": used, "window_minutes": minutes, **more}


def reported(*limits: Any) -> list[tuple[str, int, int]]:
    """Returns the limits that a file reports with counts that have these, each with its end in Unix seconds."""
    lines = [session(), said("user", "Rain?"), said("assistant", "Yes."), counted(900)]
    lines += [event("token_count", info=None, rate_limits=one) for one in limits]
    events = read_lines(*lines).events
    last = [one.rate_limits for one in events if isinstance(one, WindowReported) and one.rate_limits][-1:]
    return [(one.name, one.percent, (one.until or 0) // 1_000) for limits in last for one in limits]


@pytest.mark.parametrize(
    ("said_of_it", "read"),
    [
        ({"primary": window(41.6, resets_at=WRITTEN + 600)}, [("5h", 42, WRITTEN + 600)]),
        ({"primary": window(3, resets_in_seconds=3_600)}, [("5h", 3, WRITTEN + 3_600)]),
        ({"primary": window(3)}, [("5h", 3, WRITTEN + 18_000)]),
        ({"primary": window(3, "300")}, [("5h", 3, WRITTEN + 18_000)]),
        ({"primary_used_percent": 3, "primary_window_minutes": 300}, [("5h", 3, WRITTEN + 18_000)]),
        ({"primary": window(0, 299, resets_at=WRITTEN + 60)}, [("5h", 0, WRITTEN + 60)]),
        ({"primary": window(7, 10_079, resets_at=WRITTEN + 60)}, [("7d", 7, WRITTEN + 60)]),
        ({"primary": window(7, 43_200, resets_at=WRITTEN + 60)}, [("30d", 7, WRITTEN + 60)]),
        ({"limit_id": "codex", "primary": window(7), "secondary": None}, [("5h", 7, WRITTEN + 18_000)]),
        (
            {"primary": window(7, resets_at=WRITTEN + 60), "secondary": window(80, WEEK, resets_at=WRITTEN + 120)},
            [("5h", 7, WRITTEN + 60), ("7d", 80, WRITTEN + 120)],
        ),
    ],
)  # fmt: skip
def test_each_form_says_the_share_and_when_its_time_ends(said_of_it: Any, read: list[tuple[str, int, int]]) -> None:
    assert reported(said_of_it) == read


@pytest.mark.parametrize(
    "said_of_it",
    [
        *(None, [], "", {"primary": None, "secondary": None}, {"primary": []}, {"credits": {"balance": "0"}}),
        *({"primary": window(one, resets_at=WRITTEN + 60)} for one in (None, "7", True, -1, 1_000, float("nan"))),
        *({"primary": window(7, one)} for one in (None, 0, -300, "many", 30)),
        {"limit_id": "codex_bengalfox", "limit_name": "GPT-5.3-Codex-Spark", "primary": window(7)},
    ],
)
def test_what_names_no_share_or_no_time_or_another_limit_is_left_out(said_of_it: Any) -> None:
    assert reported(said_of_it) == []
    assert reported({"primary": window(41)}, said_of_it) == [("5h", 41, WRITTEN + 18_000)]


def test_an_end_that_differs_by_a_second_is_the_same() -> None:
    lines = [session(), said("user", "Rain?"), said("assistant", "Yes."), counted(900)]
    ends = (WRITTEN + 600, WRITTEN + 601, WRITTEN + 599 + 60)
    lines += [event("token_count", info=None, rate_limits={"primary": window(7, resets_at=one)}) for one in ends]
    events = read_lines(*lines).events
    limits = [one.rate_limits for one in events if isinstance(one, WindowReported) and one.rate_limits]
    assert limits == [(RateLimit(name="5h", percent=7, until=(WRITTEN + 600) * 1_000),)]
