"""One proxied session in Ullage's store. The proxy calls the service only here and in `compactions.py`."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ullage.acp.context_text import context_text
from ullage.acp.replay import message_updates
from ullage.acp.updates import OwnUpdate
from ullage.api.values import usage_result
from ullage.model.errors import SessionNotFound
from ullage.model.events import AgentAttached, ModelChanged, SessionCreated, SessionForked, UsageReported
from ullage.model.message import Message, Role
from ullage.model.updates import SessionInfoUpdate, Update, UsageUpdate
from ullage.model.usage import Usage, UsageSource
from ullage.service.compact.automatic import look_after
from ullage.service.compact.by_hand import transcript_page
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import usage_update
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import append
from ullage.transcript.view import Item

# Messages of a history that are read at a time.
_PAGE = 100


class SessionRecord:
    """A session of the store by its id. The session may not exist yet.

    Unless a method says otherwise, it raises `SessionNotFound` if the session is not in the store, and `StoreError` if
    the store fails.
    """

    def __init__(self, workspace: Workspace, session_id: str) -> None:
        self.workspace = workspace
        self.id = session_id

    @property
    def session(self) -> Session:
        """The session, up to date with the store."""
        return self.workspace.session(self.id)

    @property
    def exists(self) -> bool:
        """Whether the session is in the store. Doesn't raise `SessionNotFound`."""
        try:
            return self.session.id == self.id
        except SessionNotFound:
            return False

    @property
    def used(self) -> int:
        """Tokens in the context."""
        return self.session.used

    @property
    def keeper(self) -> AgentAttached | None:
        """The agent that keeps the session, with the agent's id of it.

        None if the session is not in the store, or is hosted.
        """
        return self.session.transcript.agent if self.exists else None

    def is_full(self, at_least: float) -> bool:
        """Returns whether a compaction is due by the session's settings, at a size of at least `at_least` tokens."""
        session = self.session
        budget = self.workspace.budget(session)
        if budget is None or not self.workspace.settings_of(session).enabled:
            return False
        return session.used >= max(budget.compact_at, at_least)

    def begin(self, created: SessionCreated, attached: AgentAttached) -> None:
        """Adds the session to the store."""
        self.workspace.adopt(self.id, [created, attached])

    def begin_fork(self, parent_id: str, attached: AgentAttached) -> None:
        """Adds the session to the store as a fork of the session `parent_id`, whose log so far it shares."""
        parent = self.workspace.session(parent_id).transcript
        title = f"{parent.title} (fork)".strip()
        forked = SessionForked(parent_id=parent_id, position=parent.position, title=title)
        self.workspace.record(self.workspace.fork(parent.position, self.id, forked), attached)

    def attach(self, attached: AgentAttached) -> None:
        """Records which agent keeps the session, if that has changed."""
        session = self.session
        if session.transcript.agent != attached:
            self.workspace.record(session, attached)

    def change_model(self, model: str) -> None:
        """Records the model, if it has changed."""
        session = self.session
        if session.model != model:
            self.workspace.record(session, ModelChanged(model=model))

    async def add(self, messages: Sequence[Message]) -> None:
        """Appends messages, with new ids and the present time."""
        ids, now = self.workspace.ports.ids, self.workspace.ports.clock.now()
        made = [replace(message, id=ids.new("m"), timestamp=now) for message in messages]
        if made:
            await append(self.workspace, self.id, made, None)

    def report(self, used: int) -> None:
        """Records how many tokens the agent reports in its context.

        The agent reports one figure for the whole context, so the part of the last answer is counted here. Nothing is
        recorded if there is no answer.
        """
        session = self.session
        answers = _answers(session, 1)
        if not answers:
            return
        answer = answers[-1].message
        output = min(used - 1, session.tracker.scale(session.counts[answer.id].total)) if used else 0
        usage = Usage(input_tokens=used - output, output_tokens=output)
        session = self.workspace.record(session, UsageReported(usage=usage, message_id=answer.id))
        look_after(self.workspace, session, answered=True)

    def report_sum(self, summed: int, rounds: int) -> None:
        """Records a figure that adds up the requests of a turn with `rounds` answers.

        The size of the last request is derived from the sum: it exceeds each earlier request by the messages between
        them. Nothing is recorded if there is a report already, because a report plus our count of later messages is
        more accurate.
        """
        session = self.session
        answers = _answers(session, rounds)
        if session.tracker.reading.source is not UsageSource.ESTIMATED or not answers:
            return
        items = session.transcript.items
        tokens = {item.index: count for item, count in zip(items, session.tokens_of(items), strict=True)}
        last = answers[-1].index
        missing = sum(tokens[index] for answer in answers for index in range(answer.index, last) if index in tokens)
        self.report((summed + missing) // len(answers))

    def usage_update(self) -> UsageUpdate | SessionInfoUpdate:
        """Returns the context's size as an update for the client."""
        return usage_update(self.workspace, self.session)

    def context_text(self) -> str:
        """Returns the context's size and its breakdown as Markdown."""
        return context_text(usage_result(self.workspace, self.session))

    def history(self) -> Iterator[tuple[Update | OwnUpdate, ...]]:
        """Yields the whole transcript as updates for the client, with compactions at their places.

        Each item has the updates of at most `_PAGE` messages.
        """
        describe = self.workspace.ports.toolbox.describe
        start, total = 0, 1
        while start < total:
            page = transcript_page(self.workspace, self.id, start, _PAGE)
            yield tuple(update for entry in page.entries for update in message_updates(entry.message, describe))
            start, total = start + _PAGE, page.total


def _answers(session: Session, most: int) -> list[Item]:
    """Returns the last answers of the view, at most `most`, the oldest first."""
    found = [item for item in session.transcript.items if item.message.role is Role.ASSISTANT]
    return found[-most:]
