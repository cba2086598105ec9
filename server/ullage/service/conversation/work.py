"""The work table: what may run at the same time in one conversation.

A *job* takes time: other requests arrive while it is suspended. An *ask* is a request that either begins a job or is
done within one step of the event loop, as an edit by hand is. The table has a row per job and a column per ask. A cell
says what happens to the ask while the job runs:

- RUN: the ask begins at once.
- WAIT: the ask begins when the job has ended. Prompts and appends queue, first come, first served. An ask of automatic
  management is repeated when the job has ended.
- REFUSE: an ask of a user raises `SessionBusy`. An ask of automatic management is dropped.
- CANCEL: the job is cancelled first.

Several jobs may run at once: a turn is also answering, a shrinking session may also be compacting. WAIT is applied
before REFUSE, and REFUSE before CANCEL. Four rules explain the cells. While a model answers, the context that it
answers to must not change, so edits wait or are refused, and a turn sends its request after a compaction that has
begun. Two compactions of one context would be paid for twice, so the second is refused. A request that reads the
context, to send it or to compact it, waits for an automatic run, because that run makes the context fit. Appends are
never refused: an edit covers a range of the log that later messages do not touch.

A step that a server repeats in the background, such as looking for other processes' changes, runs by `repeated`.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct

from ullage.edits.compaction import Summary
from ullage.model.errors import SessionBusy

T = TypeVar("T")


class Job(Enum):
    """A kind of work that takes time. The value is the text of the `SessionBusy` that the job causes.

    TURN: a prompt turn. ANSWERING: the model writes an answer, within a turn. COMPACTING: a compaction, by hand or
    automatic. SHRINKING: a run of automatic management, from beginning to end. PREPARING: a summary is written before
    it is needed. APPENDING: messages are counted and appended.
    """

    COMPACTING = "a compaction of session {} is running; wait for it or cancel it"
    TURN = "the model is at work in session {}; wait for its turn to end, or cancel it"
    ANSWERING = "the model is answering in session {}; wait for its answer, or cancel it"
    SHRINKING = "session {} is being compacted; wait for it or cancel it"
    PREPARING = "a summary of session {} is being prepared; wait for it or cancel it"
    APPENDING = "messages are being appended to session {}; wait for them"


class Ask(Enum):
    """A request to a conversation that running jobs may delay or refuse. The value is its column in the work table.

    PROMPT: a prompt turn. READ: the context as a model would be sent it. APPEND: new messages. COMPACT: a compaction by
    hand, or its preview. EDIT: a commit, an undo or a restore. SHRINK, PREPARE: a run or a preparation of automatic
    management. CLOSE: the end of the conversation. ANSWER: a turn's next request to the model.
    """

    PROMPT = 0
    READ = 1
    APPEND = 2
    COMPACT = 3
    EDIT = 4
    SHRINK = 5
    PREPARE = 6
    CLOSE = 7
    ANSWER = 8


class Rule(Enum):
    """What the work table says of a request while a job runs: it begins at once, waits for the job, is refused, or
    cancels the job first."""

    RUN = "run"
    WAIT = "wait"
    REFUSE = "refuse"
    CANCEL = "cancel first"


_RUN, _WAIT, _REFUSE, _CANCEL = Rule.RUN, Rule.WAIT, Rule.REFUSE, Rule.CANCEL
# fmt: off
TABLE: dict[Job, tuple[Rule, ...]] = {
    #               PROMPT READ   APPEND COMPACT  EDIT     SHRINK   PREPARE  CLOSE    ANSWER
    Job.TURN:       (_WAIT, _RUN,  _RUN,  _REFUSE, _REFUSE, _RUN,    _RUN,    _CANCEL, _RUN),
    Job.ANSWERING:  (_WAIT, _RUN,  _RUN,  _REFUSE, _REFUSE, _WAIT,   _WAIT,   _CANCEL, _WAIT),
    Job.COMPACTING: (_RUN,  _RUN,  _RUN,  _REFUSE, _REFUSE, _WAIT,   _WAIT,   _CANCEL, _WAIT),
    Job.SHRINKING:  (_RUN,  _WAIT, _RUN,  _WAIT,   _RUN,    _REFUSE, _RUN,    _CANCEL, _WAIT),
    Job.PREPARING:  (_RUN,  _RUN,  _RUN,  _RUN,    _RUN,    _RUN,    _CANCEL, _CANCEL, _RUN),
    Job.APPENDING:  (_RUN,  _RUN,  _WAIT, _RUN,    _RUN,    _RUN,    _RUN,    _RUN,    _RUN),
}
# fmt: on


class Preparation(Struct, frozen=True, kw_only=True):
    """A summary that is written before it is needed. `ids` are the ids of the messages that it covers, the whole view
    at that time; `edits_seen` is the conversation's `edits_seen` at that time. `task` writes it."""

    ids: frozenset[str]
    edits_seen: int
    task: asyncio.Task[Summary]


class _Place:
    """A prompt that waits for its turn. If `dismissed`, it is not run when its turn comes."""

    def __init__(self) -> None:
        self.dismissed = False


class _Appending:
    """An append: waits for the appends before it, and is a running job from then on. Each append of a session pays
    for this, and a generator would cost several times as much."""

    def __init__(
        self, lock: asyncio.Lock, running: dict[Job, asyncio.Task[Any] | None], end: Callable[[Job], object]
    ) -> None:
        self._lock = lock
        self._running = running
        self._end = end

    async def __aenter__(self) -> None:
        await self._lock.acquire()
        self._running[Job.APPENDING] = asyncio.current_task()

    async def __aexit__(self, *_: object) -> None:
        self._end(Job.APPENDING)
        self._lock.release()


class Work:
    """The jobs that run in one conversation, and what may run at the same time. `preparation` stays after its task is
    done, until a compaction uses it or it is dropped. `reading` reads messages ahead; it is no job, because nothing
    waits for it."""

    def __init__(self, session_id: str) -> None:
        self.preparation: Preparation | None = None
        self.background: set[asyncio.Task[None]] = set()
        self.reading: asyncio.Task[None] | None = None
        self._session_id = session_id
        self._running: dict[Job, asyncio.Task[Any] | None] = {}
        self._prompts, self._appends = asyncio.Lock(), asyncio.Lock()
        self._places: list[_Place] = []
        self._again: dict[Ask, Callable[[], object]] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def is_running(self, job: Job) -> bool:
        """Returns whether a job of this kind runs in the conversation."""
        if job is Job.PREPARING:
            return self.preparation is not None and not self.preparation.task.done()
        return job in self._running

    @property
    def is_quiet(self) -> bool:
        """Whether no job and no background work runs, and nothing is prepared or read ahead."""
        return not (self._running or self.background or self._places or self.preparation or self.reading)

    def require(self, ask: Ask) -> None:
        """Raises `SessionBusy` if, by the work table, a running job refuses the request."""
        for job in self._jobs(ask, Rule.REFUSE):
            raise SessionBusy(job.value.format(self._session_id))

    async def wait(self, ask: Ask) -> None:
        """Waits until no job runs that the request must wait for. Raises `SessionBusy` if one refuses it."""
        while any(self._jobs(ask, Rule.WAIT)):
            # The end of the job, not of its task: the task of a compaction by hand may continue with other work.
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            await ended
        self.require(ask)

    def may(self, ask: Ask, again: Callable[[], object]) -> bool:
        """Returns whether automatic management may begin `ask` now, and cancels the jobs that the work table says to
        cancel. If the request must wait, returns False and calls `again` when the last job that it waits for has ended.
        """
        if any(self._jobs(ask, Rule.WAIT)):
            self._again[ask] = again
            return False
        if any(self._jobs(ask, Rule.REFUSE)):
            return False
        for job in tuple(self._jobs(ask, Rule.CANCEL)):
            self._cancel(job)
        return True

    @contextmanager
    def during(self, job: Job) -> Generator[None]:
        """Marks the job as running in this task for the block. Raises `SessionBusy` if one of its kind runs."""
        if job in self._running:
            raise SessionBusy(job.value.format(self._session_id))
        self._running[job] = asyncio.current_task()
        try:
            yield
        finally:
            self._end(job)

    def start(self, job: Job, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Starts the job in a task of its own and returns the task. The job runs until the task ends."""
        task = self._running[job] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._end(job))
        return task

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts background work that is no job, so that it delays no request."""
        task = asyncio.get_running_loop().create_task(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[bool]:
        """Waits for other turns and holds back later ones for the block. Yields False if the prompt was dismissed."""
        place = _Place()
        self._places.append(place)
        try:
            async with self._prompts:
                yield not place.dismissed
        finally:
            self._places.remove(place)

    def appending(self) -> "_Appending":
        """Waits until no other append runs, and makes later appends wait while the `with` block runs, so that a short
        message cannot overtake a long one that is still being counted."""
        return _Appending(self._appends, self._running, self._end)

    def cancel(self) -> None:
        """Cancels every running job except appends. A preparation that is already complete is kept."""
        for job in tuple(self._jobs(Ask.CLOSE, Rule.CANCEL)):
            self._cancel(job)

    async def close(self) -> None:
        """Cancels running jobs except appends, dismisses the waiting prompts, and waits for the turn's end."""
        for place in self._places:
            place.dismissed = True
        self._again.clear()
        self.cancel()
        self.drop_preparation()
        self.stop_reading()
        turn = self._running.get(Job.TURN)
        if turn is not None:
            await asyncio.wait([turn])

    def drop_preparation(self) -> None:
        preparation, self.preparation = self.preparation, None
        if preparation is not None:
            preparation.task.cancel()

    def stop_reading(self) -> None:
        """Cancels reading ahead. What was read stays known."""
        reading, self.reading = self.reading, None
        if reading is not None:
            reading.cancel()

    def _jobs(self, ask: Ask, rule: Rule) -> Iterator[Job]:
        return (job for job in Job if TABLE[job][ask.value] is rule and self.is_running(job))

    def _cancel(self, job: Job) -> None:
        if job is Job.PREPARING:
            self.drop_preparation()
            return
        task = self._running.get(job)
        # Cancel once: a second cancellation would interrupt the job's own clean-up. An answer ends with its turn.
        if task is not None and job is not Job.ANSWERING and not task.cancelling():
            task.cancel()

    def _end(self, job: Job) -> None:
        self._running.pop(job, None)
        for ended in self._waiting:
            if not ended.done():
                ended.set_result(None)
        self._waiting.clear()
        for ask in tuple(self._again):
            if not any(self._jobs(ask, Rule.WAIT)):
                self._again.pop(ask)()


@contextmanager
def repeated(step: Callable[[], Awaitable[float]], first: float) -> Generator[None]:
    """Repeats a step on the running event loop while the block runs: after `first` seconds, and then each time after as
    many as the step returns. A step that works in a thread when the block ends is completed there."""

    async def repeat() -> None:
        pause = first
        while True:
            await asyncio.sleep(pause)
            pause = await step()

    task = asyncio.get_running_loop().create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
