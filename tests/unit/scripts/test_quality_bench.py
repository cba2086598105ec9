"""The quality bench on a made-up conversation: what it compares, and what it leaves out of the comparison."""

from pathlib import Path

import msgspec
import pytest

from benches.quality import DIFFERENCE, OURS, run
from benches.quality_contenders import BASELINE, CONTENDERS

pytest.importorskip("langchain_core", reason="./scripts/bench quality gets LangChain")
ROUNDS = 60


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
    assert {*CONTENDERS, OURS} == {*compared}
    assert compared[OURS]["violations"] == compared[BASELINE]["violations"] == 0
    assert compared[OURS]["used"] <= 1
    assert compared["tail"]["names"] == 0
    assert compared[BASELINE]["names"] == 100
    (difference,) = [row for row in report.rows if DIFFERENCE in row]
    assert difference["names"] == compared[OURS]["names"] - 100


def test_a_place_where_the_budget_is_refused_is_counted_and_not_compared(tmp_path: Path) -> None:
    whole = run([write(tmp_path / "talk.json", "Go on.")])
    report = run([write(tmp_path / "long.json", "Take care of this line and of that one. " * 800)])
    cuts, refused = ({row[key] for row in report.rows if "contender" in row} for key in ("cuts", "refused"))
    assert whole.rows[0]["refused"] == 0
    assert all(refused)
    assert all(cuts)
    assert all(row["used"] <= 1 for row in report.rows if row.get("contender") == OURS)
