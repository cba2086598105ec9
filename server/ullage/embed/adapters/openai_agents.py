"""A `Session` for the OpenAI Agents SDK (`openai-agents`).

    session = UllageSession("customer-7", ContextPool("gpt-6.1-sol", store="conversations.db"))
    result = await Runner.run(agent, "Find the rounding mistake.", session=session)

The SDK reads a session at the beginning of a run: room is made then, so that the run begins with a context that fits.
The SDK's own types are not needed: a session is a protocol.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ullage.app.telemetry import compacting, measured
from ullage.embed.adapters.framework_messages import Given, Shown, leave_out, show, to_message
from ullage.embed.counters import plain
from ullage.embed.manager import ContextPool
from ullage.formats.provider import Provider
from ullage.model.events import Event
from ullage.model.json_values import JsonObject
from ullage.service import sessions
from ullage.service.compact.automatic import require_fit, shrink, warn_if_due
from ullage.service.conversation.conversation import Conversation
from ullage.service.summaries.write import read_ahead

_FRAMEWORK = "openai-agents"


class UllageSession:
    """A session of the OpenAI Agents SDK that fits the model's window. Items come back as the SDK gave them, except
    those that a summary or a shortened result replaces.

    `pool.open_async(session_id)` is the same conversation with all that the SDK does not ask for: figures, `undo`,
    `search`, `pin`. `pop_item` and `clear_session` leave items out of the context; they stay in the transcript.
    """

    session_settings: Any = None

    def __init__(self, session_id: str, pool: ContextPool) -> None:
        self.session_id = session_id
        self._pool = pool

    async def get_items(self, limit: int | None = None) -> list[Any]:
        """Returns the items to send next, after making room if that is due. With `limit` only the last so many. Raises
        `CannotFit` if what must stay exceeds the window."""
        items = await self._pool.wait_for(self.session_id, _fitted)
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: Sequence[Any]) -> None:
        """Appends items."""
        given = [plain(item) for item in items]
        await self._pool.wait_for(self.session_id, partial(_added, given))

    async def pop_item(self) -> Any:
        """Leaves the last item out of the context and returns it, or None if there is none."""
        return await self._pool.wait_for(self.session_id, _popped)

    async def clear_session(self) -> None:
        """Leaves all items out of the context."""
        await self._pool.wait_for(self.session_id, _cleared)


async def _fitted(conversation: Conversation) -> list[JsonObject]:
    with compacting(conversation, "automatic"):
        await shrink(conversation)
    require_fit(conversation)
    return [item for shown in _shown(conversation) for item in _items(shown)]


async def _added(items: Sequence[JsonObject], conversation: Conversation, first: Sequence[Event] = ()) -> None:
    ports = conversation.workspace.ports
    given = [Given(id="", raw=one, read=[one], provider=Provider.OPENAI_RESPONSES) for one in items]
    messages = [to_message(one, _FRAMEWORK, ports.ids.new("m"), ports.clock.now()) for one in given]
    made = frozenset(message.id for message in messages)
    # The items may begin with what an earlier session has left.
    left = messages if first else await sessions.append_compacted(conversation, messages)
    await sessions.append(conversation, left, None, made, first)
    warn_if_due(conversation)
    read_ahead(conversation)
    measured(conversation, None)


async def _popped(conversation: Conversation) -> JsonObject | None:
    last = next(reversed(_shown(conversation)), None)
    if last is None:
        return None
    *others, item = _items(last)
    await _added(others, conversation, leave_out(conversation, [last.id]))
    return item


async def _cleared(conversation: Conversation) -> None:
    conversation.record(*leave_out(conversation, [message.id for message in conversation.transcript.view]))


def _shown(conversation: Conversation) -> list[Shown]:
    return list(show(conversation, _FRAMEWORK, Provider.OPENAI_RESPONSES))


def _items(shown: Shown) -> list[JsonObject]:
    if shown.changed or shown.raw is None:
        return list(shown.changed)
    # Sessions of earlier versions have reasoning and what came of it in one message.
    return shown.raw["items"] if shown.raw.keys() == {"items"} else [shown.raw]
