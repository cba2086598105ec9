"""A program's method that raises leaves the conversation as it was, whichever call of the store fails."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from msgspec.structs import replace

from support.faults import Faults, FaultyStore, Held
from ullage import AsyncContextManager, ContextManager, ContextPool
from ullage.model.errors import MessageNotFound, StoreUnavailable, UllageError
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SessionStore

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
