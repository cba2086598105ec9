"""The history processor for Pydantic AI, with the real package and a scripted model."""

import datetime
from collections.abc import Iterator, Sequence
from functools import partial
from operator import is_
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.guide_example import run_example
from support.tool_play import THREAD, check_story, compaction_numbers, file_text, new_pool, question, unpaired
from ullage.embed.adapters.pydantic_ai import history_processor
from ullage.embed.manager import ContextPool

pydantic_ai = pytest.importorskip("pydantic_ai")
capabilities = pytest.importorskip("pydantic_ai.capabilities")
library = pytest.importorskip("pydantic_ai.messages")
function = pytest.importorskip("pydantic_ai.models.function")


def scripted(sent: list[Any], history: list[Any], _: Any) -> Any:
    """Calls the tool once for each question, then answers."""
    sent.append(list(history))
    number = len(sent)
    if any(part.part_kind == "tool-return" for part in history[-1].parts):
        return library.ModelResponse(parts=[library.TextPart(f"Answer {number}.")])
    call = library.ToolCallPart("read", {"number": number // 2}, tool_call_id=f"call_{number}")
    return library.ModelResponse(parts=[library.ThinkingPart("Hm."), call])


class Talk:
    """An agent and its conversation."""

    def __init__(self, pool: ContextPool) -> None:
        self.sent: list[Any] = []
        self.history: list[Any] = []
        self._agent = pydantic_ai.Agent(
            function.FunctionModel(partial(scripted, self.sent)),
            instructions="You read files.",
            tools=[pydantic_ai.Tool(file_text, name="read")],
            capabilities=[capabilities.ProcessHistory(history_processor(pool))],
        )

    def ask(self, number: int) -> None:
        result = self._agent.run_sync(question(number), message_history=self.history, conversation_id=THREAD)
        self.history = result.all_messages()


def pairs(history: Sequence[Any]) -> Iterator[tuple[str, str]]:
    kinds = {"tool-call": "call", "tool-return": "result"}
    for message in history:
        yield from ((kinds[part.part_kind], part.tool_call_id) for part in message.parts if part.part_kind in kinds)


def test_an_agent_makes_room_by_itself_and_parts_no_call() -> None:
    with new_pool() as pool:
        talk = Talk(pool)
        check_story(pool, talk.ask, talk.sent)
        assert len(talk.history) < 40
        # What an undo brings back comes from the store: the history has lost it.
        talk.ask(20)
    for history in talk.sent:
        assert unpaired(pairs(history)) == set()


TIMES = st.datetimes(datetime.datetime(2026, 1, 1), datetime.datetime(2026, 2, 1), timezones=st.just(datetime.UTC))
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
ID = st.uuids().map(str)
CONTENTS = st.one_of(
    TEXT,
    st.builds(lambda text: [text, library.ImageUrl(url="https://ullage.invalid/a.png")], TEXT),
    st.builds(lambda text: [library.BinaryContent(data=b"ABC", media_type="image/png"), text], TEXT),
)


def _called(text: str, one: str, time: Any) -> list[Any]:
    calls = [library.ToolCallPart("read", '{ "n": 1}', tool_call_id=f"{one}-{place}") for place in range(2)]
    usage = pydantic_ai.RequestUsage(input_tokens=9, output_tokens=3)
    returned = [library.ToolReturnPart("read", {"a": text}, tool_call_id=calls[0].tool_call_id, timestamp=time)]
    again = {"content": "again", "tool_call_id": calls[1].tool_call_id, "outcome": "retried", "timestamp": time}
    retried = [library.ToolReturnPart("read", **again)]
    said = library.UserPromptPart(text, timestamp=time)
    thinking = library.ThinkingPart(text, signature=text, provider_name="scripted")
    response = library.ModelResponse(parts=[thinking, *calls], timestamp=time, usage=usage)
    return [response, library.ModelRequest(parts=[*returned, *retried, said], instructions=text)]


HISTORIES = st.lists(
    st.one_of(
        st.builds(
            lambda content, time: [library.ModelRequest(parts=[library.UserPromptPart(content, timestamp=time)])],
            CONTENTS,
            TIMES,
        ),
        st.builds(
            lambda text, time: [library.ModelResponse(parts=[library.TextPart(text, id=text)], timestamp=time)],
            TEXT,
            TIMES,
        ),
        st.builds(_called, TEXT, ID, TIMES),
    ),
    max_size=5,
).map(lambda groups: [message for group in groups for message in group])


class _Context:
    conversation_id = THREAD


@settings(deadline=None, max_examples=10)
@given(HISTORIES)
async def test_messages_come_back_as_they_were_given(history: list[Any]) -> None:
    with new_pool(100_000) as pool:
        fit = history_processor(pool)
        fitting = await fit(_Context(), history)
        assert len(fitting) == len(history)
        assert all(map(is_, fitting, history))
        again = await fit(_Context(), fitting)
        assert all(map(is_, again, history))


async def test_the_example_of_the_guide_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = function.FunctionModel(lambda *_: library.ModelResponse(parts=[library.TextPart("Hello!")]))
    names = await run_example("Pydantic AI", model=model)
    assert names["result"].output == "Hello!"
    with names["pool"] as pool:
        assert pool.open("customer-7").get_messages()[0]["content"] == "Hello."


def test_a_history_that_was_compacted_goes_on_in_another_process_with_its_summary() -> None:
    history: list[Any] = []
    sent: list[Any] = []
    numbers: list[int] = []
    for begin in range(0, 36, 12):
        with new_pool() as pool:
            talk = Talk(pool)
            talk.history, talk.sent[:] = history, sent
            for number in range(begin, begin + 12):
                talk.ask(number)
            history, sent = talk.history, talk.sent
        parts = (part for message in history for part in message.parts)
        numbers += compaction_numbers(getattr(part, "content", "") for part in parts)
        assert unpaired(pairs(history)) == set()
    assert len(numbers) == 3, "one summary after each process"
    assert numbers[0] < numbers[1] < numbers[2]
