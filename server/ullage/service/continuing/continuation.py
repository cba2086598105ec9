"""A new session of an agent: a context as a file in the agent's own format, which the agent resumes."""

import shlex
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, is_system, uuid_of
from ullage.agents.table import AGENTS, agent_called, agent_of_format
from ullage.model.errors import InvalidRequest
from ullage.model.message import Message, Role
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.new_files import NewFiles


class Continuation(Struct, frozen=True, kw_only=True):
    """A session that an agent can resume once its file is written.

    `agent` is the agent's name, `data` the content of the file at `path`, and `command` resumes the session in the
    folder `session.cwd`. `used` is the tokens of its context with the `hidden` ones, which the agent adds to each
    request.
    """

    agent: str
    session: NewSession
    path: str
    data: bytes
    command: tuple[str, ...]
    used: int
    hidden: int

    @property
    def shell_command(self) -> str:
        """A line for a shell that resumes the session from any folder."""
        return f"cd {shlex.quote(self.session.cwd)} && {shlex.join(self.command)}"


class Target(Struct, frozen=True, kw_only=True):
    """The agent that is to resume a conversation, and how its sessions are written. `is_own` says whether it is the
    conversation's own agent, and `version` which version of it wrote the conversation; "" if unknown."""

    agent: Agent
    writer: SessionWriter
    is_own: bool
    version: str = ""


def target_of(conversation: Conversation, word: str = "") -> Target:
    """Returns the agent that commands call `word`, or without a word the conversation's own.

    Raises `InvalidRequest` if there is no such agent, if its sessions can't be written, or if the conversation is of a
    version of its agent that is not known.
    """
    origin = conversation.transcript.origin
    own = agent_of_format(origin.format) if origin else None
    version = origin.version if origin else ""
    agent = agent_called(word) if word else own
    if word and agent is None:
        raise InvalidRequest(f"there is no agent {word!r}; a new session can be made for: {_possible()}")
    if agent is None:
        raise InvalidRequest(f"this is no conversation of an agent; a new session can be made for: {_possible()}")
    if agent.writer is None:
        raise InvalidRequest(f"no new session can be made for {agent.name}; it can for: {_possible()}")
    if own and own.writer and (reason := own.writer.unknown(version)):
        raise InvalidRequest(f"a conversation of this version of {own.name} can't be continued: {reason}")
    is_own = own is agent
    return Target(agent=agent, writer=agent.writer, is_own=is_own, version=version if is_own else "")


def plan_continuation(
    conversation: Conversation, target: Target, machine: Machine, cwd: str, hidden: int = 0
) -> Continuation:
    """Returns a new session with the context of an imported conversation. Nothing is written.

    `cwd` is the folder if the conversation names none. The paths of `machine` are used as they are. `hidden` is what
    the agent adds to each request in addition to the messages that its files contain, in tokens. Another agent gets no
    system prompt, and nothing that the conversation's own agent would write again. Raises `InvalidRequest` if the
    context is empty.
    """
    transcript, ports = conversation.transcript, conversation.workspace.ports
    sizes = conversation.projection.tokens_of(transcript.items)
    counted = [*zip((item.message for item in transcript.items), sizes, strict=True)]
    if not target.is_own:
        is_own = _is_own(conversation)
        counted = [(message, size) for message, size in counted if not is_own(message)]
    messages = summary_first([message for message, _ in counted])
    if not any(not target.writer.is_own(message) for message in messages):
        raise InvalidRequest("the context is empty, so there is nothing to continue")
    used = (conversation.used if target.is_own else sum(size for _, size in counted)) + hidden
    session = NewSession(
        id=uuid_of(ports.ids.new("continued")),
        cwd=transcript.cwd or cwd,
        messages=messages,
        made_at=ports.clock.now(),
        version=target.version,
        model=conversation.model if target.is_own else "",
        title=transcript.title,
        used=used - _after_answer(counted),
        window=conversation.budget.window if target.is_own and conversation.budget else None,
    )
    return Continuation(
        agent=target.agent.name,
        session=session,
        path=target.writer.path(machine, session),
        data=b"".join(msgspec.json.encode(line) + b"\n" for line in target.writer.lines(session)),
        command=target.writer.command(session),
        used=used,
        hidden=hidden,
    )


def write_continuation(files: NewFiles, continuation: Continuation) -> None:
    """Writes the file of a new session. Raises `InvalidRequest` if that fails; no file is changed then."""
    files.create(continuation.path, continuation.data)


def summary_first(view: Sequence[Message]) -> tuple[Message, ...]:
    """Returns a view with its first marker before all messages, where agents have a summary."""
    at = next((at for at, message in enumerate(view) if message.compaction), 0)
    return (*view[at : at + 1], *view[:at], *view[at + 1 :])


def _after_answer(counted: Sequence[tuple[Message, int]]) -> int:
    """Returns the tokens of the messages after the last answer."""
    answers = (at for at, (message, _) in enumerate(counted) if message.role is Role.ASSISTANT)
    last = max(answers, default=-1)
    return sum(size for _, size in counted[last + 1 :])


def _is_own(conversation: Conversation) -> Callable[[Message], bool]:
    """Returns what says whether the conversation's own agent would write a message again by itself."""
    origin = conversation.transcript.origin
    agent = agent_of_format(origin.format) if origin else None
    return agent.writer.is_own if agent and agent.writer else is_system


def _possible() -> str:
    return ", ".join(_with_writers())


def _with_writers() -> Iterator[str]:
    return (agent.name for agent in AGENTS if agent.writer)
