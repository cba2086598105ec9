"""Runs a workspace with its own event loop in its own thread, and says what an action in it has changed. The program's
own model, which writes summaries, is asked from there.

The classes of this package use it to call the service, so that they work both in programs with an event loop and
without one.
"""

import asyncio
import os
import weakref
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from threading import Condition, RLock, Thread, current_thread
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct
from msgspec.structs import replace

from ullage.app.compose import workspace_on
from ullage.app.telemetry import spanned, traced
from ullage.formats.provider import Provider, write_request
from ullage.formats.turns import writable
from ullage.ledger.contradiction import without_contradictions
from ullage.ledger.ledger_entry import Entry
from ullage.model.errors import AnswerBroken, ProviderError
from ullage.model.message import Message, TextBlock, join_texts
from ullage.model.settings import Settings, SummarySettings
from ullage.model.updates import Update, UsageMeta
from ullage.service.archive.search import SearchResult
from ullage.service.conversation.bus import guarded
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Summarizer, SummaryStream
from ullage.service.ports.store import SearchHit
from ullage.service.summaries.by_model import compose_beside, with_page
from ullage.store.store_place import news_of, open_sessions_at, open_store_at
from ullage.summary.draft import text_room, write_instructions
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter
from ullage.transcript.fold import EditInfo


class SummaryTask(Struct, frozen=True, kw_only=True):
    """A summary that the program's model has to write, in at most `max_tokens` tokens.

    - `request`: the messages to summarize, as the fields of a provider's request (`messages`, `system`).
    - `previous`: the summary that this one replaces, or "".
    - `focus`: what the summary must keep above all, or "".
    - `instructions`: how to write the summary.
    - `prompt`: everything as one text, for a model that takes a text: the conversation, then the instructions.
    """

    request: dict[str, Any]
    max_tokens: int
    previous: str = ""
    focus: str = ""
    instructions: str = ""
    prompt: str = ""


@runtime_checkable
class Invokable(Protocol):
    """A model object with `invoke(text)`, as agent frameworks have it, or better `ainvoke`."""

    def invoke(self, text: str, /) -> Any:
        """Returns the model's answer to a prompt: a string, or an object whose `content` is a string."""
        ...


@runtime_checkable
class AsyncInvokable(Protocol):
    """A model object with the coroutine method `ainvoke(text)`, as agent frameworks have it."""

    def ainvoke(self, text: str, /) -> Awaitable[Any]:
        """Returns an awaitable of the model's answer: a string, or an object whose `content` is one."""
        ...


Summarize = Callable[[SummaryTask], str | Awaitable[str]]
# What a program may give to write summaries: a function, which may be a coroutine function, or a model object.
LLM = Summarize | Invokable | AsyncInvokable
# The event loop of the program's task that awaits one of Ullage's coroutines, None while a plain method is called. A
# variable of the context, because many tasks and threads call at once, each from its own loop.
_PROGRAMS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("programs_loop", default=None)


@contextmanager
def from_this_loop() -> Generator[None]:
    """While the block runs, work that is handed to Ullage's thread runs the program's own coroutines in the running
    loop, because the client of a model server works only in the loop in which it was made."""
    before = _PROGRAMS_LOOP.set(asyncio.get_running_loop())
    try:
        yield
    finally:
        _PROGRAMS_LOOP.reset(before)


async def await_in_programs_loop(made: Awaitable[Any]) -> Any:
    """Awaits one of the program's coroutines, which write summaries, and returns its result: in the loop of the task
    that awaits Ullage, or in Ullage's own while a plain method was called."""
    loop = _PROGRAMS_LOOP.get()
    if loop is None or loop is asyncio.get_running_loop():
        return await made
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_result(made), loop))


class OwnSummarizer:
    """A summarizer that has the program's model write the text of a summary. What the user said and the state of the
    work stay below it, read by code.

    `provider` is the format of the messages in a `SummaryTask`. `max_tokens` limits the summaries further, and `own` is
    added to the instructions. If the model raises an error or returns no text, reading the summary raises
    `ProviderError`, and the compaction continues without the model.
    """

    def __init__(self, llm: LLM, provider: Provider, max_tokens: int | None = None, own: str = "") -> None:
        self._llm = checked_llm(llm)
        self._provider = provider
        self._max_tokens = max_tokens
        self._own = own

    @property
    def name(self) -> str:
        return "custom"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        beside = await compose_beside(request, counter, reader)
        room = text_room(request, beside.ledger, counter, beside.page)
        task = self._task(request, min(room, self._max_tokens or room), beside.page)
        return SummaryStream(ledger=beside.ledger, pieces=with_page(self._write(task, beside.known), beside.page))

    def _task(self, request: SummaryRequest, longest: int, page: str) -> SummaryTask:
        instructions = write_instructions(request, longest, (self._own,) if self._own else (), page)
        return SummaryTask(
            request=write_request(self._provider, request.messages),
            max_tokens=longest,
            previous=request.previous.summary if request.previous else "",
            focus=request.focus,
            instructions=instructions,
            prompt="\n\n".join([*map(_as_text, request.messages), instructions]),
        )

    async def _write(self, task: SummaryTask, known: Sequence[Entry]) -> AsyncGenerator[str]:
        try:
            with spanned("ullage.summary.request"):
                answer = await self._ask(task)
        except Exception as error:
            raise ProviderError(f"the summarizer failed: {error}") from error
        text = getattr(answer, "content", answer)
        if not isinstance(text, str) or not text.strip():
            raise AnswerBroken(f"the summarizer returned {type(answer).__name__} without text")
        yield without_contradictions(text, known)

    async def _ask(self, task: SummaryTask) -> Any:
        llm = self._llm
        if isinstance(llm, AsyncInvokable):
            return await await_in_programs_loop(llm.ainvoke(task.prompt))
        if isinstance(llm, Invokable):
            answer = await asyncio.to_thread(llm.invoke, task.prompt)
        elif iscoroutinefunction(llm):
            answer = llm(task)
        else:
            answer = await asyncio.to_thread(llm, task)
        return await await_in_programs_loop(cast("Awaitable[Any]", answer)) if isawaitable(answer) else answer


def checked_llm(llm: object) -> LLM:
    """Returns `llm`. Raises `TypeError` if it is neither callable nor has `ainvoke` or `invoke`."""
    if callable(llm) or isinstance(llm, AsyncInvokable | Invokable):
        return cast("LLM", llm)
    raise TypeError(
        f"{llm!r} cannot write summaries: give a function of a SummaryTask, or an object with ainvoke(text)"
    )


def _as_text(message: Message) -> str:
    return f"{message.role.value}:\n{join_texts(writable(message, (TextBlock,), ''))}"


async def _result(made: Awaitable[Any]) -> Any:
    return await made


class CompactionResult(Struct, frozen=True, kw_only=True):
    """What making room has changed. Sizes are in tokens.

    - `messages`: the messages that are in the context now.
    - `removed`: the messages that are no longer in it. Messages that were only cleared or shortened are not among them.
    - `saved_tokens`: the tokens before minus the tokens now.
    - `summary`: the text that replaces the removed messages, or "" if there is no new summary.
    """

    messages: tuple[Message, ...]
    removed: tuple[Message, ...]
    saved_tokens: int
    summary: str = ""


class ContextStats(UsageMeta, frozen=True, kw_only=True, rename="camel"):
    """All figures about the context's size, in tokens: `used` tokens of a window of `size`, and the fields of
    `UsageMeta`.

    `oldest_message_age` is the age of the oldest message in milliseconds, or None if there is no message.
    """

    used: int
    size: int
    oldest_message_age: int | None = None


class SearchResults(tuple[SearchHit, ...]):
    """The messages that a search has found, best first.

    - `unread`: the number of stored records that are not indexed yet, so that the search knows nothing of them.
    - `note`: a sentence on what is to know of the results, or "" if there is nothing.
    """

    unread: int
    note: str

    def __new__(cls, found: SearchResult) -> "SearchResults":
        """Makes the results of what the search returned."""
        results = super().__new__(cls, found.hits)
        results.unread, results.note = found.unread, found.note
        return results


T = TypeVar("T")
OnUpdate = Callable[[str, Update], None]


class LoopThread:
    """A thread with an event loop, which runs coroutines and owns the resources they need. In the loop itself `run`,
    `call` and `enter` raise `RuntimeError`, because they block until the loop has done the work."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # What calls a program's plain function as `llm`: the loop's end waits for them.
        self._workers: set[Thread] = set()
        self._loop.set_default_executor(_Workers(initializer=lambda: self._workers.add(current_thread())))
        self._entered = ExitStack()
        # Held while work is given to the loop, and while it is decided that no more is: what the loop got after its end
        # would be waited for for ever. The garbage collector may stop it in a thread that holds this.
        self._giving = RLock()
        self._is_stopped = False
        self._process = os.getpid()
        self._thread = Thread(target=self._serve, name="ullage", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread and returns its result. Ctrl-C in the caller cancels the coroutine."""
        if current_thread() is self._thread:
            work.close()
            raise RuntimeError(
                "what the manager calls in its own thread must not call the manager: a strategy, a counter, or a "
                "coroutine function as `llm` of a ContextManager (a plain function may)"
            )
        running = self._start(work)
        try:
            return running.result()
        except CancelledError:
            self._refuse_if_stopped()
            raise
        finally:
            running.cancel()

    async def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread and awaits its result, so that the caller's own event loop isn't blocked.
        Cancelling the caller cancels the coroutine. The program's own coroutines that it awaits run in the caller's
        loop."""
        with from_this_loop():
            running = self._start(work)
        try:
            return await asyncio.wrap_future(running)
        except CancelledError:
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                self._refuse_if_stopped()
            raise

    def call(self, work: Callable[[], T]) -> T:
        """Calls a plain function in the thread and blocks until its result, which it returns."""

        async def called() -> T:
            return work()

        return self.run(called())

    def enter(self, opened: Callable[[], AbstractContextManager[T]]) -> T:
        """Calls `opened` and enters the context manager that it returns, both in the thread. Returns the context
        manager's value. The context manager is exited, in the thread, when the thread ends."""
        return self.call(lambda: self._entered.enter_context(opened()))

    def stop(self) -> None:
        """Ends the thread and waits until it has ended. Doesn't wait in that same thread, where the garbage collector
        may call it, nor in a thread that the end waits for, where a program's `llm` may."""
        if os.getpid() != self._process:
            return
        with self._giving:
            if not self._is_stopped:
                self._is_stopped = True
                self._loop.call_soon_threadsafe(self._loop.stop)
        if current_thread() not in (self._thread, *self._workers):
            self._thread.join()

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if os.getpid() != self._process:
            work.close()
            # A fork has none of the threads of its parent.
            raise RuntimeError(
                "this process was forked after the manager or pool was made; make one here, with the same `store`"
            )
        with self._giving:
            if self._is_stopped:
                work.close()
            self._refuse_if_stopped()
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _refuse_if_stopped(self) -> None:
        if self._is_stopped:
            raise RuntimeError("the conversations are closed: make a new manager or pool") from None

    def _serve(self) -> None:
        with self._entered:
            self._loop.run_forever()
            self._loop.run_until_complete(_end_tasks())
        self._loop.close()


class _Workers(ThreadPoolExecutor):
    """Threads. When the interpreter ends and allows no new work for threads, the work is done where it is given, so
    that a program may use a manager until its very end, or forget to close it."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **given: Any) -> Future[T]:
        try:
            return super().submit(fn, *args, **given)
        except RuntimeError as refusal:
            if not str(refusal).startswith("cannot schedule new futures"):
                raise
            done: Future[T] = Future()
            try:
                done.set_result(fn(*args, **given))
            except BaseException as error:  # noqa: BLE001 (whoever awaits the work gets it)
                done.set_exception(error)
            return done


async def _end_tasks() -> None:
    """Cancels what still runs in the loop and its threads, such as reading ahead, and waits until it has ended."""
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_default_executor()


class Host:
    """A workspace with its store, in a thread with an event loop. All work on them is done by `run`, `wait_for`,
    `call` and `await_call`, from any thread and any number of tasks. Each returns after `on_update` was called with
    what it led to, unless `on_update` was at work when it began: then `on_update` may be waiting for it.

    `store` is the store's file, its address in PostgreSQL, or None for a temporary file. `summarizer` writes the
    summaries; without one they are written offline. `on_update` is called with the session id and each update, in their
    order, in a thread in which it may do anything. At most `open_at_most` conversations are held in memory besides
    those in use: the ones used longest ago are dropped, and loaded from the store when they are used again.
    With `offline`, a store on a server that can't be reached is continued in a copy on this machine.
    """

    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        settings: Settings,
        summarizer: Summarizer | None = None,
        store: Path | str | None = None,
        on_update: OnUpdate | None = None,
        open_at_most: int = 1,
        *,
        offline: bool = False,
    ) -> None:
        thread = LoopThread()
        # A host that is dropped without being closed must end its thread.
        self._closing = weakref.finalize(self, thread.stop)
        self._thread = thread
        self._open_at_most = open_at_most
        # By session id, the one used longest ago first: how many callers are using the conversation now.
        self._users: dict[str, int] = {}
        if store is None:
            # Not a `TemporaryDirectory`: a forked process would remove that when it ends.
            folder, removing = mkdtemp(prefix="ullage-"), ExitStack()
            removing.callback(rmtree, folder, ignore_errors=True)
            thread.enter(lambda: removing)
            store = Path(folder) / "context.db"
        # The embedding program has a model of its own. Its function writes the summaries, else they are composed
        # offline.
        settings = replace(settings, summary=SummarySettings(writer="offline"))
        opened = thread.enter(lambda: open_sessions_at(store) if offline else open_store_at(store))
        self.workspace = workspace_on(traced(opened), settings, summarizer=summarizer, news=news_of(opened))
        self.workspace.is_embedded = True
        self._telling = None if on_update is None else _Telling(on_update)
        if self._telling is not None:
            self.workspace.bus.listen(self._telling)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine in the thread and blocks until its result, which it returns."""
        waits = self._telling is not None and not self._telling.is_behind
        try:
            return self._thread.run(work)
        finally:
            if self._telling is not None and waits:
                self._telling.wait()

    async def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs one of Ullage's coroutines in the thread and awaits its result. Meanwhile, the program's own coroutines
        that write summaries run in the caller's event loop."""
        waits = self._telling is not None and not self._telling.is_behind
        try:
            return await self._thread.wait_for(work)
        finally:
            if self._telling is not None and waits and self._telling.is_behind:
                await asyncio.to_thread(self._telling.wait)

    def call(self, work: Callable[[Workspace], T]) -> T:
        """Calls a plain function with the workspace, in the thread, and blocks until its result, which it returns."""
        return self.run(self._called(work))

    async def await_call(self, work: Callable[[Workspace], T]) -> T:
        """Does the same as `call`, without blocking the caller's event loop."""
        return await self.wait_for(self._called(work))

    async def _called(self, work: Callable[[Workspace], T]) -> T:
        return work(self.workspace)

    @contextmanager
    def using(self, session_id: str) -> Generator[Conversation]:
        """Opens a conversation for the block, in the thread, and keeps it in memory. Raises `SessionNotFound`."""
        conversation = self.workspace.open(session_id)
        self._users[session_id] = self._users.pop(session_id, 0) + 1
        try:
            yield conversation
        finally:
            self._users[session_id] -= 1
            self._drop_idle()

    def drop(self, session_id: str) -> None:
        """Drops a conversation from memory, in the thread, unless a caller uses it. It stays in the store."""
        if self._users.get(session_id) == 0:
            del self._users[session_id]
            self.workspace.drop(session_id)

    def close(self) -> None:
        """Ends the thread and closes the store. A temporary store is deleted."""
        self._closing()
        if self._telling is not None:
            self._telling.wait()

    def __reduce_ex__(self, _: Any) -> Any:
        raise TypeError(
            "a manager or pool cannot be copied or pickled: it has a thread and an open store; give `store` and "
            "`session_id`, and make another one of them"
        )

    def _drop_idle(self) -> None:
        excess = len(self._users) - self._open_at_most
        if excess > 0:
            idle = [session_id for session_id, users in self._users.items() if users == 0]
            for session_id in idle[:excess]:
                self.drop(session_id)


class Changes:
    """What an action has changed in a context: created before the action, and asked afterwards."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._used = conversation.used
        self._items = tuple(conversation.transcript.items)
        self._edits = _ids(conversation.transcript.edits_in_force)

    def result(self) -> CompactionResult | None:
        """Returns the messages and tokens that changed since; None if no edit was made or undone."""
        transcript = self._conversation.transcript
        if _ids(transcript.edits_in_force) == self._edits:
            return None
        view = transcript.view
        left = {message.id for message in view}
        return CompactionResult(
            messages=view,
            removed=tuple(item.message for item in self._items if not item.inserted and item.message.id not in left),
            saved_tokens=self._used - self._conversation.used,
            summary=self._summary(view),
        )

    def _summary(self, view: Sequence[Message]) -> str:
        known = {item.message.id for item in self._items}
        new = (message.compaction for message in view if message.id not in known)
        return next((marker.summary for marker in new if marker), "")


class _Telling:
    """Calls a program's `on_update` with one update after the other, in a thread that lives as long as there are any:
    a thread that waited for more would keep alive what `on_update` refers to, for example a forgotten manager."""

    def __init__(self, on_update: OnUpdate) -> None:
        self._on_update = on_update
        self._changed = Condition()
        self._waiting: deque[tuple[str, Update]] = deque()
        self._thread: Thread | None = None
        # How many updates came, and for how many `on_update` has returned.
        self._came = self._done = 0

    def session_updated(self, session_id: str, update: Update) -> None:
        """Takes an update. Doesn't wait."""
        with self._changed:
            self._waiting.append((session_id, update))
            self._came += 1
            if self._thread is None:
                self._thread = Thread(target=self._tell, name="ullage-updates", daemon=True)
                self._thread.start()

    @property
    def is_behind(self) -> bool:
        """Whether there are updates for which `on_update` has not returned yet."""
        return self._done < self._came

    def wait(self) -> None:
        """Waits until `on_update` has returned for all updates so far; returns at once in `on_update` itself."""
        with self._changed:
            if current_thread() is not self._thread:
                came = self._came
                self._changed.wait_for(lambda: self._done >= came)

    def _tell(self) -> None:
        while True:
            with self._changed:
                self._changed.notify_all()
                if not self._waiting:
                    self._thread = None
                    return
                session_id, update = self._waiting.popleft()
            guarded(self._on_update, session_id, update)
            with self._changed:
                self._done += 1


def _ids(edits: Sequence[EditInfo]) -> tuple[str, ...]:
    return tuple(edit.id for edit in edits)
