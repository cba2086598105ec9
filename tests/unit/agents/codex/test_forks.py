"""Codex conversations that begin in another file: forks, and what follows after the user has gone back."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from support.codex_files import counted, said, session
from support.foreign import messages_of, reports_of, texts_of, to_lines, unexplained
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import parse_document
from ullage.system.transcript_files import read_transcript_file


def ordered(start: int, *lines: dict[str, Any]) -> bytes:
    return to_lines(*({"ordinal": start + number} | one for number, one in enumerate(lines)))


BASE = ordered(0, session(id="base"), said("user", "one"), said("assistant", "first"), said("user", "two"))
FORK = ordered(
    3,
    session(id="fork", forked_from_id="base", history_base={"thread_id": "base", "end_ordinal_exclusive": 3}),
    said("user", "other"),
)


def test_a_fork_begins_with_the_records_of_the_file_that_it_refers_to() -> None:
    document = replace(parse_document(FORK, "fork.jsonl"), companions=(parse_document(BASE, "base.jsonl"),))
    transcript = read_document(document)
    assert texts_of(messages_of(transcript)) == ["user: one", "assistant: first", "user: other"]
    assert (transcript.session_id, transcript.parent) == ("fork", "base")
    assert unexplained(transcript) == []


def test_a_fork_of_a_fork_begins_with_both() -> None:
    meta = session(id="third", history_base={"thread_id": "fork", "end_ordinal_exclusive": 5})
    documents = (parse_document(BASE, "base.jsonl"), parse_document(FORK, "fork.jsonl"))
    document = replace(parse_document(ordered(5, meta, said("user", "last")), "third.jsonl"), companions=documents)
    assert [message.text for message in messages_of(read_document(document))] == ["one", "first", "other", "last"]


def test_a_fork_whose_beginning_is_missing_says_so() -> None:
    transcript = read_document(parse_document(FORK, "fork.jsonl"))
    assert ["the session file of base" in reason for reason in unexplained(transcript)] == [True]
    assert transcript.parent == "base"


def test_a_segment_whose_beginning_is_missing_is_split_from_its_own_conversation() -> None:
    meta = session(id="base", history_base={"thread_id": "base", "end_ordinal_exclusive": 3})
    segment = parse_document(ordered(3, meta, said("user", "instead")), "base_2.jsonl")
    assert read_document(segment).parent == "base"
    assert read_document(replace(segment, companions=(parse_document(BASE, "base.jsonl"),))).parent == ""


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


def dated(minute: int, second: float, one: dict[str, Any]) -> dict[str, Any]:
    return one | {"timestamp": f"2026-11-20T10:{minute:02}:{second:06.3f}Z"}


COPIED = [session(id="parent"), said("user", "one"), said("assistant", "first"), counted(90_000, 90_007)]
OWN = [said("user", "two"), said("assistant", "second"), counted(20_000, 110_014)]


@pytest.mark.parametrize(
    "copied",
    [
        [dated(0, 0.001 * at, one) for at, one in enumerate(COPIED)]
        + [dated(5, at, one) for at, one in enumerate(OWN)],
        [dated(0, 5 * at, one) for at, one in enumerate(COPIED)]
        + [dated(2, 5 * at, one) for at, one in enumerate([*OWN[:2], counted(20_000, 20_007)])],
    ],
    ids=["written at once", "another counter"],
)
def test_the_requests_of_the_conversation_that_a_fork_copies_are_not_its_own(copied: list[dict[str, Any]]) -> None:
    transcript = read_document(
        parse_document(to_lines(dated(0, 0, session(id="fork", forked_from_id="parent")), *copied), "fork.jsonl")
    )
    assert [(report.usage.prompt, report.is_copied) for report in reports_of(transcript)] == [
        (90_000, True),
        (20_000, False),
    ]


def test_copied_records_with_their_old_times_end_where_the_fork_was_made() -> None:
    lines = [dated(30, 0, session(id="fork", forked_from_id="parent"))]
    lines += [dated(1, 7 * at, one) for at, one in enumerate(COPIED)]
    lines += [dated(30, 1 + at, one) for at, one in enumerate(OWN)]
    transcript = read_document(parse_document(to_lines(*lines), "fork.jsonl"))
    assert [report.is_copied for report in reports_of(transcript)] == [True, False]


@pytest.mark.parametrize(("thread", "is_copied"), [("base", True), ("fork", False)])
def test_requests_in_the_file_of_another_conversation_are_not_a_forks_own(thread: str, is_copied: bool) -> None:
    base = ordered(0, session(id=thread), said("user", "one"), said("assistant", "first"), counted(90_000, 90_007))
    meta = session(id="fork", history_base={"thread_id": thread, "end_ordinal_exclusive": 4})
    fork = ordered(4, meta, *OWN)
    document = replace(parse_document(fork, "fork.jsonl"), companions=(parse_document(base, "base.jsonl"),))
    assert [report.is_copied for report in reports_of(read_document(document))] == [is_copied, False]
