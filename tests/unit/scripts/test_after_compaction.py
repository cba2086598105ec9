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


def codex(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "t", "type": kind, "payload": payload}


def counted(tokens: int) -> dict[str, Any]:
    return codex("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": tokens}})


@pytest.mark.parametrize("has_usage", [True, False])
def test_the_first_answer_after_a_compaction_counts_once_something_was_reported(
    tmp_path: Path, has_usage: bool
) -> None:
    log = ClaudeLog().ask()
    log = (log.answer(90_000) if has_usage else log).ask().compact(90_100).ask().answer(30_000).ask().answer(31_000)
    first = len(log.lines) - 3
    assert first_prompts(written(tmp_path, *log.lines)) == ([First(first, 30_000)] if has_usage else [])


def test_an_estimate_and_the_calls_of_sub_agents_are_no_reports(tmp_path: Path) -> None:
    said = codex("response_item", type="message", role="assistant")
    estimate = codex("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": 0, "total_tokens": 9}})
    lines = [said, counted(90_000), codex("compacted", message="x"), estimate, said, counted(20_000), said, counted(1)]
    assert first_prompts(written(tmp_path, *lines)) == [First(4, 20_000)]
    log = ClaudeLog().ask().answer(90_000).ask().compact(90_100).answer(5_000).answer(30_000)
    log.lines[-2]["isSidechain"] = True
    assert first_prompts(written(tmp_path, *log.lines)) == [First(len(log.lines) - 1, 30_000)]


def test_other_files_have_none(tmp_path: Path) -> None:
    assert first_prompts(written(tmp_path, {"messages": []}, "text", 3)) == []
