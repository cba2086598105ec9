"""An adapter reads a conversation for a summary in the time until the framework's next request."""

import asyncio
from functools import partial

from support.fill import EXCHANGES_BELOW_WARNING, prompt, reply
from support.workspace import PATIENCE
from ullage.embed.adapters.framework_messages import Given, Mirror
from ullage.embed.adapters.openai_agents import UllageSession
from ullage.embed.manager import ContextPool
from ullage.service.conversation.conversation import Conversation

# Tokens. The messages below take more than half of what this window holds before a compaction.
WINDOW = 8_192


def said(role: str, text: str) -> Given:
    raw = {"role": role, "content": text}
    return Given(id=text[:20], raw=raw, read=[raw])


def exchanges(count: int) -> list[Given]:
    return [one for number in range(count) for one in (said("user", prompt(number)), said("assistant", reply(number)))]


async def read_to(conversation: Conversation) -> int:
    """Waits until nothing is left to read, and returns how many messages were read ahead."""
    while conversation.work.reading is not None:
        _, unread = await asyncio.wait([conversation.work.reading], timeout=PATIENCE)
        assert not unread
    return conversation.guards.read_to


async def test_a_frameworks_messages_are_read_once_they_are_taken_over() -> None:
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        given = exchanges(EXCHANGES_BELOW_WARNING)
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
        assert len(shown) == len(given)
        assert await pool.wait_for("s", read_to) == len(given)


async def test_a_short_conversation_of_a_framework_is_not_read() -> None:
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        await pool.wait_for("s", partial(Mirror("framework").fit, exchanges(1)))
        assert await pool.wait_for("s", read_to) == 0


async def test_the_items_of_an_agents_session_are_read_once_they_are_added() -> None:
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        items = [one.raw for one in exchanges(EXCHANGES_BELOW_WARNING)]
        await UllageSession("s", pool).add_items(items)
        assert await pool.wait_for("s", read_to) == len(items)
