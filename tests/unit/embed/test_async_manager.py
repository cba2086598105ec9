"""`AsyncContextManager` is `ContextManager` awaited, and both may be used from many places at once."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from threading import Thread
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.faults import Faults, FaultyStore, Held
from ullage import AsyncContextManager, CompactionResult, ContextManager, ContextPool, SummaryTask
from ullage.model.errors import MessageNotFound, StoreUnavailable, UllageError
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionStore

WINDOW = 4_000
MESSAGES = [
    {"role": "user" if number % 2 == 0 else "assistant", "content": f"Part {number}: " + "fog and rain. " * 60}
    for number in range(40)
]
# Of each pair the name of a method, and its arguments.
CALLS = st.lists(
    st.one_of(
        st.integers(0, 34).map(lambda at: ("add_message", tuple(MESSAGES[at : at + 6]))),
        st.sampled_from(
            [
                ("compact_if_needed", ()),
                ("get_request", ()),
                ("get_messages", ()),
                ("undo", ()),
                ("needs_compaction", ()),
                ("token_usage", ()),
                ("available_tokens", ()),
                ("set_system_prompt", ("You tell stories.",)),
                ("search", ("fog",)),
                ("reset", ()),
            ]
        ),
    ),
    min_size=1,
    max_size=12,
)


def plainly(context: ContextManager, name: str, args: tuple[Any, ...]) -> Any:
    found = getattr(context, f"{name}_sync", None) or getattr(context, name)
    return found(*args) if callable(found) else found


def told(value: Any) -> Any:
    """What is equal in two conversations: ids and times are their own."""
    if isinstance(value, CompactionResult):
        return (len(value.messages), len(value.removed), value.saved_tokens)
    return len(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value


@settings(deadline=None, max_examples=15)
@given(CALLS)
async def test_the_same_calls_give_the_same_results_and_the_same_state(calls: list[Any]) -> None:
    with ContextManager("gpt-4o", window=WINDOW) as plain:
        async with AsyncContextManager("gpt-4o", window=WINDOW) as context:
            for name, args in calls:
                assert told(await getattr(context, name)(*args)) == told(plainly(plain, name, args)), name
            assert await context.get_messages() == plain.get_messages()
            assert await context.get_context_for_request() == plain.get_context_for_request()
            assert [edit.kind for edit in await context.history()] == [edit.kind for edit in plain.history()]
            assert await context.token_usage == plain.token_usage
            assert (await context.get_stats()).used == plain.get_stats().used


def test_both_have_the_same_methods_and_options() -> None:
    def public(kind: type) -> set[str]:
        return {name.removesuffix("_sync") for name in dir(kind) if not name.startswith("_")}

    assert public(ContextManager) == public(AsyncContextManager)
    for name in public(ContextManager):
        plain, awaited = (inspect.getattr_static(kind, name) for kind in (ContextManager, AsyncContextManager))
        assert hasattr(plain, "fget") == hasattr(awaited, "fget"), name
        assert plain.__doc__ == awaited.__doc__ or name == "close", name
    options = [list(inspect.signature(kind.__init__).parameters) for kind in (ContextManager, AsyncContextManager)]
    assert options[0] == options[1]


def appended(texts: list[str], usage: int, parts: int) -> None:
    assert sorted(texts) == sorted(f"{place}-{number}" for place in range(parts) for number in range(20))
    with ContextManager("gpt-4o") as alone:
        alone.add_message(*({"role": "user", "content": text} for text in texts))
        assert usage == alone.token_usage


def test_what_eight_threads_append_is_there_once_and_the_figure_is_right() -> None:
    with ContextManager("gpt-4o") as context:

        def work(place: int) -> None:
            for number in range(20):
                context.add_message({"role": "user", "content": f"{place}-{number}"})
                assert context.token_usage > 0

        threads = [Thread(target=work, args=(place,)) for place in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        texts = [message["content"] for message in context.get_messages()]
        appended(texts, context.token_usage, 8)
        for place in range(8):
            assert [text for text in texts if text.startswith(f"{place}-")] == [f"{place}-{n}" for n in range(20)]


@pytest.mark.no_cover
async def test_what_a_hundred_tasks_append_is_there_once_and_the_figure_is_right() -> None:
    async with AsyncContextManager("gpt-4o") as context:

        async def work(place: int) -> None:
            for number in range(20):
                await context.add_message({"role": "user", "content": f"{place}-{number}"})

        await asyncio.gather(*map(work, range(100)))
        texts = [message["content"] for message in await context.get_messages()]
        appended(texts, await context.token_usage(), 100)


async def test_the_loop_goes_on_while_a_summary_is_written_in_it() -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def summarize(_: SummaryTask) -> str:
        asked.set()
        await may_answer.wait()
        return "A ship in fog."

    async with AsyncContextManager("gpt-4o", window=WINDOW, llm=summarize) as context:
        await context.add_message(*MESSAGES[:20])
        compacting = asyncio.create_task(context.compact())
        async with asyncio.timeout(60):
            await asked.wait()
            # Others use the conversation meanwhile, and come back to their own loop.
            assert await context.token_usage() > 0
            may_answer.set()
            assert "A ship in fog." in (await compacting).summary


def test_each_thread_has_its_own_loop_for_its_models() -> None:
    loops: list[bool] = []

    def run(work: Callable[[], Coroutine[Any, Any, None]]) -> Thread:
        thread = Thread(target=lambda: asyncio.run(work()))
        thread.start()
        return thread

    async def talk() -> None:
        here = asyncio.get_running_loop()

        async def summarize(_: SummaryTask) -> str:
            loops.append(asyncio.get_running_loop() is here)
            return "A ship in fog."

        async with AsyncContextManager("gpt-4o", window=WINDOW, llm=summarize) as context:
            await context.add_message(*MESSAGES[:20])
            await context.compact()

    for thread in [run(talk) for _ in range(4)]:
        thread.join()
    assert loops == [True] * 4


async def test_an_unknown_option_is_named() -> None:
    with pytest.raises(TypeError, match="did you mean 'window'"):
        AsyncContextManager("gpt-4o", windows=5)  # pyright: ignore[reportCallIssue]


# A program's method that raises leaves the conversation as it was, whichever call of the store fails


Use = Callable[[AsyncContextManager], Awaitable[object]]
TALK = [{"role": role, "content": f"{at}: fog and rain " * 60} for at, role in enumerate(("user", "assistant") * 10)]
TOOLS = [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]
_USAGE = {"prompt_tokens": 5_000, "completion_tokens": 9}
_MOST_STEPS = 200


async def _pin(context: AsyncContextManager) -> None:
    for hit in await context.search("fog"):
        # Others are archived.
        with suppress(MessageNotFound):
            await context.pin(hit.message_id)
            return
    raise AssertionError


CHANGING: dict[str, Use] = {
    "add_message": lambda context: context.add_message(
        *TALK[:1], {"role": "assistant", "content": "Yes."}, usage=_USAGE
    ),
    "update_usage": lambda context: context.update_usage(_USAGE),
    "set_system_prompt": lambda context: context.set_system_prompt("Be careful."),
    "set_tools": lambda context: context.set_tools(TOOLS),
    "get_context_for_request": lambda context: context.get_context_for_request(),
    "get_request": lambda context: context.get_request(),
    "compact": lambda context: context.compact(),
    "compact_if_needed": lambda context: context.compact_if_needed(),
    "undo": lambda context: context.undo(),
    "restore": lambda context: context.restore(timestamp=0),
    "pin": _pin,
    "reset": lambda context: context.reset(),
}
WRONG: tuple[Use, ...] = (
    lambda context: context.add_message(*TALK[:2], {"role": "user", "content": 3}),
    lambda context: context.undo("e_none"),
    lambda context: context.pin("m_none"),
    lambda context: context.restore(),
    lambda context: context.restore(timestamp="yesterday"),
)
# Methods that change nothing, or end the use of the conversation.
_OTHERS = {
    *("get_messages", "needs_compaction", "history", "search", "get_stats", "token_usage", "available_tokens", "close"),
    *("count_tokens", "of", "strategy", "compactor", "get_context_limit", "budget", "tracker"),
}


async def talk(pool: ContextPool) -> AsyncContextManager:
    """Begins a conversation with a system prompt that was compacted once."""
    context = await pool.open_async("a", system="Be brief.")
    await context.add_message(*TALK)
    await context.compact()
    await context.add_message(*TALK[:6])
    return context


def _failing(faults: Faults) -> Callable[[Workspace], SessionStore]:
    """Returns what has the store of a workspace fail as `faults` says, and returns the store itself."""

    def put(workspace: Workspace) -> SessionStore:
        inner = workspace.ports.store
        workspace.ports = replace(workspace.ports, store=FaultyStore(faults, inner).as_store)
        return inner

    return put


def test_every_method_of_a_manager_is_in_the_table() -> None:
    names = {name for name in dir(AsyncContextManager) if not name.startswith("_")}
    assert names == {*CHANGING, *_OTHERS}
    plain = {name.removesuffix("_sync") for name in dir(ContextManager) if not name.startswith("_")}
    assert plain == names


@pytest.mark.parametrize("name", CHANGING)
async def test_a_store_that_fails_at_any_call_leaves_the_conversation_as_it_was(name: str) -> None:
    for step in range(1, _MOST_STEPS):
        faults = Faults()
        with ContextPool("gpt-4o", window=12_000) as pool:
            context = await talk(pool)
            inner = await pool.look(_failing(faults))
            before = await pool.look(lambda _, inner=inner: Held.by(inner))
            shown = await context.get_request()
            faults.arm(step)
            try:
                await CHANGING[name](context)
            except StoreUnavailable:
                faults.disarm()
                assert await pool.look(lambda _, inner=inner: Held.by(inner)) == before, faults.fired
                assert await context.get_request() == shown
                await CHANGING[name](context)
            if not faults.fired:
                return
    pytest.fail("the method has more steps")


@pytest.mark.parametrize("wrong", WRONG)
async def test_wrong_values_leave_the_conversation_as_it_was(wrong: Use) -> None:
    with ContextPool("gpt-4o", window=12_000) as pool:
        context = await talk(pool)
        before = await pool.look(lambda workspace: Held.by(workspace.ports.store))
        with pytest.raises(UllageError):
            await wrong(context)
        assert await pool.look(lambda workspace: Held.by(workspace.ports.store)) == before
