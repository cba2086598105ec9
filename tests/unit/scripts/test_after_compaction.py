"""Which prompts the accuracy bench compares after compactions: found in the logs themselves."""

import json
from pathlib import Path
from typing import Any

import pytest

from benches.accuracy import First, first_prompts
from support.claude_log import ClaudeLog


def written(tmp_path: Path, *lines: Any) -> Path:
    file = tmp_path / "log.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return file


@pytest.mark.parametrize("has_usage", [True, False])
def test_the_first_answer_after_a_compaction_counts_once_something_was_reported(
    tmp_path: Path, has_usage: bool
) -> None:
    log = ClaudeLog().ask()
    log = (log.answer(90_000) if has_usage else log).ask().compact(90_100).ask().answer(30_000).ask().answer(31_000)
    first = len(log.lines) - 3
    assert first_prompts(written(tmp_path, *log.lines)) == ([First(first, 30_000)] if has_usage else [])


def test_the_calls_of_sub_agents_are_no_reports(tmp_path: Path) -> None:
    log = ClaudeLog().ask().answer(90_000).ask().compact(90_100).answer(5_000).answer(30_000)
    log.lines[-2]["isSidechain"] = True
    assert first_prompts(written(tmp_path, *log.lines)) == [First(len(log.lines) - 1, 30_000)]


def test_other_files_have_none(tmp_path: Path) -> None:
    assert first_prompts(written(tmp_path, {"messages": []}, "text", 3)) == []
