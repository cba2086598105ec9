"""The store's side of the proxy: what passes is recorded behind it, in order, and never holds it up.

A store that fails ends the recording, with a notice; the client and its agent go on.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.errors import SessionNotFound, UllageError
from ullage.model.events import AgentAttached, ModelChanged, SessionCreated, SessionForked, UsageReported
from ullage.model.message import Message, Role
from ullage.model.usage import Usage, UsageSource
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import append
from ullage.transcript.view import Item

log = logging.getLogger(__name__)
# Jobs that may wait before whoever gives more of them waits, too.
_MOST_WAITING = 256
Job = Callable[[Workspace], Awaitable[None]]


class Store(Struct, frozen=True):
    """How the workspace is opened: `prepare` is called in a thread first, since it takes long."""

    prepare: Callable[[], object]
    open: Callable[[], Workspace]


class Recorder:
    """Runs jobs on the workspace one after another. `failed` is told why nothing more is recorded, once."""

    def __init__(self, store: Store, failed: Callable[[str], object]) -> None:
        self._store = store
        self._failed = failed
        self._jobs: asyncio.Queue[Job] = asyncio.Queue(_MOST_WAITING)
        self._task = asyncio.ensure_future(self._run())
        self._broken = False
        self.workspace: Workspace | None = None

    async def put(self, job: Job) -> None:
        """Has a job done. Waits only when too many do."""
        await self._jobs.put(job)

    async def opened(self) -> Workspace | None:
        """The workspace, whatever still waits to be recorded; None where there is none to be had."""
        await self._jobs.put(_nothing)
        return await self.settled()

    async def settled(self) -> Workspace | None:
        """The workspace once all jobs so far are done; None where there is none to be had."""
        await self._jobs.join()
        return None if self._broken else self.workspace

    async def close(self) -> None:
        """Does what waits, and ends."""
        await self._jobs.join()
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                if not self._broken:
                    await job(await self._open())
            except UllageError as error:
                log.warning("The conversation is no longer recorded: %s", error)
                self._broken = True
                self._failed(str(error))
            except Exception:
                # What cannot be recorded must not stop the conversation, nor what comes after it.
                log.exception("a message was not recorded")
            finally:
                self._jobs.task_done()

    async def _open(self) -> Workspace:
        if self.workspace is None:
            await asyncio.to_thread(self._store.prepare)
            self.workspace = self._store.open()
        return self.workspace


async def _nothing(_: Workspace) -> None:
    pass


def find_session(workspace: Workspace, session_id: str) -> Conversation | None:
    """The session as recorded, if it is."""
    try:
        return workspace.open(session_id)
    except SessionNotFound:
        return None


def begin_session(workspace: Workspace, session_id: str, created: SessionCreated, attached: AgentAttached) -> None:
    """Starts the record of a session."""
    workspace.adopt(session_id, [created, attached])


def fork_session(workspace: Workspace, parent_id: str, session_id: str, attached: AgentAttached) -> None:
    """Starts the record of a fork, which shares its parent's past."""
    parent = workspace.open(parent_id).transcript
    title = f"{parent.title} (fork)".strip()
    forked = SessionForked(parent_id=parent_id, position=parent.position, title=title)
    workspace.fork(parent.position, session_id, forked).record(attached)


def attach(workspace: Workspace, session_id: str, attached: AgentAttached) -> None:
    """Records who keeps the session, where that is news."""
    conversation = workspace.open(session_id)
    if conversation.transcript.agent != attached:
        conversation.record(attached)


def change_model(workspace: Workspace, session_id: str, model: str) -> None:
    """Records the model, where that is news."""
    conversation = workspace.open(session_id)
    if conversation.transcript.model != model:
        conversation.record(ModelChanged(model=model))


async def add_messages(workspace: Workspace, session_id: str, messages: Sequence[Message]) -> None:
    """Records messages; they get their ids and times now."""
    ids, now = workspace.ports.ids, workspace.ports.clock.now()
    made = [replace(message, id=ids.new("m"), timestamp=now) for message in messages]
    if made:
        await append(workspace.open(session_id), made, None)


def report(workspace: Workspace, session_id: str, used: int) -> None:
    """Records what the agent says of its context. It tells one figure for all of it: what the last answer is of that is
    counted here."""
    conversation = workspace.open(session_id)
    answers, projection = _answers(conversation, 1), conversation.projection
    if not answers:
        return
    answer = answers[-1].message
    output = min(used - 1, projection.tracker.scale(projection.counts[answer.id].total)) if used else 0
    usage = Usage(input_tokens=used - output, output_tokens=output)
    conversation.record(UsageReported(usage=usage, message_id=answer.id))


def report_sum(workspace: Workspace, session_id: str, summed: int, rounds: int) -> None:
    """Records what the agent says of all requests of a turn together. Our own count of what came since the last report
    is better than what can be got from a sum, so that serves only where there is none: the last request exceeds each
    before it by what was said between them."""
    conversation = workspace.open(session_id)
    if conversation.projection.tracker.reading.source is not UsageSource.ESTIMATED:
        return
    answers = _answers(conversation, rounds)
    items = conversation.transcript.items
    tokens = {item.index: count for item, count in zip(items, conversation.projection.tokens_of(items), strict=True)}
    last = answers[-1].index
    missing = sum(tokens[index] for answer in answers for index in range(answer.index, last) if index in tokens)
    report(workspace, session_id, (summed + missing) // len(answers))


def _answers(conversation: Conversation, most: int) -> list[Item]:
    """The last answers of the view, the oldest first."""
    found = [item for item in conversation.transcript.items if item.message.role is Role.ASSISTANT]
    return found[-most:]
