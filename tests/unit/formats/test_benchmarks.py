"""Trajectories of the agents of benchmarks."""

from typing import Any

import pytest

from support.foreign import messages_of, read_value, reports_of, texts_of
from ullage.model.blocks import TextBlock, ToolResultBlock
from ullage.model.errors import InvalidRequest


def trae(provider: str, usage: dict[str, int]) -> dict[str, Any]:
    call = {"call_id": "c", "name": "bash", "arguments": {"command": "ls"}, "id": None}
    failed = {"call_id": "c", "success": False, "result": "partly", "error": "timed out"}
    return {
        "task": "Fix it.\nSoon.",
        "model": "m",
        "provider": provider,
        "llm_interactions": [
            {
                "timestamp": "2025-12-26T22:36:10",
                "provider": provider,
                "input_messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "Fix it."}],
                "response": {"content": "", "tool_calls": [call], "usage": usage},
            },
            {
                "provider": provider,
                "input_messages": [{"role": "user", "content": None, "tool_result": failed}],
                "response": {"content": "Done.", "tool_calls": None, "usage": usage},
            },
        ],
    }


def test_trae_deltas_and_responses_become_one_conversation() -> None:
    transcript = read_value(trae("openai", {"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 60}))
    messages = messages_of(transcript)
    assert texts_of(messages) == ["system: s", "user: Fix it.", "assistant: ", "user: ", "assistant: Done."]
    assert messages[3].content == (
        ToolResultBlock(tool_use_id="c", content=(TextBlock(text="partly\nError: timed out"),), is_error=True),
    )
    assert transcript.title == "Fix it."


@pytest.mark.parametrize(("provider", "prompt"), [("openai", 100), ("bedrock", 100), ("anthropic", 160)])
def test_traes_account_includes_the_cache_unless_it_is_anthropics(provider: str, prompt: int) -> None:
    usage = {"input_tokens": 100, "output_tokens": 5, "cache_read_input_tokens": 60}
    assert [report.usage.prompt for report in reports_of(read_value(trae(provider, usage)))] == [prompt, prompt]


def test_mini_swe_brings_each_answers_account() -> None:
    response = {"created": 1763510136, "usage": {"prompt_tokens": 40, "completion_tokens": 3}}
    transcript = read_value(
        {
            "trajectory_format": "mini-swe-agent-1",
            "instance_id": "django__1",
            "info": {"config": {"model": {"model_name": "gemini"}, "environment": {"cwd": "/testbed"}}},
            "messages": [
                {"role": "user", "content": "task"},
                {"role": "assistant", "content": "ls", "extra": {"response": response}},
                {"role": "exit", "content": "bye"},
            ],
        }
    )
    assert (transcript.model, transcript.cwd, transcript.title) == ("gemini", "/testbed", "django__1")
    assert [report.usage.prompt for report in reports_of(transcript)] == [40]
    assert messages_of(transcript)[1].timestamp == 1763510136000
    assert [skipped.expected for skipped in transcript.skipped] == [False]


def test_swe_agents_history_is_the_conversation() -> None:
    history = [
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "bash"}}]},
        {"role": "tool", "content": "out", "tool_call_ids": ["c"]},
    ]
    transcript = read_value({"trajectory": [], "history": history, "info": {}})
    assert transcript.format == "swe-agent"
    result = messages_of(transcript)[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.tool_use_id == "c"


RUNS = [
    {"task_id": number, "trial": 0, "traj": [{"role": "user", "content": f"run {number}"}] * length}
    for number, length in ((1, 1), (2, 3), (3, 2))
]


def test_of_several_runs_the_longest_is_read_and_the_others_are_named() -> None:
    transcript = read_value(RUNS)
    assert texts_of(messages_of(transcript)) == ["user: run 2"] * 3
    assert [(skipped.line, skipped.expected) for skipped in transcript.skipped] == [(1, True), (3, True)]


def test_a_run_can_be_asked_for() -> None:
    assert texts_of(messages_of(read_value(RUNS, run=3))) == ["user: run 3"] * 2
    with pytest.raises(InvalidRequest, match=r"test\.json: there is no run 4; the file holds runs 1 to 3"):
        read_value(RUNS, run=4)
