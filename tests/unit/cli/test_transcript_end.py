"""The size of a context by the end of its transcript, for a status line that nothing else helps."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.cli.statusline import line
from ullage.cli.statusline.transcript_end import context_at_end

# 4 bytes per token: more than by its one word.
FIRST, SUMMARY = "x" * 4_000, "y" * 20_000
PROMPT, HIDDEN, LEFT = 21_000, 20_000, 5_000


def said(role: str, text: str, uuid: str = "", **usage: int) -> dict[str, Any]:
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {"type": role, "uuid": uuid or text[:9], "message": message | ({"usage": usage} if usage else {})}


def boundary(**metadata: Any) -> dict[str, Any]:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "manual"} | metadata}


BEFORE = [
    said("user", FIRST),
    said("assistant", "Begun.", input_tokens=5, cache_read_input_tokens=PROMPT - 5, output_tokens=4),
    said("user", "z" * 80_000, "kept"),
    said("assistant", "Done.", "last", input_tokens=60_000, output_tokens=40),
]


@pytest.fixture
def log(tmp_path: Path) -> "Log":
    return Log(tmp_path / "log.jsonl")


class Log:
    def __init__(self, path: Path) -> None:
        self.path = path

    def end(self, *records: dict[str, Any], torn: bytes = b"") -> tuple[int | None, bool]:
        self.path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records) + torn)
        return context_at_end(str(self.path))


def test_without_a_compaction_it_is_the_last_report(log: Log) -> None:
    assert log.end(*BEFORE, said("user", "More."), torn=b'{"message": {"usage"') == (60_040, False)


@pytest.mark.parametrize(
    ("metadata", "after", "left"),
    [
        ({"postTokens": 5_706}, [said("user", SUMMARY)], 5_706),
        ({"postTokens": 5_706}, [], 5_706),
        ({}, [said("user", SUMMARY)], LEFT),
        ({"postTokens": 0}, [said("user", SUMMARY)], LEFT),
        ({"postTokens": "many"}, [said("user", SUMMARY)], LEFT),
        # Kept messages are named, and written again by some versions.
        ({"preservedSegment": {"headUuid": "kept", "tailUuid": "last"}}, [said("user", SUMMARY)], LEFT + 20_001),
        ({"preservedMessages": {"allUuids": ["kept"]}}, [said("user", SUMMARY)], LEFT + 20_000),
        ({"preservedMessages": {"uuids": ["kept"]}}, [said("user", SUMMARY), BEFORE[2]], LEFT + 20_000),
        # A sub-agent's lines are of another context.
        ({}, [said("user", SUMMARY), said("assistant", "w", input_tokens=9) | {"isSidechain": True}], LEFT),
        ({}, [said("user", SUMMARY), {"type": "attachment", "attachment": {"content": "a" * 400}}], LEFT + 100),
    ],
)
def test_after_a_compaction_it_is_what_was_left_and_the_hidden_part(
    log: Log, metadata: dict[str, Any], after: list[dict[str, Any]], left: int
) -> None:
    assert log.end(*BEFORE, boundary(**metadata), *after) == (HIDDEN + left, True)


def test_the_hidden_part_of_a_file_that_begins_with_a_compaction_is_known(log: Log) -> None:
    records = [said("user", "v" * 40_000), boundary(), *BEFORE, boundary(postTokens=700)]
    assert log.end(*records) == (HIDDEN + 700, True)


@pytest.mark.parametrize(
    "records",
    [
        [],
        [*BEFORE, boundary()],
        [said("user", FIRST), boundary(postTokens=700), said("user", SUMMARY)],
        [said("user", "u" * 300_000), *BEFORE[1:], boundary(postTokens=700)],
    ],
)
def test_what_the_file_does_not_show_stays_unknown(log: Log, records: list[dict[str, Any]]) -> None:
    assert log.end(*records) == (None, False)
    log.path.unlink()
    assert context_at_end(str(log.path)) == (None, False)


def test_an_agent_that_knows_no_size_gets_the_estimate_after_a_compaction_alone(log: Log) -> None:
    context = {"context_window_size": 200_000, "current_usage": None}
    given = {"context_window": context, "transcript_path": str(log.path)}

    def shown(row: dict[str, Any] | None = None, *, is_followed: bool = False) -> str:
        return line.draw(line.figure_of_agent(given, row, is_followed=is_followed), None, "plain")

    row = {"used": 90_000, "used_source": "reported", "window": 200_000, "compacts_at": 167_000}
    log.end(*BEFORE)
    assert shown() == "? · ?/200K"
    log.end(*BEFORE, boundary(), said("user", SUMMARY))
    assert shown() == "○ ~13% · 25K/200K"
    assert shown(row) == "○ ~13% · 25K/200K · compacts at 167K"
    assert shown(row, is_followed=True) == "◔ 45% · 90K/200K · compacts at 167K"
    assert shown(row | {"used": None}, is_followed=True) == "○ ~13% · 25K/200K · compacts at 167K"
    log.end(*BEFORE, boundary(), said("user", SUMMARY), said("assistant", "On.", input_tokens=31_000))
    assert shown() == "? · ?/200K"
