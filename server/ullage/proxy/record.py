"""One proxied session in Ullage's store, and the recorder that writes it in the background.

Jobs run in order, so that forwarding is not delayed. If the store fails, recording ends with a notice; the client and
its agent continue. The proxy calls the service only here and in `compactions.py`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.acp.announce import OwnUpdate
from ullage.acp.sessions import message_updates
from ullage.api.protocol import context_text, usage_result
from ullage.model.errors import SessionNotFound, UllageError
from ullage.model.events import AgentAttached, EditReverted, ModelChanged, SessionCreated, SessionForked, UsageReported
from ullage.model.message import Message, Role
from ullage.model.updates import SessionInfoUpdate, Update, UsageUpdate
from ullage.model.usage import Usage, UsageSource
from ullage.service.conversation.conversation import Conversation, transcript_page
from ullage.service.conversation.usage import usage_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import append
from ullage.transcript.view import Item

# Messages of a history that are read at a time.
_PAGE = 100
log = logging.getLogger(__name__)
# Jobs that may wait before `put` waits too. The fastest replay of an agent is some hundred messages, and memory stays
# bounded.
_MOST_WAITING = 256
# Conversations that stay in memory, 25 kB each or some megabytes if long. Users work in a few at a time; of an
# older one the record is read again with its next prompt.
_MOST_OPEN = 32
Job = Callable[[Workspace], Awaitable[None]]


class SessionRecord:
    """The session with the id `session_id` in the store. It may not exist yet.

    Unless a method says otherwise, it raises `SessionNotFound` if the session is not in the store, and `StoreError` if
    the store fails.
    """

    def __init__(self, workspace: Workspace, session_id: str) -> None:
        self.workspace = workspace
        self.id = session_id

    @property
    def conversation(self) -> Conversation:
        """The session opened from the store, up to date."""
        return self.workspace.open(self.id)

    @property
    def exists(self) -> bool:
        """Whether the session is in the store. Doesn't raise `SessionNotFound`."""
        try:
            return self.conversation.id == self.id
        except SessionNotFound:
            return False

    @property
    def used(self) -> int:
        """The tokens in the context."""
        return self.conversation.used

    @property
    def keeper(self) -> AgentAttached | None:
        """The agent that holds the session, with the agent's id of it.

        None if the session is not in the store, or is hosted. Doesn't raise `SessionNotFound`.
        """
        return self.conversation.transcript.agent if self.exists else None

    @property
    def has_returned(self) -> bool:
        """Whether a compaction was undone, or another agent has had the session, so that the agent's own history may
        differ from the transcript. False if the session is not in the store."""
        keeper = self.keeper
        if keeper is None:
            return False
        events = [record.event for record in self.workspace.ports.store.read(self.id)]
        others = any(isinstance(event, AgentAttached) and event.agent != keeper.agent for event in events)
        return others or any(isinstance(event, EditReverted) for event in events)

    def is_full(self, at_least: float, reported: int | None) -> bool:
        """Returns whether the context has reached the compaction threshold and also has at least `at_least` tokens.

        `reported` is the context's size in tokens as an agent that reports it has last done, or None. Returns False if
        automatic compaction is off or the window is unknown.
        """
        conversation = self.conversation
        budget = conversation.budget
        if budget is None or not conversation.settings.enabled:
            return False
        used = conversation.used if reported is None else reported
        return used >= max(budget.compact_at, at_least)

    def begin(self, created: SessionCreated, attached: AgentAttached) -> None:
        """Adds the session to the store with these two events. Doesn't raise `SessionNotFound`."""
        self.workspace.adopt(self.id, [created, attached])

    def begin_fork(self, parent_id: str, attached: AgentAttached) -> None:
        """Adds the session to the store as a fork of the session `parent_id`, with whose log it begins. Raises
        `SessionNotFound` if the parent is not in the store."""
        parent = self.workspace.open(parent_id).transcript
        title = f"{parent.title} (fork)".strip()
        forked = SessionForked(parent_id=parent_id, position=parent.position, title=title)
        self.workspace.fork(parent.position, self.id, forked, lambda _: [attached]).record()

    def attach(self, attached: AgentAttached) -> None:
        """Records which agent holds the session, and under which id, if that has changed. The window stays known until
        the agent reports another. What waited for a report of an agent that no longer reports is done now."""
        conversation, former = self.conversation, self.conversation.transcript.agent
        if former is not None and former.agent == attached.agent and attached.window is None:
            # The agent has reported it to an earlier process of the proxy.
            attached = replace(attached, window=former.window)
        if former != attached:
            conversation.record(attached)
            if former is not None and former.reports and not attached.reports:
                conversation.record()

    def change_model(self, model: str) -> None:
        """Records the model, if it differs from the recorded one."""
        conversation = self.conversation
        if conversation.transcript.model != model:
            conversation.record(ModelChanged(model=model))

    async def add(self, messages: Sequence[Message]) -> None:
        """Appends the messages to the session, each with a new id and the current time."""
        ids, now = self.workspace.ports.ids, self.workspace.ports.clock.now()
        made = [replace(message, id=ids.new("m"), timestamp=now) for message in messages]
        if made:
            await append(self.conversation, made, None, {message.id for message in made})

    def report(self, used: int) -> None:
        """Records `used`, the number of tokens that the agent reports in its context, as the usage of the last answer.

        The agent reports one figure for the whole context, but the log needs the input and the output of a request. So
        the answer's tokens are counted here, and the rest of the figure is the input. Nothing is recorded if there is
        no answer.
        """
        conversation = self.conversation
        answers, projection = _answers(conversation, 1), conversation.projection
        if not answers:
            return
        answer = answers[-1].message
        output = min(used - 1, projection.tracker.scale(projection.counts[answer.id].total)) if used else 0
        usage = Usage(input_tokens=used - output, output_tokens=output)
        conversation.record(UsageReported(usage=usage, message_id=answer.id))

    def report_sum(self, summed: int, rounds: int) -> None:
        """Records the size of the context from `summed`, the sum of the tokens of all requests in a turn with `rounds`
        answers.

        The size of the last request is derived from the sum: it exceeds each earlier request by the messages between
        them. Nothing is recorded if a figure was reported before, because that figure plus Ullage's count of the later
        messages is more accurate.
        """
        conversation = self.conversation
        answers, projection = _answers(conversation, rounds), conversation.projection
        if projection.tracker.reading.source is not UsageSource.ESTIMATED or not answers:
            return
        items = conversation.transcript.items
        tokens = {item.index: count for item, count in zip(items, projection.tokens_of(items), strict=True)}
        last = answers[-1].index
        missing = sum(tokens[index] for answer in answers for index in range(answer.index, last) if index in tokens)
        self.report((summed + missing) // len(answers))

    def usage_update(self) -> UsageUpdate | SessionInfoUpdate:
        """Returns the session update that shows the context's size to the client."""
        return usage_update(self.conversation)

    def context_text(self) -> str:
        """Returns the answer to `/context`: the context's size and its breakdown as Markdown."""
        return context_text(usage_result(self.conversation))

    def history(self) -> Iterator[tuple[Update | OwnUpdate, ...]]:
        """Yields the whole transcript as session updates for the client, with compactions at their places.

        Each item has the updates of one page of at most 100 messages.
        """
        conversation, describe = self.conversation, self.workspace.ports.toolbox.describe
        start, total = 0, 1
        while start < total:
            page = transcript_page(conversation, start, _PAGE)
            yield tuple(update for entry in page.entries for update in message_updates(entry.message, describe))
            start, total = start + _PAGE, page.total


def _answers(conversation: Conversation, most: int) -> list[Item]:
    found = [item for item in conversation.transcript.items if item.message.role is Role.ASSISTANT]
    return found[-most:]


class Store(Struct, frozen=True):
    """How the workspace is opened: `prepare` is called in a thread, because it takes long, then `open` returns the
    workspace."""

    prepare: Callable[[], object]
    open: Callable[[], Workspace]


class Recorder:
    """Runs recording jobs one after another. A job gets the workspace.

    `failed` is called once with the reason if the store fails; no job runs after that. `workspace` is None before the
    first job and after a failure.
    """

    def __init__(self, store: Store, failed: Callable[[str], object]) -> None:
        self._store = store
        self._failed = failed
        self._jobs: asyncio.Queue[Job] = asyncio.Queue(_MOST_WAITING)
        self._task = asyncio.ensure_future(self._run())
        self._broken = False
        self.workspace: Workspace | None = None

    async def put(self, job: Job) -> None:
        """Adds a job, which runs after the jobs before it. Returns at once, unless 256 jobs wait already."""
        await self._jobs.put(job)

    async def opened(self) -> Workspace | None:
        """Waits for all jobs so far and returns the workspace, which is opened if no job has opened it yet.

        Returns None if the store failed.
        """
        await self._jobs.put(_nothing)
        return await self.settled()

    async def settled(self) -> Workspace | None:
        """Waits for all jobs so far and returns the workspace.

        Returns None if the store failed or no job has run yet.
        """
        await self._jobs.join()
        return None if self._broken else self.workspace

    async def close(self) -> None:
        """Waits for all jobs so far, then ends the recorder's task. The workspace is not closed."""
        await self._jobs.join()
        self._task.cancel()

    async def _run(self) -> None:
        while True:
            job = await self._jobs.get()
            try:
                if not self._broken:
                    workspace = await self._open()
                    await job(workspace)
                    workspace.drop_quiet(_MOST_OPEN)
            except UllageError as error:
                log.warning("The conversation is no longer recorded: %s", error)
                self._broken, self.workspace = True, None
                self._failed(str(error))
            except Exception:
                # A message that can't be recorded must stop neither the conversation nor later messages.
                log.exception("A message was not recorded")
            finally:
                self._jobs.task_done()

    async def _open(self) -> Workspace:
        if self.workspace is None:
            await asyncio.to_thread(self._store.prepare)
            self.workspace = self._store.open()
        return self.workspace


async def _nothing(_: Workspace) -> None:
    pass
