"""The quality bench on a made-up conversation: what it compares, which names it counts, and what it leaves out."""

from pathlib import Path

import msgspec
import pytest

from benches.quality import (
    BASELINE,
    COUNTER,
    OURS,
    WAYS,
    carried,
    find_anchors,
    has,
    run,
    tail,
    tail_and_lines,
    unpaired,
)
from support.conversations import agent, bash, call, user
from ullage.model.message import Message, ToolResultBlock

ROUNDS = 60
BEFORE = (
    user("Make the importer fast."),
    agent("The slow part is `load_rows` in src/import/reader.py because it opens every file twice."),
    *bash("git log -1", "commit 9f8e7d6c5b4a by someone", call_id="a"),
    *call("Read", {"file_path": "src/import/writer.py"}, "def flush_rows(): ...", call_id="b"),
)
SIZES = [COUNTER.count_message(message) for message in BEFORE]


def write(path: Path, last: str) -> Path:
    """Writes a conversation of some 14,000 tokens, in which the agent names later what it named at first."""
    told = "\n".join(f"step_{n}_limit keeps requests below the ceiling of gateway {n}." for n in range(10))
    messages = [{"role": "user", "content": "Make the gateway robust."}, {"role": "assistant", "content": told}]
    for n in range(ROUNDS):
        messages += [
            {"role": "user", "content": last if n == ROUNDS // 2 else f"Go on with round {n}."},
            {"role": "assistant", "content": f"In round {n} I looked at this and at that again. " * 18},
        ]
    messages += [
        {"role": "user", "content": "Which ones did you raise?"},
        {"role": "assistant", "content": " ".join(f"I raised step_{n}_limit." for n in range(10))},
    ]
    path.write_bytes(msgspec.json.encode({"model": "gpt-4o", "messages": messages}))
    return path


def test_ullage_stands_next_to_the_other_ways_and_its_distance_to_the_baseline_is_told(tmp_path: Path) -> None:
    report = run([write(tmp_path / "talk.json", "Go on.")])
    compared = {row["contender"]: row for row in report.rows if "contender" in row}
    assert {*WAYS, OURS} == {*compared}
    assert compared[OURS]["violations"] == compared[BASELINE]["violations"] == 0
    assert compared[OURS]["used"] <= 1
    assert compared["tail"]["names"] == 0
    assert compared[BASELINE]["names"] == 100
    (difference,) = [aim for aim in report.aims if aim.what.startswith("names")]
    assert difference.value == round(compared[OURS]["names"] - 100, 4)


def test_a_place_where_the_budget_is_refused_is_counted_and_not_compared(tmp_path: Path) -> None:
    whole = run([write(tmp_path / "talk.json", "Go on.")])
    report = run([write(tmp_path / "long.json", "Take care of this line and of that one. " * 800)])
    cuts, refused = ({row[key] for row in report.rows if "contender" in row} for key in ("cuts", "refused"))
    assert whole.rows[0]["refused"] == 0
    assert all(refused)
    assert all(cuts)
    assert all(row["used"] <= 1 for row in report.rows if row.get("contender") == OURS)


def names(*after: Message) -> list[str]:
    return carried((*BEFORE, *after), len(BEFORE))


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("see src/import/reader.py and reader.py.", ["src/import/reader.py", "reader.py"]),
        ("`load_rows`, loadRows, HTTPServer, LOAD_ROWS", ["load_rows", "loadRows", "HTTPServer", "LOAD_ROWS"]),
        ("commit 9f8e7d6 of 20260101", ["9f8e7d6"]),
        ("and/or nothing here is one; read/write it", []),
    ],
)
def test_anchors_are_paths_compound_identifiers_and_hashes(text: str, anchors: list[str]) -> None:
    assert list(find_anchors(text)) == anchors


def test_what_the_agent_writes_from_memory_is_carried() -> None:
    assert names(agent("Now `load_rows` and `flush_rows`.")) == ["load_rows", "flush_rows"]


def test_what_was_shown_again_first_is_not_carried() -> None:
    assert names(*bash("ls", "def load_rows(): ..."), agent("Change `load_rows`.")) == []
    assert names(user("And load_rows?"), agent("Change `load_rows`.")) == []


def test_a_name_that_was_not_before_the_cut_is_not_carried() -> None:
    assert names(agent("A new `brand_new_name`.")) == []


def test_a_part_of_a_longer_word_is_not_found() -> None:
    assert not has("preload_rows load_rows_again", "load_rows")
    assert has("call load_rows()", "load_rows")


def test_each_way_keeps_to_the_budget() -> None:
    assert tail(BEFORE, SIZES[-1]) == [BEFORE[-1]]
    assert unpaired(tail(BEFORE, SIZES[-1]), BEFORE) == 1
    assert unpaired(BEFORE, BEFORE) == 0


def test_the_baseline_quotes_older_lines_with_new_names_beside_the_newest_messages() -> None:
    long = agent("and so on " * 200 + "\n" + "the slow `parse_header` and `parse_body`")
    messages = (*BEFORE, long, user("Go on."), agent("I look at `load_rows`."))
    context = tail_and_lines(messages, 120)
    assert [message.text for message in context[-2:]] == ["Go on.", "I look at `load_rows`."]
    assert "the slow `parse_header` and `parse_body`" in context[0].text
    assert "and so on" not in context[0].text
    assert sum(map(COUNTER.count_message, context)) <= 120


def test_the_baseline_never_keeps_a_result_without_its_call() -> None:
    assert unpaired(tail_and_lines(BEFORE, SIZES[-1] * 4 // 3 + 1), BEFORE) == 0


def test_a_call_that_the_recorded_session_left_without_a_result_is_no_fault_of_a_context() -> None:
    without = [one for one in BEFORE if not any(isinstance(block, ToolResultBlock) for block in one.content)]
    assert unpaired(without, without) == 0
    assert unpaired(without, BEFORE) > 0
