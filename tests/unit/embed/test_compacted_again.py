"""Law: a list that was compacted may be compacted again, by another process and at every door. Its summary continues
with its number, and the numbers of messages continue."""

import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest

from ullage import ContextCompactor, ContextManager, ContextPool, get_counter
from ullage.embed.adapters.framework_messages import Given, Mirror
from ullage.embed.adapters.openai_agents import UllageSession
from ullage.formats.provider import Provider

Json = dict[str, Any]
WINDOW = 8_000
TURNS, ROUNDS = 20, 3
_HEAD = re.compile(r"\[Compaction (\d+): (\d+) earlier messages are archived\.")


def turns(begin: int) -> list[Json]:
    return [
        message
        for number in range(begin, begin + TURNS)
        for message in (
            {"role": "user", "content": f"Round value_{number} in file_{number}.py. " + "Why is that so? " * 60},
            {"role": "assistant", "content": f"I changed file_{number}.py. " + "Because. " * 100},
        )
    ]


def by_manager(provider: Provider) -> Callable[[list[Json]], Awaitable[list[Json]]]:
    async def compact(messages: list[Json]) -> list[Json]:
        with ContextManager("gpt-4o", provider=provider, window=WINDOW) as manager:
            for message in messages:
                manager.add_message(message)
            assert manager.get_messages() == messages
            return manager.get_request()["input" if provider is Provider.OPENAI_RESPONSES else "messages"]

    return compact


async def by_compactor(messages: list[Json]) -> list[Json]:
    return await ContextCompactor().compact(messages, 4_000, get_counter("gpt-4o"))


async def by_adapter(messages: list[Json]) -> list[Json]:
    given = [Given(id=f"{at}-{len(messages)}", raw=message, read=[message]) for at, message in enumerate(messages)]
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
    return [message for one in shown for message in one.changed or [one.raw or {}]]


async def by_agents_session(items: list[Json]) -> list[Json]:
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        session = UllageSession("s", pool)
        await session.add_items(items)
        return await session.get_items()


DOORS: dict[str, Callable[[list[Json]], Awaitable[list[Json]]]] = {
    **{f"manager-{provider}": by_manager(provider) for provider in Provider},
    "compactor": by_compactor,
    "adapter": by_adapter,
    "agents-session": by_agents_session,
}


@pytest.mark.parametrize("door", DOORS)
async def test_a_compacted_list_is_compacted_again_with_its_number_and_numbers(door: str) -> None:
    compact = DOORS[door]
    messages: list[Json] = []
    for number in range(ROUNDS):
        given = turns(number * TURNS)
        messages = await compact([*messages, *given])
        heads = _HEAD.findall(str(messages))
        assert [int(at) for at, _ in heads] == [number + 1], "one summary, with the next number"
        # Every message is archived or in the list.
        assert int(heads[0][1]) == 2 * TURNS * (number + 1) - (len(messages) - 1)
        assert messages[-1] == given[-1]


@pytest.mark.parametrize("door", DOORS)
async def test_a_compacted_list_that_fits_is_left_as_it_is(door: str) -> None:
    messages = await DOORS[door](turns(0))
    assert await DOORS[door](messages) == messages


OF_PROVIDERS: list[tuple[Provider, Json]] = [
    (Provider.OPENAI_RESPONSES, {"type": "compaction", "id": "cmp", "encrypted_content": "gA" * 2_000}),
    (Provider.ANTHROPIC, {"role": "assistant", "content": [{"type": "compaction", "content": "So far: pears."}]}),
]


@pytest.mark.parametrize(("provider", "summary"), OF_PROVIDERS)
def test_a_providers_own_compaction_outlives_every_cut(provider: Provider, summary: Json) -> None:
    with ContextManager("gpt-4o", provider=provider, window=WINDOW) as manager:
        manager.add_message({"role": "user", "content": "Count the trees."}, summary)
        for number in range(0, 3 * TURNS, TURNS):
            for message in turns(number):
                manager.add_message(message)
                assert summary in manager.get_request()["input" if "type" in summary else "messages"]
        assert manager.history()


async def test_a_providers_own_compaction_stays_in_a_session_of_the_agents_sdk() -> None:
    (_, summary), *_ = OF_PROVIDERS
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        session = UllageSession("s", pool)
        await session.add_items([{"role": "user", "content": "Count the trees."}, summary, *turns(0)])
        items = await session.get_items()
        assert summary in items
        assert len(items) < 2 * TURNS


async def test_a_list_of_items_is_recognised_and_no_item_loses_its_partner() -> None:
    items: list[Json] = []
    for number in range(TURNS):
        items += [
            {"role": "user", "content": f"Round value_{number}. " + "Why is that so? " * 60},
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "g" * 400},
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "pear " * 200},
        ]
    left = await by_compactor(items)
    assert len(left) < len(items)
    assert left[-1] == items[-1]
    for at, item in enumerate(left):
        if item.get("type") == "reasoning":
            assert [each["type"] for each in left[at + 1 : at + 3]] == ["function_call", "function_call_output"]


async def test_an_adapters_edit_changes_what_it_names_of_a_providers_message() -> None:
    given: list[Given] = []
    for number in range(TURNS):
        function = {"name": "read", "arguments": "{}"}
        calls = [{"id": f"c{number}", "type": "function", "function": function, "extra": number}]
        messages: list[Json] = [
            {"role": "user", "content": f"Question {number}?", "name": "ann"},
            {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "Hm."},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "pear " * 400, "extra": number},
        ]
        given += [Given(id=f"{number}-{at}", raw=raw, read=[raw]) for at, raw in enumerate(messages)]
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
    cleared = [one.changed[0] for one in shown if one.raw and one.changed and one.raw["role"] == "tool"]
    assert cleared
    for message in cleared:
        raw = next(one.raw for one in given if one.raw.get("tool_call_id") == message["tool_call_id"])
        assert {**message, "content": raw["content"]} == raw
