"""The context of one conversation, for a program that runs its own agent: for programs without an event loop
(`ContextManager`) and with one (`AsyncContextManager`), and many conversations on one store (`ContextPool`).

Each is the engine that the doors use (log, projection, tracker, edits, summaries) as one plain object; `managed.py` has
what they share. Room is made only when the program calls for it, or requests the messages to send. Methods of
`ContextManager` that may call the program's model are coroutines, with a twin whose name ends in `_sync`.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack

from ullage.catalog import limits as catalog
from ullage.embed.counters import ContextBudget, ContextTracker
from ullage.embed.host import CompactionResult, ContextStats, SearchResults
from ullage.embed.managed import (
    ManagedContext,
    ManagedHost,
    Options,
    System,
    beginning,
    begun,
)
from ullage.embed.messages import checked
from ullage.embed.summarizer import LLM
from ullage.formats.provider import MESSAGES, Provider
from ullage.model.errors import SessionNotFound
from ullage.model.settings import Messages, Tokens, TruncationMode
from ullage.service import sessions
from ullage.service.archive import undo as history
from ullage.service.archive.undo import HistoryEntry
from ullage.service.compact import by_hand
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.transcript.fold import EditInfo

T = TypeVar("T")


@checked
class ContextManager(ManagedContext):
    """Keeps one conversation in a model's window: takes its messages in a provider's format, and returns the messages
    to send next in the same format.

    - `model` decides how tokens are counted and how many fit. `window` and `max_output`, in tokens, replace the
      catalog's figures.
    - `mode` is how room is made: by a summary, or by dropping whole messages. `strategy` chooses the messages that are
      dropped; it may be a strategy of the program's own.
    - `llm` writes the summaries: a function of a `SummaryTask`, which may be a coroutine function, or an object with
      `ainvoke(text)` or `invoke(text)`. Without it, or if it fails, summaries are composed by code.
    - `provider` is `anthropic` (Messages), `openai` (Chat Completions) or `openai-responses`. Without it, the model's
      name decides. It may also be given in place of `mode`.
    - `system` and `tools` are the system prompt and the tools of a new conversation. The prompt is a text, or a list of
      the provider's content blocks, for example with `cache_control`. Both are sent as they were given.
    - `context` contains the thresholds.
    - `store` is the file in which the conversation is stored, or the address of a PostgreSQL database
      (`postgresql://…`, with the extra `postgres`), or None for a temporary file. `session_id` continues a conversation
      in that store. With `offline`, a database that can't be reached is no error: the conversation is continued in
      a copy in the user's data folder and sent when the database is back, in this process or in the next one.
    - `search` names an embeddings server that orders what `search()` finds by its meaning, too.
    - `on_update` is called in another thread with the session id and each update, warnings included. It may call the
      manager, whose methods return after it has returned. Its errors are logged.

    Any number of threads may use one manager. Raises `WindowUnknown` if neither the catalog nor `window` gives the
    model's window, `SessionNotFound` if the store has no conversation with `session_id`, `InvalidRequest`
    for a value that an option cannot have and for thresholds that contradict each other, and `TypeError` for an unknown
    option.
    """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store, and deletes it if it is temporary. The manager cannot be used afterwards. A manager of a
        `ContextPool` leaves the store open, and only drops its conversation from memory."""
        if self._owns_host:
            self._host.close()
        else:
            self._host.call(lambda _: self._released())

    def add_message(self, *messages: Any, usage: Any = None) -> tuple[str, ...]:
        """Appends messages to the conversation. Makes no room.

        A message is what the provider's API takes or returns (for `openai-responses`, an item), as plain values or as
        an object of the provider's SDK. A whole answer of the API is one, too: its message or items are appended, and
        its usage is recorded. `usage` is the usage that the provider reported with the answer among them. Returns the
        messages' ids. Raises `InvalidRequest` if one is not a message of the provider.
        """
        return self._host.run(self._appended(messages, usage))

    def update_usage(self, usage: Any) -> None:
        """Records the usage, in the provider's own form, that the provider reported with the last answer. Raises
        `InvalidRequest` if it has none of the provider's fields, or if there is no answer yet."""
        self._host.run(self._reported(usage))

    def set_system_prompt(self, system: System) -> None:
        """Replaces the system prompt."""
        self._call(partial(self._with_system_prompt, system))

    def set_tools(self, tools: Sequence[Any]) -> None:
        """Replaces the tools that the model is offered. `tools` are definitions in the provider's format."""
        self._call(partial(self._with_tools, tools))

    def get_messages(self) -> list[dict[str, Any]]:
        """Returns every message that was ever added, archived ones included, as it was given, without system
        prompts."""
        return self._call(self._said)

    def get_context_for_request(self) -> list[dict[str, Any]]:
        """Returns the messages to send next, in the provider's format. Makes room first if that is due, so that the
        request fits.

        For `openai` the system prompt is the first message. The other providers take it separately; `get_request`
        returns it.
        """
        return self.get_request()[MESSAGES[self.provider]]

    def get_request(self) -> dict[str, Any]:
        """Returns what to send next, as arguments of the provider's call (`messages`, `system`, `tools`, …). Makes room
        first if that is due, so that the request fits. Raises `CannotFit`, which says what is too large, if it doesn't.

        In a program with an event loop, await `compact_if_needed` before, because this method blocks while it makes
        room.
        """
        return self._host.run(self._requested())

    def needs_compaction(self) -> bool:
        """Returns whether the context has reached the compaction threshold, at which `compact_if_needed` writes a
        summary or, depending on `mode`, drops messages."""
        return self._call(self._is_due)

    async def compact_if_needed(self) -> CompactionResult | None:
        """Makes room in the context if that is due, by the cheapest edits first. Returns what was done, or None if
        nothing was due or no message may be edited."""
        return await self._host.wait_for(self._shrunk())

    def compact_if_needed_sync(self) -> CompactionResult | None:
        """Does the same as `compact_if_needed`, for a program without an event loop: blocks until the work is done."""
        return self._host.run(self._shrunk())

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compacts the context now, however full it is. Returns what was done. `focus` is what the summary must keep
        above all. Raises `NothingToCompact`."""
        return await self._host.wait_for(self._compacted(focus))

    def compact_sync(self, focus: str = "") -> CompactionResult:
        """Does the same as `compact`, for a program without an event loop: blocks until the work is done."""
        return self._host.run(self._compacted(focus))

    def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        """Undoes the edit `edit_id`, or the last edit if it is None, together with the other edits of the same action.
        Returns the undone edits, or an empty tuple if no edit is in force. Raises `EditNotFound` for an unknown id."""
        return self._call(partial(self._undone, edit_id))

    def history(self) -> tuple[HistoryEntry, ...]:
        """Returns every edit that was ever made, undone ones included, oldest first."""
        return self._call(history.history)

    def restore(
        self, *, timestamp: int | str | None = None, message_id: str | None = None, edit_id: str | None = None
    ) -> tuple[EditInfo, ...]:
        """Undoes and redoes edits so that the edits in force are those at an earlier place: a time (Unix milliseconds
        or ISO 8601), after a message, or after an edit. Give exactly one of the three.

        Messages and pins are not changed. Returns the edits that were undone or redone. Raises `InvalidRequest` unless
        exactly one place is given, `EditNotFound` and `MessageNotFound`.
        """
        return self._call(partial(self._restored, timestamp=timestamp, message_id=message_id, edit_id=edit_id))

    def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Pins a message, so that every edit keeps it verbatim, or unpins it if `pinned` is false. Raises
        `MessageNotFound`."""
        self._call(lambda conversation: by_hand.pin(conversation, message_id, pinned=pinned))

    def search(self, query: str, limit: Messages = 10) -> SearchResults:
        """Returns at most `limit` messages that match `query`, among all messages ever added, archived ones
        included."""
        return self._host.run(self._found(query, limit))

    def get_stats(self) -> ContextStats:
        """Returns all figures about the context's size, in tokens."""
        return self._call(self._stats)

    @staticmethod
    def get_context_limit(model: str) -> int | None:
        """Returns the longest prompt of any model, in tokens, or None if the catalog does not know the model."""
        return catalog.ContextLimits.for_model(model).input

    @property
    def token_usage(self) -> int:
        """The tokens in the context."""
        return self._call(lambda conversation: conversation.used)

    @property
    def available_tokens(self) -> int:
        """The tokens that are still free for messages, without the reserve for the answer."""
        return self._call(self._free)

    @property
    def budget(self) -> ContextBudget:
        """How the tokens of the window are divided now: system prompt, conversation, tools and the reserve for the
        answer."""
        return self._call(self._budget)

    @property
    def tracker(self) -> ContextTracker:
        """A copy of the conversation's tracker, which counts how full the context is now. Messages added to the copy
        are not added to the conversation."""
        return self._call(self._tracker)

    def reset(self) -> None:
        """Begins a new conversation with the same model, system prompt and tools. The former conversation remains in
        the store."""
        self._call(self._begun_anew)

    def _call(self, work: Callable[[Conversation], T]) -> T:
        """Calls a plain function with the conversation, in the host's thread, and returns its result."""
        return self._host.call(partial(self._on_conversation, work))


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
        if self._owns_host:
            await asyncio.to_thread(self._host.close)
        else:
            await self._host.await_call(lambda _: self._released())

    async def add_message(self, *messages: Any, usage: Any = None) -> tuple[str, ...]:
        return await self._host.wait_for(self._appended(messages, usage))

    async def update_usage(self, usage: Any) -> None:
        await self._host.wait_for(self._reported(usage))

    async def set_system_prompt(self, system: System) -> None:
        await self._with(partial(self._with_system_prompt, system))

    async def set_tools(self, tools: Sequence[Any]) -> None:
        await self._with(partial(self._with_tools, tools))

    async def get_messages(self) -> list[dict[str, Any]]:
        return await self._with(self._said)

    async def get_context_for_request(self) -> list[dict[str, Any]]:
        return (await self.get_request())[MESSAGES[self.provider]]

    async def get_request(self) -> dict[str, Any]:
        return await self._host.wait_for(self._requested())

    async def needs_compaction(self) -> bool:
        return await self._with(self._is_due)

    async def compact_if_needed(self) -> CompactionResult | None:
        return await self._host.wait_for(self._shrunk())

    async def compact(self, focus: str = "") -> CompactionResult:
        return await self._host.wait_for(self._compacted(focus))

    async def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        return await self._with(partial(self._undone, edit_id))

    async def history(self) -> tuple[HistoryEntry, ...]:
        return await self._with(history.history)

    async def restore(
        self, *, timestamp: int | str | None = None, message_id: str | None = None, edit_id: str | None = None
    ) -> tuple[EditInfo, ...]:
        return await self._with(partial(self._restored, timestamp=timestamp, message_id=message_id, edit_id=edit_id))

    async def pin(self, message_id: str, *, pinned: bool = True) -> None:
        await self._with(lambda conversation: by_hand.pin(conversation, message_id, pinned=pinned))

    async def search(self, query: str, limit: Messages = 10) -> SearchResults:
        return await self._host.wait_for(self._found(query, limit))

    async def get_stats(self) -> ContextStats:
        return await self._with(self._stats)

    @staticmethod
    def get_context_limit(model: str) -> int | None:
        return ContextManager.get_context_limit(model)

    @property
    def token_usage(self) -> "Awaited[int]":
        return Awaited(lambda: self._with(lambda conversation: conversation.used))

    @property
    def available_tokens(self) -> "Awaited[int]":
        return Awaited(lambda: self._with(self._free))

    @property
    def budget(self) -> "Awaited[ContextBudget]":
        return Awaited(lambda: self._with(self._budget))

    @property
    def tracker(self) -> "Awaited[ContextTracker]":
        return Awaited(lambda: self._with(self._tracker))

    async def reset(self) -> None:
        await self._with(self._begun_anew)

    async def _with(self, work: Callable[[Conversation], T]) -> T:
        """Calls a plain function with the conversation, in the host's thread, and returns its result."""
        return await self._host.await_call(partial(self._on_conversation, work))


for _name, _twin in vars(AsyncContextManager).items():
    if not _name.startswith("_"):
        _twin.__doc__ = inspect.getdoc(getattr(ContextManager, _name))


# A conversation near its window is some hundred kilobytes in memory, so these are some tens of megabytes.
_OPEN_AT_MOST = 100


@checked
class ContextPool:
    """The conversations of a service. The options are those of `ContextManager` and hold for all conversations.

    At most `open_at_most` conversations are in memory, besides those that a call is using: the ones used longest ago
    are dropped, and read from the store when they are used again. A manager itself holds no messages, so a program may
    keep thousands. Any number of threads and tasks may use a pool. Raises what `ContextManager` raises.
    """

    def __init__(
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        open_at_most: Tokens = _OPEN_AT_MOST,
        **options: Unpack[Options],
    ) -> None:
        self.shared = ManagedHost(model, mode, llm, open_at_most=open_at_most, **options)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store, and deletes it if it is temporary. The managers cannot be used afterwards."""
        self.shared.host.close()

    def open(self, session_id: str = "", *, system: System = "", tools: Sequence[Any] = ()) -> ContextManager:
        """Returns a manager of the conversation with this id, which is begun if the store has none; of a new one if
        `session_id` is empty. `system` and `tools` are those of a conversation that is begun."""
        return ContextManager.of(self.shared, self.shared.host.call(beginning(self.shared, session_id, system, tools)))

    async def open_async(
        self, session_id: str = "", *, system: System = "", tools: Sequence[Any] = ()
    ) -> AsyncContextManager:
        """Does the same as `open`, for a program with an event loop."""
        new_id = await self.shared.host.await_call(beginning(self.shared, session_id, system, tools))
        return AsyncContextManager.of(self.shared, new_id)

    def run(self, session_id: str, work: Callable[[Conversation], Awaitable[T]]) -> T:
        """Runs work on the conversation with this id, which is begun if the store has none, in the pool's thread.
        Blocks until its result, which it returns."""
        return self.shared.host.run(self._within(session_id, work))

    async def wait_for(self, session_id: str, work: Callable[[Conversation], Awaitable[T]]) -> T:
        """Does the same as `run`, for a program with an event loop."""
        return await self.shared.host.wait_for(self._within(session_id, work))

    async def look(self, work: Callable[[Workspace], T]) -> T:
        """Calls a plain function with the pool's workspace, in its thread, and returns its result."""
        return await self.shared.host.await_call(work)

    async def delete(self, session_id: str) -> None:
        """Deletes a conversation from the store. Does nothing if there is none with this id."""
        with suppress(SessionNotFound):
            await self.shared.host.wait_for(sessions.delete_session(self.shared.host.workspace, session_id))

    @property
    def held(self) -> int:
        """The number of conversations that are in memory now."""
        return self.shared.host.call(lambda workspace: len(workspace.conversations))

    async def _within(self, session_id: str, work: Callable[[Conversation], Awaitable[T]]) -> T:
        host = self.shared.host
        begun(self.shared, session_id, "", (), host.workspace)
        with host.using(session_id) as conversation:
            return await work(conversation)
