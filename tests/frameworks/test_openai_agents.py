"""The session for the OpenAI Agents SDK, with the real SDK and a scripted model."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.guide_example import run_example
from support.tool_play import THREAD, check_story, file_text, new_pool, question, unpaired
from ullage.embed.adapters.openai_agents import UllageSession

agents = pytest.importorskip("agents")
responses = pytest.importorskip("openai.types.responses")

agents.set_tracing_disabled(True)


class ScriptedModel(agents.models.interface.Model):
    """Calls the tool once for each question, then answers. `sent` are the inputs of its requests."""

    def __init__(self) -> None:
        self.sent: list[list[Any]] = []

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> Any:
        self.sent.append(list(input))
        number = len(self.sent)
        if input[-1].get("type") == "function_call_output":
            text = responses.ResponseOutputText(type="output_text", text=f"Answer {number}.", annotations=[])
            message = responses.ResponseOutputMessage(
                id=f"msg_{number}", type="message", role="assistant", status="completed", content=[text]
            )
            return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)
        call = responses.ResponseFunctionToolCall(
            type="function_call",
            id=f"fc_{number}",
            call_id=f"call_{number}",
            name="read",
            arguments=json.dumps({"number": number // 2}),
            status="completed",
        )
        reasoning = responses.ResponseReasoningItem(id=f"rs_{number}", type="reasoning", summary=[])
        return agents.ModelResponse(output=[reasoning, call], usage=agents.Usage(), response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


@agents.function_tool
def read(number: int) -> str:
    """Reads a file."""
    return file_text(number)


def pairs(items: list[Any]) -> Iterator[tuple[str, str]]:
    kinds = {"function_call": "call", "function_call_output": "result"}
    return ((kinds[item["type"]], item["call_id"]) for item in items if item.get("type") in kinds)


def test_a_session_makes_room_by_itself_and_parts_no_call() -> None:
    model = ScriptedModel()
    agent = agents.Agent(name="reader", model=model, tools=[read])
    with new_pool() as pool:
        session = UllageSession(THREAD, pool)
        assert isinstance(session, agents.memory.Session)
        check_story(pool, lambda number: agents.Runner.run_sync(agent, question(number), session=session), model.sent)
    for items in model.sent:
        assert unpaired(pairs(items)) == set()


ITEMS = st.deferred(lambda: st.lists(st.one_of(SAID, CALLED, SEARCHED), max_size=8)).map(
    lambda groups: [item for group in groups for item in group]
)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
ID = st.uuids().map(str)
SAID = st.one_of(
    st.builds(lambda text: [{"role": "user", "content": text}], TEXT),
    st.builds(
        lambda text, one: [
            {
                "id": one,
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "phase": "final_answer",
                "content": [{"type": "output_text", "text": text, "annotations": [{"type": "invented"}]}],
            }
        ],
        TEXT,
        ID,
    ),
)
CALLED = st.builds(
    lambda text, one: [
        {"id": f"rs_{one}", "type": "reasoning", "summary": [], "encrypted_content": text},
        {"id": f"fc_{one}", "type": "function_call", "call_id": one, "name": "read", "arguments": '{ "a":1}'},
        {"type": "function_call_output", "call_id": one, "output": [{"type": "input_text", "text": text}]},
    ],
    TEXT,
    ID,
)
SEARCHED = st.builds(lambda text, one: [{"id": one, "type": "invented_call", "query": text}], TEXT, ID)


@settings(deadline=None, max_examples=15)
@given(ITEMS)
async def test_items_come_back_as_they_were_given(items: list[Any]) -> None:
    with new_pool(100_000) as pool:
        session = UllageSession(THREAD, pool)
        await session.add_items(items)
        assert json.dumps(await session.get_items()) == json.dumps(items)
        for item in reversed(items):
            assert await session.pop_item() == item
        assert await session.pop_item() is None
        await session.add_items(items)
        await session.clear_session()
        assert await session.get_items() == []


async def test_a_session_is_continued_in_another_process(tmp_path: Any) -> None:
    items = [{"role": "user", "content": "Remember the number 7."}]
    with new_pool(store=tmp_path / "store.db") as pool:
        await UllageSession(THREAD, pool).add_items(items)
    with new_pool(store=tmp_path / "store.db") as pool:
        assert await UllageSession(THREAD, pool).get_items() == items


async def test_the_example_of_the_guide_runs(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model = SayingModel()
    names = await run_example("OpenAI Agents SDK", model=model)
    names["pool"].close()
    assert names["result"].final_output == "It is in line 7."
    assert "rounding" in capsys.readouterr().out


class SayingModel(ScriptedModel):
    """Answers at once."""

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> Any:
        text = responses.ResponseOutputText(type="output_text", text="It is in line 7.", annotations=[])
        message = responses.ResponseOutputMessage(
            id="msg", type="message", role="assistant", status="completed", content=[text]
        )
        return agents.ModelResponse(output=[message], usage=agents.Usage(), response_id=None)
