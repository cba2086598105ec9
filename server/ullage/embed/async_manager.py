"""`ContextManager` for programs with an event loop: the same methods and figures, awaited."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from ullage.embed.context_tracker import ContextTracker
from ullage.embed.keywords import checked
from ullage.embed.managed import MESSAGES, ManagedContext, System
from ullage.embed.manager import ContextManager
from ullage.embed.model_limits import ContextBudget
from ullage.embed.returned_values import CompactionResult, ContextStats, SearchResults
from ullage.service.archive import undo as history
from ullage.service.archive.undo import HistoryEntry
from ullage.service.compact import by_hand
from ullage.service.conversation.checkpoints import Checkpoint
from ullage.service.conversation.conversation import Conversation
from ullage.transcript.fold import EditInfo

T = TypeVar("T")


class Awaited(Generic[T]):
    """A value that is found out when it is awaited. Calling it gives it again, so that `await manager.token_usage()` is
    the same."""

    def __init__(self, find: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._find = find

    def __await__(self) -> Generator[Any, None, T]:
        return self._find().__await__()

    def __call__(self) -> Self:
        return self


@checked
class AsyncContextManager(ManagedContext):
    """Does what `ContextManager` does, with the same options and results, in a program with an event loop: nothing
    blocks the loop, and any number of tasks may use one manager. `llm`, if it is a coroutine function, runs in the loop
    of the task that awaits the compaction.

    Making one opens the store, which blocks for some milliseconds.
    """

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the store, as `ContextManager.close` does."""
        if self._owns_host:
            await asyncio.to_thread(self._host.close)
        else:
            await self._host.await_call(lambda _: self._released())

    async def add_message(self, *messages: Any, usage: Any = None) -> tuple[str, ...]:
        """Appends messages, and returns their ids."""
        return await self._host.wait_for(self._appended(messages, usage))

    async def update_usage(self, usage: Any) -> None:
        """Records the usage that the provider reported with the last answer."""
        await self._host.wait_for(self._reported(usage))

    async def set_system_prompt(self, system: System) -> None:
        """Replaces the system prompt."""
        await self._with(partial(self._with_system_prompt, system))

    async def set_tools(self, tools: Sequence[Any]) -> None:
        """Replaces the tools that the model is offered."""
        await self._with(partial(self._with_tools, tools))

    async def get_messages(self) -> list[dict[str, Any]]:
        """Returns every message that was ever added."""
        return await self._with(self._said)

    async def get_context_for_request(self) -> list[dict[str, Any]]:
        """Returns the messages to send next. Makes room first if that is due."""
        return (await self.get_request())[MESSAGES[self.provider]]

    async def get_request(self) -> dict[str, Any]:
        """Returns the arguments of the next call of the provider. Makes room first if that is due."""
        return await self._host.wait_for(self._requested())

    async def needs_compaction(self) -> bool:
        """Returns whether the context has reached the compaction threshold."""
        return await self._with(self._is_due)

    async def compact_if_needed(self) -> CompactionResult | None:
        """Makes room if that is due. Returns what was done, or None."""
        return await self._host.wait_for(self._shrunk())

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compacts the context now. `focus` is what the summary must keep above all. Raises `NothingToCompact`."""
        return await self._host.wait_for(self._compacted(focus))

    async def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        """Undoes an edit, or the last one, with the other edits of the same action. Returns the undone edits."""
        return await self._with(partial(self._undone, edit_id))

    async def history(self) -> tuple[HistoryEntry, ...]:
        """Returns every edit that was ever made, undone ones included, oldest first."""
        return await self._with(history.history)

    async def restore(
        self, *, timestamp: int | str | None = None, message_id: str | None = None, edit_id: str | None = None
    ) -> tuple[EditInfo, ...]:
        """Undoes and redoes edits so that those in force are those at an earlier place. Returns the changed edits."""
        place = Checkpoint(timestamp=timestamp, message_id=message_id, edit_id=edit_id)
        return (await self._with(lambda conversation: history.restore(conversation, place))).edits

    async def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Pins a message, so that every edit keeps it verbatim, or unpins it. Raises `MessageNotFound`."""
        await self._with(lambda conversation: by_hand.pin(conversation, message_id, pinned=pinned))

    async def search(self, query: str, limit: int = 10) -> SearchResults:
        """Returns at most `limit` messages that match `query`, among all messages ever added."""
        return await self._host.wait_for(self._found(query, limit))

    async def get_stats(self) -> ContextStats:
        """Returns all figures about the context's size, in tokens."""
        return await self._with(self._stats)

    @staticmethod
    def get_context_limit(model: str) -> int | None:
        """Returns the longest prompt of any model, in tokens, or None if the catalog does not know the model."""
        return ContextManager.get_context_limit(model)

    @property
    def token_usage(self) -> "Awaited[int]":
        """The tokens in the context: `await manager.token_usage`."""
        return Awaited(lambda: self._with(lambda conversation: conversation.used))

    @property
    def available_tokens(self) -> "Awaited[int]":
        """The tokens that are still free for messages, without the reserve for the answer."""
        return Awaited(lambda: self._with(self._free))

    @property
    def budget(self) -> "Awaited[ContextBudget]":
        """How the tokens of the window are divided now."""
        return Awaited(lambda: self._with(self._budget))

    @property
    def tracker(self) -> "Awaited[ContextTracker]":
        """A copy of the conversation's tracker."""
        return Awaited(lambda: self._with(self._tracker))

    async def reset(self) -> None:
        """Begins a new conversation with the same model, system prompt and tools."""
        await self._with(self._begun_anew)

    async def _with(self, work: Callable[[Conversation], T]) -> T:
        """Calls a plain function with the conversation, in the host's thread, and returns its result."""
        return await self._host.await_call(partial(self._on_conversation, work))
