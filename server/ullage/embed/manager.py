"""The context of one conversation, for a program that runs its own agent: for programs without an event loop
(`ContextManager`) and with one (`AsyncContextManager`), and many conversations on one store (`ContextPool`).

Each is the engine that the doors use (log, projection, tracker, edits, summaries) as one plain object. Room is made
only when the program calls for it, or requests the messages to send. `AsyncContextManager` has the work of both. A
method of `ContextManager` blocks until the same work is done; one that may call the program's model is a coroutine,
with a twin whose name ends in `_sync`.
"""

import asyncio
import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack, cast

import msgspec
from msgspec.structs import asdict, replace

from ullage import known_models
from ullage.app.telemetry import compacting, measured, spanned
from ullage.embed.compactors import ContextCompactor, TruncationStrategy, check_strategy, strategy_for, to_engine
from ullage.embed.counters import (
    BaseCounter,
    ContextBudget,
    ContextLimits,
    ContextTracker,
    checked,
    listed,
    plain,
    plain_messages,
    valued,
)
from ullage.embed.host import (
    LLM,
    Changes,
    CompactionResult,
    ContextStats,
    Host,
    OnUpdate,
    OwnSummarizer,
    SearchResults,
    checked_llm,
)
from ullage.formats.parsing import read_usage
from ullage.formats.provider import MESSAGES, Provider, read_definitions, read_events, write_messages, write_request
from ullage.formats.verbatim import other_format, prompt_message, show
from ullage.model.errors import EditNotFound, InvalidRequest, NothingToUndo, SessionNotFound, WindowUnknown
from ullage.model.events import MessageAppended, SessionCreated, UsageReported
from ullage.model.json_values import as_object
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import (
    ContextSettings,
    Messages,
    ModelSettings,
    SearchSettings,
    Settings,
    Tokens,
    TruncationMode,
    check_context,
)
from ullage.model.usage import Usage
from ullage.policy import budget as policy
from ullage.policy.budget import after_turn
from ullage.service import sessions
from ullage.service.archive import undo as history
from ullage.service.archive.search import search
from ullage.service.archive.undo import HistoryEntry
from ullage.service.compact import by_hand
from ullage.service.compact.automatic import require_fit, shrink, warn_if_due
from ullage.service.conversation.conversation import Checkpoint, Conversation, transcript_page
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.write import read_ahead
from ullage.transcript.fold import EditInfo

_log = logging.getLogger(__name__)
T = TypeVar("T")
P = ParamSpec("P")
# A system prompt: a text, or content blocks of the provider's format.
System = str | Sequence[Mapping[str, Any]]
# A method that does a manager's work, in the host's thread.
Work = Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]
DEFAULTS = ContextSettings()
NO_EMBEDDINGS = SearchSettings()


class Options(TypedDict, total=False):
    """The options that all conversations of a store share, by name. `ContextManager` says what they mean."""

    provider: Provider | str | None
    window: Tokens | None
    max_output: Tokens | None
    strategy: TruncationStrategy | None
    context: ContextSettings
    store: Path | str | None
    search: SearchSettings
    on_update: OnUpdate | None
    offline: bool


class ManagedHost:
    """A store with the options (and errors) of `ContextManager` that all its conversations share."""

    @valued
    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        provider: Provider | str | None = None,
        window: Tokens | None = None,
        max_output: Tokens | None = None,
        strategy: TruncationStrategy | None = None,
        context: ContextSettings = DEFAULTS,
        store: Path | str | None = None,
        search: SearchSettings = NO_EMBEDDINGS,
        on_update: OnUpdate | None = None,
        open_at_most: Tokens = 1,
        offline: bool = False,
    ) -> None:
        check_values(context, search, on_update)
        if mode in tuple(Provider) and provider is None:
            mode, provider = None, Provider(mode)
        self.model = model
        self.provider = Provider(provider) if provider is not None else _usual_provider(model)
        self.is_guessed = provider is None
        self.mode = _mode(mode, context, strategy)
        self.limits = ContextLimits.for_model(model, window=window, max_output=max_output)
        self.llm = None if llm is None else checked_llm(llm)
        self.strategy = strategy
        check_context(context)
        settings = Settings(
            model=model,
            models={model: ModelSettings(window=window, max_output=max_output)},
            context=replace(context, mode=self.mode, enabled=True),
            search=search,
        )
        summarizer = OwnSummarizer(self.llm, self.provider) if self.llm is not None else None
        self.host = Host(settings, summarizer, store, on_update, open_at_most, offline=offline)
        if strategy is not None:
            check_strategy(strategy)
            own = to_engine(strategy, self.host.workspace.counter(model), partial(write_messages, self.provider))
            self.host.workspace.own_strategy = own


class ManagedContext:
    """What `ContextManager` and `AsyncContextManager` have in common: their options, and one conversation of a host."""

    model: str
    provider: Provider
    mode: TruncationMode
    limits: ContextLimits
    llm: LLM | None
    session_id: str

    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        system: System = "",
        tools: Sequence[Any] = (),
        session_id: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        shared = ManagedHost(model, mode, llm, **options)
        try:
            if session_id:
                shared.host.call(lambda workspace: workspace.ports.store.info(session_id))
            else:
                session_id = shared.host.call(beginning(shared, "", system, tools))
        except BaseException:
            shared.host.close()
            raise
        self._attach(shared, session_id, owns_host=True)

    @classmethod
    def of(cls, shared: ManagedHost, session_id: str) -> Self:
        """Returns a manager of a stored conversation on a host that others use, too."""
        made = cls.__new__(cls)
        made._attach(shared, session_id, owns_host=False)
        return made

    @property
    def strategy(self) -> TruncationStrategy:
        """The strategy that chooses the messages to drop: the given one, otherwise the default of `mode`."""
        return self._strategy or strategy_for(self.mode)

    @property
    def compactor(self) -> ContextCompactor:
        """A new compactor with the same model and `llm`, for lists of messages outside this conversation."""
        return ContextCompactor(self.llm, model=self.model)

    def count_tokens(self, content: Any) -> int:
        """Returns the tokens of a text, a message or a list of messages, by the model's tokenizer."""
        counter = BaseCounter(self._host.workspace.counter(self.model))
        if isinstance(content, str):
            return counter.count(content)
        messages: list[Any] = [content] if isinstance(content, Mapping) else listed("messages", content)
        return counter.count_messages(messages)

    @staticmethod
    def get_context_limit(model: str) -> int | None:
        """Returns the longest prompt of any model, in tokens, or None if the catalog does not know the model."""
        return known_models.ContextLimits.for_model(model).input

    def _attach(self, shared: ManagedHost, session_id: str, *, owns_host: bool) -> None:
        self.model, self.provider, self.mode = shared.model, shared.provider, shared.mode
        self._is_guessed = shared.is_guessed
        self.limits, self.llm, self._strategy = shared.limits, shared.llm, shared.strategy
        self._host, self._owns_host = shared.host, owns_host
        self.session_id = session_id

    def _released(self, _: Workspace) -> None:
        self._host.drop(self.session_id)

    @contextmanager
    def _opened(self) -> Generator[Conversation]:
        with self._host.using(self.session_id) as conversation:
            yield conversation

    def _with_own_id(self, message: Message) -> Message:
        """Returns a message with a new id if another message of the conversation has its id. The id of an answer is the
        server's, and a server that only imitates a provider may give one to several answers, also to equal ones: only
        the last message of the conversation is the same one, given again."""
        ports = self._host.workspace.ports
        found = ports.store.find_message(self.session_id, message.id)
        if found is None or not isinstance(found.event, MessageAppended):
            return message
        known = found.event.message
        with self._host.using(self.session_id) as conversation:
            items = conversation.transcript.items
        is_last = bool(items) and items[-1].message.id == message.id
        is_again = is_last and (known.role, known.content) == (message.role, message.content)
        return message if is_again else replace(message, id=ports.ids.new("m"))

    def _check_guess(self, messages: Sequence[Any]) -> None:
        for number, message in enumerate(messages, start=1):
            other = other_format(self.provider, as_object(message))
            if other is not None:
                raise InvalidRequest(
                    f"message {number} is in the format of {other}, but by the name of {self.model!r} its provider is "
                    f"taken to be {self.provider}; give `provider={other!r}`, or `provider={str(self.provider)!r}` if "
                    "the message is right"
                )

    async def _recorded(self, messages: Sequence[Message], usage: Usage | None) -> tuple[str, ...]:
        with self._opened() as conversation:
            ids = tuple(message.id for message in messages)
            await sessions.append(conversation, await sessions.append_compacted(conversation, messages), usage)
            if usage is not None and conversation.projection.tracker.doubts:
                _log.warning("session %s: a usage of %d tokens is far too small", conversation.id, usage.prompt)
            warn_if_due(conversation)
            if conversation.budget is not None and any(message.role is Role.ASSISTANT for message in messages):
                guards = conversation.guards
                guards.breaker = after_turn(guards.breaker, conversation.used, conversation.budget)
            read_ahead(conversation)
            measured(conversation, usage)
            return ids

    async def _shrunk(self, conversation: Conversation) -> CompactionResult | None:
        await conversation.settled()
        changes = Changes(conversation)
        with compacting(conversation, "automatic"):
            await shrink(conversation)
        return changes.result()

    async def _requested(self) -> dict[str, Any]:
        with self._opened() as conversation:
            await self._shrunk(conversation)
            require_fit(conversation)
            transcript = conversation.transcript
            return write_request(self.provider, transcript.view, transcript.tools)

    def _stats(self, conversation: Conversation) -> ContextStats:
        known, budget = asdict(usage_meta(conversation)), budget_of(conversation)
        age = conversation.workspace.ports.clock.now() - known["oldest_timestamp"]
        return ContextStats(
            used=conversation.used,
            size=budget.window,
            oldest_message_age=age if known["oldest_timestamp"] else None,
            **known,
        )

    async def _used(self) -> int:
        with self._opened() as conversation:
            return conversation.used

    async def _free(self) -> int:
        """The tokens that are still free for messages, without the reserve for the answer."""
        with self._opened() as conversation:
            return budget_of(conversation).available(conversation.used)

    async def _budget(self) -> ContextBudget:
        """How the window is divided now: system prompt, conversation, tools and the reserve for the answer."""
        with self._opened() as conversation:
            stats = self._stats(conversation)
        assert stats.shares is not None, "a manager's window is known"
        return ContextBudget.of(stats.size, stats.used, stats.shares)

    async def _tracker(self) -> ContextTracker:
        """A copy of the conversation's tracker, which counts how full the context is now. Messages added to the copy
        are not added to the conversation."""
        with self._opened() as conversation:
            limits = replace(self.limits, reserved_tokens=budget_of(conversation).reserve)
            return ContextTracker.restore(self.model, limits, conversation.projection.tracker.state)


class Awaited(Generic[T]):
    """A value that is found when it is awaited. Calling it gives it again: `await manager.token_usage()`."""

    def __init__(self, find: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._find = find

    def __await__(self) -> Generator[Any, None, T]:
        return self._find().__await__()

    def __call__(self) -> Self:
        return self


def _awaited(work: Work[P, T]) -> Work[P, T]:
    """A decorator of a manager's method: it runs in the host's thread, and is awaited in the caller's loop."""

    @wraps(work)
    async def awaited(self: Any, *args: P.args, **given: P.kwargs) -> T:
        return await self._host.wait_for(work(self, *args, **given))

    return awaited


def _blocking(method: Work[P, T]) -> Callable[Concatenate[Any, P], T]:
    """Returns a method that does the same as one that is awaited, and blocks until it is done."""
    work: Work[P, T] = inspect.unwrap(method)

    @wraps(work)
    def blocking(self: Any, *args: P.args, **given: P.kwargs) -> T:
        return self._host.run(work(self, *args, **given))

    return blocking


class _Figure(Generic[T]):
    """A property of both managers, of the type that `fget` returns."""

    def __init__(self, fget: Callable[[Any], T]) -> None:
        self.fget, self.__doc__ = fget, fget.__doc__

    def __get__(self, manager: Any, _: type | None = None) -> T:
        return cast("T", self) if manager is None else self.fget(manager)


def _later(find: Work[[], T]) -> Callable[[Any], Awaited[T]]:
    """Returns a function whose result is found out, in the host's thread, when it is awaited."""

    @wraps(find)
    def later(manager: Any) -> Awaited[T]:
        return Awaited(partial(_awaited(find), manager))

    return later


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
        """Closes the store, and deletes it if it is temporary. The manager cannot be used afterwards. A manager of a
        `ContextPool` leaves the store open, and only drops its conversation from memory."""
        if self._owns_host:
            await asyncio.to_thread(self._host.close)
        else:
            await self._host.await_call(self._released)

    @_awaited
    async def add_message(self, *messages: Any, usage: Any = None) -> tuple[str, ...]:
        """Appends messages to the conversation. Makes no room.

        A message is what the provider's API takes or returns (for `openai-responses`, an item), as plain values or as
        an object of the provider's SDK. A whole answer of the API is one, too: its message or items are appended, and
        its usage is recorded. `usage` is the usage that the provider reported with the answer among them. Returns the
        messages' ids. Raises `InvalidRequest` if one is not a message of the provider.
        """
        ports = self._host.workspace.ports
        given = plain_messages(messages)
        if self._is_guessed:
            self._check_guess(given)
        events = read_events(self.provider, given, lambda: ports.ids.new("m"))
        now = ports.clock.now()
        said = [event.message for event in events if isinstance(event, MessageAppended)]
        read = [replace(self._with_own_id(message), timestamp=now) for message in said]
        reported = next((event.usage for event in reversed(events) if isinstance(event, UsageReported)), None)
        return await self._recorded(read, read_usage(plain(usage)) if usage is not None else reported)

    @_awaited
    async def update_usage(self, usage: Any) -> None:
        """Records the usage, in the provider's own form, that the provider reported with the last answer. Raises
        `InvalidRequest` if it has none of the provider's fields, or if there is no answer yet."""
        await self._recorded((), read_usage(plain(usage)))

    @_awaited
    async def set_system_prompt(self, system: System) -> None:
        """Replaces the system prompt."""
        with self._opened() as conversation:
            sessions.change_system_prompt(conversation, read_system(self.provider, system))

    @_awaited
    async def set_tools(self, tools: Sequence[Any]) -> None:
        """Replaces the tools that the model is offered. `tools` are definitions in the provider's format."""
        with self._opened() as conversation:
            sessions.declare_tools(conversation, read_definitions(self.provider, plain(listed("tools", tools))))

    @_awaited
    async def get_messages(self) -> list[dict[str, Any]]:
        """Returns every message ever added, archived ones too, as it was given, without system prompts."""
        with self._opened() as conversation:
            entries = transcript_page(conversation, 0, None).entries
        # A summary that the program gave has the place of messages that it did not give.
        given = [entry.message for entry in entries if entry.message.provided or not entry.inserted]
        said = [one for one in given if one.role is not Role.SYSTEM and (one.content or one.provided)]
        return [written for message in said for written in write_messages(self.provider, message)]

    @_awaited
    async def get_context_for_request(self) -> list[dict[str, Any]]:
        """Returns the messages to send next, in the provider's format. Makes room first if that is due, so that the
        request fits.

        For `openai` the system prompt is the first message. The other providers take it separately; `get_request`
        returns it.
        """
        return (await self._requested())[MESSAGES[self.provider]]

    @_awaited
    async def get_request(self) -> dict[str, Any]:
        """Returns what to send next, as arguments of the provider's call (`messages`, `system`, `tools`, …). Makes room
        first if that is due, so that the request fits. Raises `CannotFit`, which says what is too large, if it doesn't.

        In a program with an event loop, use `AsyncContextManager`, or await `compact_if_needed` before: the method of
        `ContextManager` blocks while it makes room.
        """
        return await self._requested()

    @_awaited
    async def needs_compaction(self) -> bool:
        """Returns whether the context has reached the compaction threshold, at which `compact_if_needed` writes a
        summary or, depending on `mode`, drops messages."""
        with self._opened() as conversation:
            return conversation.used >= budget_of(conversation).compact_at

    @_awaited
    async def compact_if_needed(self) -> CompactionResult | None:
        """Makes room in the context if that is due, by the cheapest edits first. Returns what was done, or None if
        nothing was due or no message may be edited."""
        with self._opened() as conversation:
            return await self._shrunk(conversation)

    @_awaited
    async def compact(self, focus: str = "") -> CompactionResult:
        """Compacts the context now, however full it is. Returns what was done. `focus` is what the summary must keep
        above all. Raises `NothingToCompact`."""
        with self._opened() as conversation:
            await conversation.settled()
            changes = Changes(conversation)
            with compacting(conversation, "manual"):
                await by_hand.compact_by_hand(conversation, by_hand.ManualRequest(focus=focus))
            result = changes.result()
            assert result is not None, "a compaction is an edit"
            return result

    @_awaited
    async def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        """Undoes the edit `edit_id`, or the last edit if it is None, together with the other edits of the same action.
        Returns the undone edits, or an empty tuple if no edit is in force. Raises `EditNotFound` for an unknown id."""
        with self._opened() as conversation:
            try:
                return history.undo(conversation, edit_id).edits
            except NothingToUndo:
                if edit_id is not None:
                    raise EditNotFound(f"there is no edit {edit_id!r} in force; `history()` lists them") from None
                return ()

    @_awaited
    async def history(self) -> tuple[HistoryEntry, ...]:
        """Returns every edit that was ever made, undone ones included, oldest first."""
        with self._opened() as conversation:
            return history.history(conversation)

    @_awaited
    async def restore(
        self, *, timestamp: int | str | None = None, message_id: str | None = None, edit_id: str | None = None
    ) -> tuple[EditInfo, ...]:
        """Undoes and redoes edits so that the edits in force are those at an earlier place: a time (Unix milliseconds
        or ISO 8601), after a message, or after an edit. Give exactly one of the three.

        Messages and pins are not changed. Returns the edits that were undone or redone. Raises `InvalidRequest` unless
        exactly one place is given, `EditNotFound` and `MessageNotFound`.
        """
        if [timestamp, message_id, edit_id].count(None) != 2:
            raise InvalidRequest("give exactly one of `timestamp`, `message_id` and `edit_id`")
        with self._opened() as conversation:
            place = Checkpoint(timestamp=timestamp, message_id=message_id, edit_id=edit_id)
            return history.restore(conversation, place).edits

    @_awaited
    async def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Pins a message, so that every edit keeps it verbatim, or unpins it. Raises `MessageNotFound`."""
        with self._opened() as conversation:
            by_hand.pin(conversation, message_id, pinned=pinned)

    @_awaited
    async def search(self, query: str, limit: Messages = 10) -> SearchResults:
        """Returns at most `limit` messages that match `query`, among all ever added, archived ones too."""
        with spanned("ullage.search", self.session_id):
            return SearchResults(await search(self._host.workspace, self.session_id, query, limit))

    @_awaited
    async def get_stats(self) -> ContextStats:
        """Returns all figures about the context's size, in tokens."""
        with self._opened() as conversation:
            return self._stats(conversation)

    @_awaited
    async def reset(self) -> None:
        """Begins a new conversation with the same model, prompt and tools. The store keeps the former one."""
        with self._opened() as conversation:
            old = conversation.transcript
            system = [message for message in old.view if message.role is Role.SYSTEM and message.text]
            created = SessionCreated(model=old.model)
            self.session_id = sessions.new_session(self._host.workspace, created, system, old.tools).id

    token_usage = _Figure(_later(ManagedContext._used))
    available_tokens = _Figure(_later(ManagedContext._free))
    budget = _Figure(_later(ManagedContext._budget))
    tracker = _Figure(_later(ManagedContext._tracker))


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
            self._host.call(self._released)

    add_message = _blocking(AsyncContextManager.add_message)
    update_usage = _blocking(AsyncContextManager.update_usage)
    set_system_prompt = _blocking(AsyncContextManager.set_system_prompt)
    set_tools = _blocking(AsyncContextManager.set_tools)
    get_messages = _blocking(AsyncContextManager.get_messages)
    get_request = _blocking(AsyncContextManager.get_request)
    get_context_for_request = _blocking(AsyncContextManager.get_context_for_request)
    needs_compaction = _blocking(AsyncContextManager.needs_compaction)
    compact_if_needed = AsyncContextManager.compact_if_needed
    compact_if_needed_sync = _blocking(AsyncContextManager.compact_if_needed)
    compact = AsyncContextManager.compact
    compact_sync = _blocking(AsyncContextManager.compact)
    undo = _blocking(AsyncContextManager.undo)
    history = _blocking(AsyncContextManager.history)
    restore = _blocking(AsyncContextManager.restore)
    pin = _blocking(AsyncContextManager.pin)
    search = _blocking(AsyncContextManager.search)
    get_stats = _blocking(AsyncContextManager.get_stats)
    reset = _blocking(AsyncContextManager.reset)
    token_usage = _Figure(_blocking(ManagedContext._used))
    available_tokens = _Figure(_blocking(ManagedContext._free))
    budget = _Figure(_blocking(ManagedContext._budget))
    tracker = _Figure(_blocking(ManagedContext._tracker))


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


def beginning(shared: ManagedHost, session_id: str, system: System, tools: Sequence[Any]) -> Callable[[Workspace], str]:
    """Returns a function for the host's thread that begins a conversation unless the store has one with this id, and
    returns its id: a new one if `session_id` is empty. Raises `InvalidRequest` at once for a prompt or tools that are
    none."""
    declared = read_definitions(shared.provider, plain(listed("tools", tools)))
    return partial(begun, shared, session_id, read_system(shared.provider, system), declared)


def read_system(provider: Provider, system: Any) -> str | Message:
    """Returns a system prompt as the engine has it: a text as it is, blocks of the provider's format as a message that
    keeps them. Raises `InvalidRequest` if it is neither."""
    given = plain(system)
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise InvalidRequest(f"`system` is {show(given)}; give a text, or a list of content blocks")
    return prompt_message(provider, cast("list[Any]", given), "")


def check_values(context: Any, search: Any, on_update: Any) -> None:
    """Raises `InvalidRequest` for a value of an option that cannot be used. It names the option and the remedy."""
    for name, value, kind in (("context", context, ContextSettings), ("search", search, SearchSettings)):
        if not isinstance(value, kind):
            fields = ", ".join(f"{key}=…" for key in cast("Any", value)) if isinstance(value, Mapping) else "…"
            raise InvalidRequest(f"`{name}` is {show(value)}; give `{kind.__name__}({fields})`")
        try:
            # What a program makes by name is not checked when it is made.
            msgspec.convert(msgspec.to_builtins(value, enc_hook=repr), kind)
        except msgspec.ValidationError as error:
            text = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", str(error).replace("Expected", "expected"))
            raise InvalidRequest(f"`{name}`: {text}; give another value") from None
    if on_update is not None and not callable(on_update):
        raise InvalidRequest(f"`on_update` is {show(on_update)}; give a function of a session id and an update")


def begun(
    shared: ManagedHost, session_id: str, system: str | Message, tools: Sequence[ToolDefinition], workspace: Workspace
) -> str:
    """Begins a conversation, in the host's thread, unless the store has one with this id. Returns its id."""
    try:
        if session_id:
            return workspace.ports.store.info(session_id).session_id
    except SessionNotFound:
        pass
    created = SessionCreated(model=shared.model)
    prompt = system if isinstance(system, str) else [system]
    conversation = sessions.new_session(workspace, created, prompt, tools, session_id=session_id)
    with shared.host.using(conversation.id):
        return conversation.id


def budget_of(conversation: Conversation) -> policy.ContextBudget:
    """Returns the budget of the conversation's window. Raises `WindowUnknown`."""
    if conversation.budget is None:
        raise WindowUnknown(f"the window of model {conversation.model!r} is not known; give it as `window`")
    return conversation.budget


def _usual_provider(model: str) -> Provider:
    """Returns `anthropic` for Claude models, otherwise `openai`, which most servers accept."""
    return Provider.ANTHROPIC if "claude" in model.lower() else Provider.OPENAI


def _mode(mode: str | None, context: ContextSettings, strategy: TruncationStrategy | None) -> TruncationMode:
    if mode is None:
        return context.mode if strategy is None else TruncationMode.SMART
    try:
        return TruncationMode(mode)
    except ValueError:
        raise InvalidRequest(
            f"no mode {mode!r}; there are {', '.join(TruncationMode)} (and as `provider` {', '.join(Provider)})"
        ) from None
