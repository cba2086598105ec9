"""Many conversations of one program: one store, one thread, and in memory only those used last."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from ullage.embed.async_manager import AsyncContextManager
from ullage.embed.host import OnUpdate
from ullage.embed.keywords import checked
from ullage.embed.managed import DEFAULTS, NO_EMBEDDINGS, ManagedHost, System, beginning, begun
from ullage.embed.manager import ContextManager
from ullage.embed.summarizer import LLM
from ullage.embed.truncation_strategies import TruncationStrategy
from ullage.formats.provider import Provider
from ullage.model.errors import SessionNotFound
from ullage.model.settings import ContextSettings, SearchSettings, TruncationMode
from ullage.service import sessions
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace

T = TypeVar("T")
# A conversation near its window is some hundred kilobytes in memory, so these are some tens of megabytes.
_OPEN_AT_MOST = 100


@checked
class ContextPool:
    """The conversations of a service. The options are those of `ContextManager` and hold for all conversations.

    At most `open_at_most` conversations are in memory, besides those that a call is using: the ones used longest ago
    are dropped, and read from the store when they are used again. A manager itself holds no messages, so a program may
    keep thousands. Any number of threads and tasks may use a pool. Raises what `ContextManager` raises.
    """

    def __init__(  # noqa: PLR0913 (the options of ContextManager)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        provider: Provider | str | None = None,
        window: int | None = None,
        max_output: int | None = None,
        strategy: TruncationStrategy | None = None,
        context: ContextSettings = DEFAULTS,
        store: Path | str | None = None,
        search: SearchSettings = NO_EMBEDDINGS,
        on_update: OnUpdate | None = None,
        open_at_most: int = _OPEN_AT_MOST,
    ) -> None:
        self.shared = ManagedHost(
            model,
            mode,
            llm,
            provider=provider,
            window=window,
            max_output=max_output,
            strategy=strategy,
            context=context,
            store=store,
            search=search,
            on_update=on_update,
            open_at_most=open_at_most,
        )

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
