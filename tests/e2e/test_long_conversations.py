"""Ten thousand messages: what their agent's compactions left out, a brief of it, and a new session that continues."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.claude_log import long_session
from support.command_line import ullage

MESSAGES = 10_000


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "s-long.jsonl"
    path.write_bytes(long_session(MESSAGES).data)
    return path


def printed(*words: str | Path) -> Any:
    ran = ullage(*words, "--json")
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.mark.slow
def test_all_that_was_left_out_is_counted_and_a_terminal_shows_two_screens_of_it(transcript: Path) -> None:
    report = printed("lost", transcript)
    assert report["messages"] >= MESSAGES * 0.9
    assert report["counts"]["said"] >= 40
    assert len(report["lost"]) == sum(report["counts"].values())
    shown = ullage("lost", transcript).out.splitlines()
    assert len(shown) < 100
    assert f"  and {report['counts']['said'] - 10:,} more, most of them older" in shown


@pytest.mark.slow
def test_the_brief_stays_within_its_size(transcript: Path) -> None:
    report = printed("lost", "--brief", transcript, "--chars", "4000")
    assert 3_000 < len(report["text"].encode("utf-16-le")) // 2 <= 4_000


@pytest.mark.slow
def test_it_is_continued_within_the_budget(transcript: Path) -> None:
    report = printed("continue", transcript, "--preview", "--budget", "20000")
    assert report["used"] - report["hidden"] <= 20_000
    assert report["messages"] + report["left_out"] >= MESSAGES
    assert not report["written"]


@pytest.mark.slow
def test_before_the_compaction_it_has_what_the_agent_had_then(transcript: Path) -> None:
    report = printed("continue", transcript, "--preview", "--before-compaction")
    assert report["messages"] > printed("continue", transcript, "--preview")["messages"]
    assert any("compacts at" in note for note in report["notes"])
