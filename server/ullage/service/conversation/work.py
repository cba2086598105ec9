"""The work table: what may run beside what in one conversation.

A *job* takes time: other requests arrive while it is suspended. What is *asked* either begins a job or happens within
one step of the event loop, as an edit by hand does. The table has a row per job and a column per ask; its cell says
what happens to the ask while the job runs:

- RUN: it begins at once.
- WAIT: it begins when the job has ended. Prompts and appends queue, first come, first served. What automatic management
  asks for is asked again by itself when the job has ended.
- REFUSE: asked by a user it raises `SessionBusy`; asked by automatic management it is dropped.
- CANCEL: the job is cancelled first.

Several jobs may run at once (a turn is also answering, a shrinking session is also compacting); a wait comes before a
refusal, and a refusal before a cancellation. Four rules explain the cells. What a model is answering to must not change
while it answers, so edits wait or are refused, and a turn sends its request after a compaction that has begun. Two
compactions of one context would be paid for twice, so a second one is refused. Whoever asks for the context, to send it
or to compact it, gets it after the automatic run that is to make it fit. And messages are never refused: an edit covers
a range of the log that later messages do not touch.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct

from ullage.edits.compaction import Summary
from ullage.model.errors import SessionBusy

T = TypeVar("T")


class Job(Enum):
    """What runs. COMPACTING is a summary on its way into the context, by hand or automatic; SHRINKING an automatic run
    from its beginning to its end; PREPARING a summary that is written ahead."""

    COMPACTING = "a compaction of session {} is running; wait for it or cancel it"
    TURN = "the model is at work in session {}; wait for its turn to end, or cancel it"
    ANSWERING = "the model is answering in session {}; wait for its answer, or cancel it"
    SHRINKING = "session {} is being compacted; wait for it or cancel it"
    PREPARING = "a summary of session {} is being prepared; wait for it or cancel it"
    APPENDING = "messages are being appended to session {}; wait for them"


class Ask(Enum):
    """What is asked. READ is the context as a model would be sent it; COMPACT a compaction by hand or its preview; EDIT
    a commit, an undo or a restore; SHRINK and PREPARE come from automatic management; CLOSE ends the conversation;
    ANSWER is a turn's next request to the model."""

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
    """A cell."""

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
    """A summary that is written ahead, of the messages `ids`, which were the view after `edits_seen` edits."""

    ids: frozenset[str]
    edits_seen: int
    task: asyncio.Task[Summary]


class _Place:
    """A prompt's place in the queue. A `dismissed` one does not get its turn."""

    def __init__(self) -> None:
        self.dismissed = False


class Work:
    """What runs in one conversation. `preparation` stays when its task is done, until it is used or dropped."""

    def __init__(self, session_id: str) -> None:
        self.preparation: Preparation | None = None
        self.background: set[asyncio.Task[None]] = set()
        self._session_id = session_id
        self._running: dict[Job, asyncio.Task[Any] | None] = {}
        self._prompts, self._appends = asyncio.Lock(), asyncio.Lock()
        self._places: list[_Place] = []
        self._again: dict[Ask, Callable[[], object]] = {}
        self._waiting: list[asyncio.Future[None]] = []

    def is_running(self, job: Job) -> bool:
        """Whether a job of this kind runs."""
        if job is Job.PREPARING:
            return self.preparation is not None and not self.preparation.task.done()
        return job in self._running

    def require(self, ask: Ask) -> None:
        """Raises `SessionBusy` if a running job refuses what is asked."""
        for job in self._jobs(ask, Rule.REFUSE):
            raise SessionBusy(job.value.format(self._session_id))

    async def wait(self, ask: Ask) -> None:
        """Waits for the jobs that come before what is asked. Raises `SessionBusy` if one that then runs refuses it."""
        while any(self._jobs(ask, Rule.WAIT)):
            # The end of a job, not of its task: the task of a compaction by hand may go on to other things.
            ended = asyncio.get_running_loop().create_future()
            self._waiting.append(ended)
            await ended
        self.require(ask)

    def may(self, ask: Ask, again: Callable[[], object]) -> bool:
        """Whether automatic management may begin what it asks for, which cancels what must be cancelled first. If it
        must wait, `again` is called when the last of the jobs before it has ended."""
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
        """The job runs, in the current task. Raises `SessionBusy` if one of its kind runs already."""
        if job in self._running:
            raise SessionBusy(job.value.format(self._session_id))
        self._running[job] = asyncio.current_task()
        try:
            yield
        finally:
            self._end(job)

    def start(self, job: Job, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
        """Runs the job in a task of its own."""
        task = self._running[job] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(lambda _: self._end(job))
        return task

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs something that no other work has to take notice of."""
        task = asyncio.get_running_loop().create_task(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[bool]:
        """Waits until no other turn runs, and keeps others waiting. False for a prompt that was dismissed meanwhile."""
        place = _Place()
        self._places.append(place)
        try:
            async with self._prompts:
                yield not place.dismissed
        finally:
            self._places.remove(place)

    @asynccontextmanager
    async def appending(self) -> AsyncGenerator[None]:
        """One append at a time: a message that takes long to count must not be overtaken by the next."""
        async with self._appends:
            self._running[Job.APPENDING] = asyncio.current_task()
            try:
                yield
            finally:
                self._end(Job.APPENDING)

    def cancel(self) -> None:
        """Cancels every job that closing would cancel, but keeps a prepared summary that is complete."""
        for job in tuple(self._jobs(Ask.CLOSE, Rule.CANCEL)):
            self._cancel(job)

    async def close(self) -> None:
        """Cancels every job, dismisses the prompts that wait, and returns when the running turn has ended."""
        for place in self._places:
            place.dismissed = True
        self._again.clear()
        self.cancel()
        self.drop_preparation()
        turn = self._running.get(Job.TURN)
        if turn is not None:
            await asyncio.wait([turn])

    def drop_preparation(self) -> None:
        """Forgets a prepared summary, and cancels its writing."""
        preparation, self.preparation = self.preparation, None
        if preparation is not None:
            preparation.task.cancel()

    def _jobs(self, ask: Ask, rule: Rule) -> Iterator[Job]:
        """The running jobs that have this rule for what is asked."""
        return (job for job in Job if TABLE[job][ask.value] is rule and self.is_running(job))

    def _cancel(self, job: Job) -> None:
        if job is Job.PREPARING:
            self.drop_preparation()
            return
        task = self._running.get(job)
        # Once: a second time would break off what the job does to end in order. An answer is part of its turn.
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
