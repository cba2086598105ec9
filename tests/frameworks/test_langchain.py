"""The middleware for LangChain and the hook for LangGraph, with the real packages and a scripted model."""

import warnings
from collections.abc import Iterator, Sequence
from operator import is_
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.guide_example import run_example
from support.tool_play import THREAD, check_story, compaction_numbers, file_text, new_pool, question, unpaired
from ullage.embed.adapters.langchain import middleware, pre_model_hook
from ullage.embed.manager import ContextPool

langchain = pytest.importorskip("langchain.agents")
prebuilt = pytest.importorskip("langgraph.prebuilt")
memory = pytest.importorskip("langgraph.checkpoint.memory")
graphs = pytest.importorskip("langgraph.graph")
messages = pytest.importorskip("langchain_core.messages")
models = pytest.importorskip("langchain_core.language_models.chat_models")
outputs = pytest.importorskip("langchain_core.outputs")

CONFIG = {"configurable": {"thread_id": THREAD}}
PROMPT = "You read files."


class ScriptedModel(models.BaseChatModel):
    """Calls the tool once for each question, then answers. `sent` are the messages of its requests."""

    sent: list[Any] = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> Any:
        self.sent.append(list(messages))
        number = len(self.sent)
        call = {"id": f"call_{number}", "name": "read", "args": {"number": number // 2}}
        is_answer = messages[-1].type == "tool"
        answer = globals()["messages"].AIMessage(
            content=f"Answer {number}." if is_answer else "", tool_calls=[] if is_answer else [call]
        )
        return outputs.ChatResult(generations=[outputs.ChatGeneration(message=answer)])


def read(number: int) -> str:
    """Reads a file."""
    return file_text(number)


def with_middleware(pool: ContextPool, model: Any, *, trims_state: bool) -> Any:
    return langchain.create_agent(
        model,
        [read],
        system_prompt=PROMPT,
        middleware=[middleware(pool, trims_state=trims_state)],
        checkpointer=memory.InMemorySaver(),
    )


def with_hook(pool: ContextPool, model: Any, *, trims_state: bool) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return prebuilt.create_react_agent(
            model,
            [read],
            prompt=PROMPT,
            pre_model_hook=pre_model_hook(pool, trims_state=trims_state),
            checkpointer=memory.InMemorySaver(),
        )


def pairs(sent: Sequence[Any]) -> Iterator[tuple[str, str]]:
    for message in sent:
        yield from (("call", call["id"]) for call in getattr(message, "tool_calls", ()))
        if message.type == "tool":
            yield "result", message.tool_call_id


def ask(agent: Any, number: int) -> Any:
    return agent.invoke({"messages": [{"role": "user", "content": question(number)}]}, CONFIG)


@pytest.mark.parametrize("trims_state", [False, True])
@pytest.mark.parametrize("make", [with_middleware, with_hook])
def test_an_agent_makes_room_by_itself_and_parts_no_call(make: Any, trims_state: bool) -> None:
    model = ScriptedModel(sent=[])
    with new_pool() as pool:
        agent = make(pool, model, trims_state=trims_state)
        check_story(pool, lambda number: ask(agent, number), model.sent)
        state = agent.get_state(CONFIG).values["messages"]
        # The state has everything, or what was sent last with its answer.
        assert (len(state) < 40) == trims_state
        # After an undo the graph continues.
        ask(agent, 20)
    for sent in model.sent:
        assert unpaired(pairs(sent)) == set()
        assert [message.content for message in sent if message.type == "system"] == [PROMPT]


def test_what_is_kept_is_the_very_message_of_the_state() -> None:
    model = ScriptedModel(sent=[])
    with new_pool() as pool:
        agent = with_middleware(pool, model, trims_state=False)
        for number in range(12):
            ask(agent, number)
        state = {message.id: message for message in agent.get_state(CONFIG).values["messages"]}
    # What an edit cleared or shortened says so in its text.
    changed = ("cleared", "left out to make room")
    sent = [message for message in model.sent[-1] if message.id in state]
    kept = [message for message in sent if not any(notice in str(message.content) for notice in changed)]
    assert len(kept) > 5
    assert all(message == state[message.id] for message in kept)


def test_a_graph_that_goes_back_takes_the_conversation_with_it() -> None:
    model = ScriptedModel(sent=[])
    with new_pool() as pool:
        agent = with_middleware(pool, model, trims_state=False)
        for number in range(12):
            ask(agent, number)
        early = next(state for state in agent.get_state_history(CONFIG) if len(state.values["messages"]) == 8)
        agent.invoke({"messages": [{"role": "user", "content": "Another way, please."}]}, early.config)
        texts = [str(message.content) for message in model.sent[-1]]
    assert any("Another way" in text for text in texts)
    assert any(question(1) in text for text in texts)
    assert not any(question(2) in text for text in texts)
    assert len(texts) == 1 + 8 + 3


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
BLOCKS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text, "invented": True}, TEXT),
        st.builds(lambda text: {"type": "image", "base64": "QUJD", "mime_type": "image/png", "id": text}, TEXT),
        st.builds(lambda text: {"type": "reasoning", "reasoning": text, "extras": {"signature": text}}, TEXT),
        st.builds(lambda text: {"type": "invented", "value": text}, TEXT),
    ),
    min_size=1,
    max_size=3,
)
CONTENT = TEXT | BLOCKS
ID = st.uuids().map(str)


def _called(content: Any, one: str, artifact: Any) -> list[Any]:
    calls = [{"id": f"{one}-{place}", "name": "read", "args": {"n": place}, "type": "tool_call"} for place in range(2)]
    usage = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12, "input_token_details": {"cache_read": 4}}
    results = [
        messages.ToolMessage(content=content, tool_call_id=call["id"], id=f"t{call['id']}", artifact=artifact)
        for call in calls
    ]
    return [messages.AIMessage(content=content, id=one, tool_calls=calls, usage_metadata=usage), *results]


HISTORIES = st.lists(
    st.one_of(
        st.builds(lambda content, one: [messages.HumanMessage(content=content, id=one, name="u")], CONTENT, ID),
        st.builds(lambda content, one: [messages.AIMessage(content=content, id=one)], CONTENT, ID),
        st.builds(_called, CONTENT, ID, st.sampled_from([None, {"big": object}])),
    ),
    max_size=5,
).map(lambda groups: [message for group in groups for message in group])


@settings(deadline=None, max_examples=10)
@given(HISTORIES)
def test_messages_come_back_as_they_were_given(history: list[Any]) -> None:
    seen: list[Any] = []

    def node(state: Any) -> Any:
        seen[:] = hook.invoke(state)["llm_input_messages"]
        return {}

    with new_pool(100_000) as pool:
        hook = pre_model_hook(pool)
        graph = graphs.StateGraph(graphs.MessagesState)
        graph.add_node("node", node)
        graph.add_edge(graphs.START, "node")
        graph.compile().invoke({"messages": history}, CONFIG)
        assert all(map(is_, seen, history))
        assert len(seen) == len(history)


async def test_the_example_of_the_guide_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = ScriptedModel(sent=[])
    names = await run_example("LangChain and LangGraph", model=model, tools=[read])
    with names["pool"] as pool:
        assert pool.open("customer-7").get_messages()[0]["content"] == "Hello."
    assert len(model.sent) == 2


@pytest.mark.parametrize("make", [with_middleware, with_hook])
def test_a_state_that_was_compacted_goes_on_in_another_process_with_its_summary(make: Any) -> None:
    model = ScriptedModel(sent=[])
    state: list[Any] = []
    numbers: list[int] = []
    for begin in range(0, 36, 12):
        with new_pool() as pool:
            agent = make(pool, model, trims_state=True)
            agent.update_state(CONFIG, {"messages": state})
            for number in range(begin, begin + 12):
                ask(agent, number)
            state = agent.get_state(CONFIG).values["messages"]
        numbers += compaction_numbers(message.content for message in state)
        assert unpaired(pairs(model.sent[-1])) == set()
    assert len(numbers) == 3, "one summary after each process"
    assert numbers[0] < numbers[1] < numbers[2]
