"""Codex conversations that begin in another file: forks, and what follows after the user has gone back."""

from pathlib import Path
from typing import Any

import pytest

from support.codex_files import said, session
from support.foreign import messages_of, texts_of, to_lines, unexplained
from ullage.agents.transcripts import read_document
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
