"""Trajectories of the agents of benchmarks."""

import json
from typing import Any

import pytest

from support.foreign import messages_of, read_value, reports_of, texts_of
from support.growing_files import expect_every_split_to_read_alike
from ullage.formats.parsing import Document
from ullage.formats.transcripts.message_lists import MINI_SWE
from ullage.model.errors import InvalidRequest
from ullage.model.message import TextBlock, ToolResultBlock
from ullage.transcript.fold import project


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
                {"role": "oracle", "content": "bye"},
            ],
        }
    )
    assert (transcript.model, transcript.cwd, transcript.title) == ("gemini", "/testbed", "django__1")
    assert [report.usage.prompt for report in reports_of(transcript)] == [40]
    assert messages_of(transcript)[1].timestamp == 1763510136000
    assert [skipped.expected for skipped in transcript.skipped] == [False]


def test_mini_swe_keeps_an_answer_that_was_refused_out_of_the_context() -> None:
    answer = {"role": "assistant", "content": "done"}
    refused = {"created": 1763510136, "choices": [{"message": answer}], "usage": {"prompt_tokens": 40}}
    messages = [
        {"role": "user", "content": "task"},
        {"role": "user", "content": "no command", "extra": {"response": refused}},
        {"role": "exit", "content": "RepeatedFormatError"},
    ]
    document = {"trajectory_format": "mini-swe-agent-1.1", "info": {"mini_version": "2.4.6"}, "messages": messages}
    transcript = read_value(document)
    assert texts_of(messages_of(transcript)) == ["user: task", "assistant: done", "user: no command"]
    assert texts_of(project(transcript.events)) == ["user: task", "user: no command"]
    assert [report.message_id for report in reports_of(transcript)] == [messages_of(transcript)[1].id]
    assert transcript.version == "2.4.6"
    assert [(s.reason, s.expected) for s in transcript.skipped] == [("end of the run: RepeatedFormatError", True)]
    expect_every_split_to_read_alike(MINI_SWE, Document(name="x", value=document))


@pytest.mark.parametrize(
    ("name", "model"), [("anthropic/claude-sonnet-4", "anthropic/claude-sonnet-4"), ("replay", "")]
)
@pytest.mark.parametrize("as_it_is", [True, False], ids=["object", "text"])
def test_the_model_of_a_trajectory_is_in_the_runs_configuration(name: str, model: str, as_it_is: bool) -> None:
    config = {"agent": {"model": {"name": name, "temperature": 0.0}}}
    history = [{"role": "user", "content": "Fix it."}, {"role": "assistant", "content": "Done."}]
    trajectory = {
        "trajectory": [],
        "history": history,
        "info": {},
        "replay_config": config if as_it_is else json.dumps(config),
    }
    transcript = read_value(trajectory)
    assert (transcript.format, transcript.agent, transcript.model) == ("swe-agent", "swe-agent", model)


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
    with pytest.raises(InvalidRequest, match=r"there is no run 2; the file holds one conversation"):
        read_value(RUNS[:1], run=2)
