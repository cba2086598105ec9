"""What Codex's reader does that no sample shows: forks, rate limits, and a usage that belongs to its answer wherever a
version of Codex writes it."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.codex_files import call, counted, event, line, logged, output, said, session, usage
from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines, unexplained
from ullage.agents.transcripts import read_document
from ullage.model.events import WindowReported
from ullage.model.message import Role, ToolResultBlock, join_texts
from ullage.model.usage import RateLimit
from ullage.system.growing_files import read_transcript_file


def ordered(start: int, *lines: dict[str, Any]) -> bytes:
    return to_lines(*({"ordinal": start + number} | one for number, one in enumerate(lines)))


BASE = ordered(0, session(id="base"), said("user", "one"), said("assistant", "first"), said("user", "two"))


def test_files_of_the_same_conversation_are_found_by_their_names(tmp_path: Path) -> None:
    thread = "01a2010d-dcb4-7283-97e7-cd58e1f11595"
    day, next_day = (tmp_path / "sessions" / "2026" / "11" / name for name in ("21", "22"))
    for folder in (day, next_day):
        folder.mkdir(parents=True)
    meta = session(id=thread, history_base={"thread_id": thread, "end_ordinal_exclusive": 3})
    first = ordered(0, session(id=thread), said("user", "one"), said("assistant", "first"), said("user", "two"))
    (day / f"rollout-2026-11-21T10-00-00-{thread}.jsonl").write_bytes(first)
    (day / "rollout-2026-11-21T10-00-00-01a2010d-0000-7283-97e7-cd58e1f11595.jsonl").write_bytes(first)
    second = next_day / f"rollout-2026-11-22T09-00-00-{thread}_01a2010e-0000-7000-8000-000000000000.jsonl"
    second.write_bytes(ordered(3, meta, said("user", "instead")))
    document = read_transcript_file(second)
    assert sorted(thread in one.name for one in document.companions) == [True, True]
    transcript = read_document(document)
    assert texts_of(messages_of(transcript)) == ["user: one", "assistant: first", "user: instead"]


PARENT, CHILD = "01a20100-8188-7640-9488-cf976ddc0e4c", "01a20102-c120-77c2-a973-9c3a1064ee40"
FORK_OF_PARENT = ordered(
    3,
    session(id=CHILD, forked_from_id=PARENT, history_base={"thread_id": PARENT, "end_ordinal_exclusive": 3}),
    said("user", "other"),
)


@pytest.mark.parametrize(
    ("parent", "fork"),
    [
        ("sessions/2026/11/21", "sessions/2026/11/22"),
        ("archived_sessions", "sessions/2026/11/22"),
        ("sessions/2026/11/21", "archived_sessions"),
        ("copies", "copies"),
    ],
)
def test_the_parent_of_a_fork_is_found_by_its_id(tmp_path: Path, parent: str, fork: str) -> None:
    grandparent = "01a20000-0000-7640-9488-cf976ddc0e4c"
    base = {"thread_id": grandparent, "end_ordinal_exclusive": 2}
    files = {
        f"{parent}/rollout-2026-11-20T10-00-00-{grandparent}.jsonl": ordered(
            0, session(id=grandparent), said("user", "zero"), said("user", "later")
        ),
        f"{parent}/rollout-2026-11-21T10-00-00-{PARENT}.jsonl": ordered(
            2, session(id=PARENT, history_base=base), said("user", "later here")
        ),
        f"{parent}/rollout-2026-11-21T10-00-00-01a2010d-0000-7283-97e7-cd58e1f11595.jsonl": BASE,
        f"{fork}/rollout-2026-11-22T10-00-00-{CHILD}.jsonl": FORK_OF_PARENT.replace(
            b'"end_ordinal_exclusive": 3', b'"end_ordinal_exclusive": 4'
        ),
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    document = read_transcript_file(tmp_path / list(files)[-1])
    # Elsewhere the names say nothing, so all files are looked at.
    assert len(document.companions) == (4 if fork == "copies" else 2)
    transcript = read_document(document)
    assert [message.text for message in messages_of(transcript)] == ["zero", "later here", "other"]
    assert unexplained(transcript) == []


def test_the_parent_of_a_fork_is_found_under_another_name(tmp_path: Path) -> None:
    (tmp_path / "parent.jsonl").write_bytes(
        ordered(0, session(id=PARENT), said("user", "one"), said("assistant", "first"), said("user", "two"))
    )
    (tmp_path / "unrelated.jsonl").write_bytes(BASE)
    (tmp_path / "fork.jsonl").write_bytes(FORK_OF_PARENT)
    transcript = read_document(read_transcript_file(tmp_path / "fork.jsonl"))
    assert [message.text for message in messages_of(transcript)] == ["one", "first", "other"]


@pytest.mark.parametrize("thread", ["*", "../../etc/passwd", ""])
def test_an_id_that_is_none_names_no_file(tmp_path: Path, thread: str) -> None:
    path = tmp_path / "fork.jsonl"
    base = {"thread_id": thread, "end_ordinal_exclusive": 3}
    path.write_bytes(ordered(3, session(id=CHILD, history_base=base), said("user", "other")))
    (tmp_path / "rollout-x-1.jsonl").write_bytes(BASE)
    assert read_transcript_file(path).companions == ()


def test_a_long_output_is_read_from_its_pieces_as_far_as_the_model_is_sent_it() -> None:
    def piece(text: str) -> dict[str, Any]:
        chunk = base64.b64encode(text.encode()).decode()
        return logged("exec_command_output_delta", call_id="c", stream="stdout", chunk=chunk)

    lines = [f"{number:>30}\n" for number in range(300)]
    transcript = read_lines(
        logged("task_started"),
        logged("exec_command_begin", call_id="c", command=["seq", "300"]),
        *map(piece, lines),
        logged("exec_command_end", call_id="c", stdout="".join(lines)[: 5 * 1024], stderr="", exit_code=0),
    )
    (result,) = messages_of(transcript)[-1].content
    assert isinstance(result, ToolResultBlock)
    assert json.loads(join_texts(result.content))["output"].split() == [str(number) for number in range(256)]


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


# A turn is a list of numbers of calls, one for each answer; the last answer of a turn calls nothing.
Turns = list[list[int]]
TURNS = st.lists(st.lists(st.integers(1, 3), max_size=3), min_size=1, max_size=4)


class Writer:
    """Writes the same conversation in the order of one version. Answer number n has a prompt of 1,000 times n."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = [session()]
        self.answers = 0

    def count(self) -> None:
        self.lines.append(counted(1_000 * self.answers))

    def turn(self, calls: list[int], answer: Callable[["Writer", list[str]], None]) -> None:
        self.lines += [said("user", "question"), event("user_message", message="question")]
        for number in [*calls, 0]:
            self.answers += 1
            answer(self, [f"c{self.answers}-{index}" for index in range(number)])


def usage_first(writer: Writer, calls: list[str]) -> None:
    """0.34: the usage, then the answer, each call with its result."""
    writer.count()
    writer.lines.append(said("assistant", f"answer {writer.answers}"))
    writer.lines += [one for name in calls for one in (call(name), output(name))]


def usage_first_and_repeated(writer: Writer, calls: list[str]) -> None:
    """0.55: the same; the usage is repeated when the turn continues."""
    usage_first(writer, calls)
    writer.lines.append(line("turn_context", model="m"))
    writer.count()


def usage_after_answer(writer: Writer, calls: list[str]) -> None:
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls)]
    writer.count()
    writer.lines += map(output, calls)


def usage_after_results(writer: Writer, calls: list[str]) -> None:
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls), *map(output, calls)]
    writer.count()


def usage_recorded(writer: Writer, calls: list[str]) -> None:
    """0.169: a record after the answer, repeated as an event after the results."""
    prompt = 1_000 * writer.answers
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls)]
    writer.lines.append(line("token_usage_record", usage=usage(prompt), thread_token_usage={"total_tokens": prompt}))
    writer.lines += map(output, calls)
    writer.count()


ORDERS = [usage_first, usage_first_and_repeated, usage_after_answer, usage_after_results, usage_recorded]
every_order = pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)


def expect_prompts(lines: list[dict[str, Any]], answers: int) -> None:
    transcript = read_lines(*lines)
    said_by_model = [message for message in messages_of(transcript) if message.role is Role.ASSISTANT]
    assert [message.text for message in said_by_model] == [f"answer {number}" for number in range(1, answers + 1)]
    expected = [(message.id, 1_000 * number) for number, message in enumerate(said_by_model, start=1)]
    assert [(report.message_id, report.usage.prompt) for report in reports_of(transcript)] == expected
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@pytest.mark.no_cover
@every_order
@given(turns=TURNS)
def test_every_answer_has_its_own_usage_in_any_order_of_the_file(
    order: Callable[[Writer, list[str]], None], turns: Turns
) -> None:
    writer = Writer()
    for calls in turns:
        writer.turn(calls, order)
    expect_prompts(writer.lines, writer.answers)


@given(turns=TURNS, resumed=TURNS, orders=st.permutations(ORDERS))
def test_another_version_may_continue_the_file(
    turns: Turns, resumed: Turns, orders: list[Callable[[Writer, list[str]], None]]
) -> None:
    writer = Writer()
    for calls in turns:
        writer.turn(calls, orders[0])
    for calls in resumed:
        writer.turn(calls, orders[1])
    expect_prompts(writer.lines, writer.answers)
