"""A new session of an agent: a context as a file in the agent's own format, which the agent resumes."""

import shlex
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, uuid_of
from ullage.agents.table import AGENTS, agent_of_format
from ullage.model.edits import CompactionEdit
from ullage.model.errors import InvalidRequest
from ullage.model.events import ContextEdited, EditReverted, Event, MessageAppended
from ullage.model.message import Message
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.new_files import NewFiles
from ullage.transcript.cut_points import cut_points


class Continuation(Struct, frozen=True, kw_only=True):
    """A session that an agent can resume once its file is written. `agent` is the agent's name, `data` the content of
    the file at `path`, and `command` resumes the session in the folder `session.cwd`."""

    agent: str
    session: NewSession
    path: str
    data: bytes
    command: tuple[str, ...]

    @property
    def shell_command(self) -> str:
        """A line for a shell that resumes the session from any folder."""
        return f"cd {shlex.quote(self.session.cwd)} && {shlex.join(self.command)}"


def plan_continuation(conversation: Conversation, machine: Machine, cwd: str) -> Continuation:
    """Returns a new session with the context of an imported conversation, for its own agent. `cwd` is the folder if the
    conversation names none. The paths of `machine` are used as they are. Nothing is written.

    Raises `InvalidRequest` if the conversation is not an agent's, or of an agent or version whose sessions can't be
    written, or if the context is empty.
    """
    agent, writer = _writer_of(conversation)
    transcript, ports = conversation.transcript, conversation.workspace.ports
    version = transcript.origin.version if transcript.origin else ""
    if reason := writer.unknown(version):
        raise InvalidRequest(f"a conversation of this version of {agent.name} can't be continued: {reason}")
    messages = summary_first(transcript.view)
    if not messages:
        raise InvalidRequest("the context is empty, so there is nothing to continue")
    session = NewSession(
        id=uuid_of(ports.ids.new("continued")),
        cwd=transcript.cwd or cwd,
        messages=messages,
        made_at=ports.clock.now(),
        version=version,
        model=conversation.model,
        title=transcript.title,
    )
    return Continuation(
        agent=agent.name,
        session=session,
        path=writer.path(machine, session),
        data=b"".join(msgspec.json.encode(line) + b"\n" for line in writer.lines(session)),
        command=writer.command(session),
    )


def write_continuation(files: NewFiles, continuation: Continuation) -> None:
    """Writes the file of a new session. Raises `InvalidRequest` if that fails; no file is changed then."""
    files.create(continuation.path, continuation.data)


def summary_first(view: Sequence[Message]) -> tuple[Message, ...]:
    """Returns a view with its first marker before all messages, where agents have a summary."""
    at = next((at for at, message in enumerate(view) if message.compaction), 0)
    return (*view[at : at + 1], *view[:at], *view[at + 1 :])


def events_before_compaction(events: Sequence[Event]) -> Sequence[Event]:
    """Returns the events before the agent's own last compaction that is in force. Raises `InvalidRequest` if there is
    none."""
    reverted = {event.edit_id: event.reverted for event in events if isinstance(event, EditReverted)}
    for at in reversed(range(len(events))):
        event = events[at]
        edit = event.edit if isinstance(event, ContextEdited) else None
        if isinstance(edit, CompactionEdit) and edit.by_agent and not reverted.get(edit.id):
            return events[:at]
    raise InvalidRequest("the agent has compacted nothing that is still compacted, so there is nothing to go back to")


def whole_up_to(events: Sequence[Event], number: int) -> int:
    """Returns the number of the first message from `number` on after which the conversation may be cut: a tool call
    stays with its result. Raises `InvalidRequest` if there are fewer messages."""
    messages = [event.message for event in events if isinstance(event, MessageAppended)]
    if number > len(messages):
        raise InvalidRequest(f"there is no message #{number:,}; the conversation has {len(messages):,}")
    return next(cut for cut in cut_points(messages) if cut >= number)


def _writer_of(conversation: Conversation) -> tuple[Agent, SessionWriter]:
    origin = conversation.transcript.origin
    agent = agent_of_format(origin.format) if origin else None
    possible = ", ".join(_with_writers())
    if agent is None:
        raise InvalidRequest(f"this is no conversation of an agent; a new session can be made for: {possible}")
    if agent.writer is None:
        raise InvalidRequest(f"no new session can be made for {agent.name}; it can for: {possible}")
    return agent, agent.writer


def _with_writers() -> Iterator[str]:
    return (agent.name for agent in AGENTS if agent.writer)
