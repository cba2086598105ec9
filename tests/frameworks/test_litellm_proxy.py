"""The callback for the proxy of LiteLLM, with the proxy's own way to its callbacks."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.guide_example import run_example
from support.tool_play import QUESTIONS, WINDOW, compaction_numbers, file_text, new_pool, question, unpaired
from support.wire.anthropic_wire import AnthropicWire
from support.wire.chat_wire import ChatWire
from support.wire.replies import say
from support.wire.server import WireServer
from ullage.embed.adapters.litellm_proxy import callback
from ullage.embed.manager import ContextPool

litellm = pytest.importorskip("litellm")
proxy_utils = pytest.importorskip("litellm.proxy.utils")
caching = pytest.importorskip("litellm.caching.caching")
proxy_types = pytest.importorskip("litellm.proxy._types")


class Proxy:
    """The proxy's handling of a request up to the provider, with one callback."""

    def __init__(self, pools: Any, key: str = "sk-1") -> None:
        litellm.callbacks = [callback(pools)]
        # It is kept by the callbacks' addresses, which may be those of an earlier test.
        proxy_utils.ProxyLogging._callback_capabilities_cache.clear()
        self._logging = proxy_utils.ProxyLogging(user_api_key_cache=caching.DualCache())
        self._key = proxy_types.UserAPIKeyAuth(api_key=key)

    async def send(self, messages: list[Any], call_type: str = "acompletion", **fields: Any) -> dict[str, Any]:
        data = {"model": "gpt-4o", "messages": copy.deepcopy(messages), "temperature": 0.5, **fields}
        return await self._logging.pre_call_hook(user_api_key_dict=self._key, data=data, call_type=call_type)


@pytest.fixture(autouse=True)
def no_callbacks_are_left() -> Iterator[None]:
    yield
    litellm.callbacks = []


def turn(number: int) -> list[Any]:
    function = {"name": "read", "arguments": json.dumps({"number": number})}
    return [
        {"role": "user", "content": question(number)},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": f"c{number}", "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": f"c{number}", "content": file_text(number)},
        {"role": "assistant", "content": f"Answer {number}.", "refusal": None},
    ]


def anthropic_turn(number: int) -> list[Any]:
    use = {"type": "tool_use", "id": f"c{number}", "name": "read", "input": {"number": number}}
    result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": file_text(number)}
    return [
        {"role": "user", "content": question(number)},
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": [{"type": "text", "text": f"Answer {number}."}]},
    ]


def pairs(messages: list[Any]) -> Iterator[tuple[str, str]]:
    for message in messages:
        yield from (("call", call["id"]) for call in message.get("tool_calls") or ())
        if message["role"] == "tool":
            yield "result", message["tool_call_id"]
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "tool_use":
                yield "call", block["id"]
            if block["type"] == "tool_result":
                yield "result", block["tool_use_id"]


def tokens(pool: ContextPool, messages: list[Any]) -> int:
    with pool.open() as context:
        return context.count_tokens(messages)


@pytest.mark.parametrize(("call_type", "make"), [("acompletion", turn), ("anthropic_messages", anthropic_turn)])
async def test_the_messages_of_a_long_conversation_fit_by_themselves(call_type: str, make: Any) -> None:
    with new_pool() as pool:
        proxy = Proxy(pool)
        history: list[Any] = [] if call_type == "anthropic_messages" else [{"role": "system", "content": "You read."}]
        for number in range(QUESTIONS):
            history += make(number)
            sent = await proxy.send([*history, {"role": "user", "content": "Go on."}], call_type)
            assert sent["temperature"] == 0.5
            assert unpaired(pairs(sent["messages"])) == set()
            assert all(message in history for message in sent["messages"][-3:-1])
            history.append({"role": "user", "content": "Go on."})
            history.append({"role": "assistant", "content": f"Done {number}."})
        assert len(sent["messages"]) < len(history) / 2
        assert tokens(pool, [m for m in sent["messages"] if m["role"] in ("user", "assistant")]) < WINDOW


def texts(messages: list[Any]) -> Iterator[Any]:
    for message in messages:
        content = message["content"]
        yield from (block.get("text") for block in content) if isinstance(content, list) else (content,)


async def ask_by_chat(messages: list[Any], **options: Any) -> str:
    tool = {"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}}
    chunks = await litellm.acompletion(model="openai/gpt-4o", messages=messages, stream=True, tools=[tool], **options)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in chunks if chunk.choices])


async def ask_by_messages(messages: list[Any], **options: Any) -> str:
    tool = {"name": "read", "input_schema": {"type": "object"}}
    model = "anthropic/claude-sonnet-5-5"
    chunks = await litellm.anthropic_messages(model=model, messages=messages, stream=True, tools=[tool], **options)
    sent = b"".join([chunk async for chunk in chunks]).decode()
    events = (json.loads(line.removeprefix("data: ")) for line in sent.splitlines() if line.startswith("data: "))
    return "".join(event["delta"].get("text", "") for event in events if event["type"] == "content_block_delta")


@pytest.mark.parametrize(
    ("call_type", "make", "dialect", "ask"),
    [
        ("acompletion", turn, ChatWire(), ask_by_chat),
        ("anthropic_messages", anthropic_turn, AnthropicWire(), ask_by_messages),
    ],
)
async def test_what_was_sent_goes_on_in_another_process_with_its_summary_and_no_provider_refuses_it(
    call_type: str, make: Any, dialect: Any, ask: Any
) -> None:
    numbers: list[int] = []
    sent: list[Any] = []
    async with WireServer(dialect, lambda _: say("Noted.")).serving() as server:
        options = {"api_base": server.base_url, "api_key": "sk-1", "max_tokens": 100}
        for begin in range(0, 3 * QUESTIONS, QUESTIONS):
            given = [message for number in range(begin, begin + QUESTIONS) for message in make(number)]
            question = {"role": "user", "content": f"Go on with {begin}."}
            with new_pool() as pool:
                sent = (await Proxy(pool).send([*sent, *given, question], call_type))["messages"]
            assert await ask(sent, **options) == "Noted."
            assert sent[-1] == question
            assert unpaired(pairs(sent)) == set()
            numbers += compaction_numbers(texts(sent))
            sent = [*sent, {"role": "assistant", "content": "Noted."}]
        assert [each.violations for each in server.asked] == [[]] * 3
    assert len(numbers) == 3, "one summary in each request"
    assert numbers[0] < numbers[1] < numbers[2]


async def test_other_requests_and_other_models_pass_unread() -> None:
    messages = [message for number in range(QUESTIONS) for message in turn(number)]
    with new_pool() as pool:
        proxy = Proxy({"another": pool})
        assert (await proxy.send(messages))["messages"] == messages
        proxy = Proxy(pool)
        assert (await proxy.send(messages, "aembedding"))["messages"] == messages
        assert len(await pool.look(lambda workspace: workspace.ports.store.list())) == 0


async def test_a_session_belongs_to_its_key() -> None:
    with new_pool() as pool:
        for key in ("sk-1", "sk-2"):
            sent = await Proxy(pool, key).send([{"role": "user", "content": key}], metadata={"session_id": "same"})
            assert sent["messages"] == [{"role": "user", "content": key}]
        listed = await pool.look(lambda workspace: workspace.ports.store.list())
        assert [session.messages for session in listed] == [1, 1]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
PARTS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}, TEXT),
        st.builds(lambda text: {"type": "image_url", "image_url": {"url": f"https://ullage.invalid/{text}"}}, TEXT),
        st.builds(lambda text: {"type": "invented", "value": text}, TEXT),
    ),
    min_size=1,
    max_size=3,
)
HISTORIES = st.lists(
    st.one_of(
        st.builds(
            lambda content, role: [{"role": role, "content": content, "name": "n"}],
            TEXT | PARTS,
            st.sampled_from(["user", "system", "developer"]),
        ),
        st.builds(lambda text: [{"role": "assistant", "content": text, "reasoning_content": text}], TEXT),
        st.integers(0, 99).map(turn),
    ),
    min_size=1,
    max_size=5,
).map(lambda groups: [message for group in groups for message in group])


@settings(deadline=None, max_examples=15)
@given(HISTORIES, st.data())
async def test_messages_pass_as_they_are_in_any_order_of_requests(history: list[Any], data: Any) -> None:
    with new_pool(100_000) as pool:
        proxy = Proxy(pool)
        for _ in range(3):
            upto = data.draw(st.integers(1, len(history)))
            sent = await proxy.send(history[:upto], metadata={"session_id": "s"})
            assert json.dumps(sent["messages"]) == json.dumps(history[:upto])


async def test_the_example_of_the_guide_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def pool_here(model: str, store: str) -> ContextPool:
        return ContextPool(model, store=tmp_path / store.rpartition("/")[2])

    monkeypatch.setattr("ullage.ContextPool", pool_here, raising=False)
    names = await run_example("The proxy of LiteLLM")
    assert isinstance(names["context"], litellm.integrations.custom_logger.CustomLogger)
