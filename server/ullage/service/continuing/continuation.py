"""A new session of an agent: a context as a file in the agent's own format, which the agent resumes."""

import shlex
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, is_system, uuid_of
from ullage.agents.table import AGENTS, agent_called, agent_of_format
from ullage.model.blocks import ThinkingBlock
from ullage.model.errors import InvalidRequest
from ullage.model.message import Message, Role
from ullage.service.conversation.conversation import Conversation


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


class Known(Struct, frozen=True, kw_only=True):
    """What is known of the agent that is to resume a session, in tokens: what it adds to each request (`hidden`), the
    window (`size`) and where it compacts by itself, None if unknown. `measure` counts a message as its model does; None
    if it is the conversation's own agent, or its model's tokenizer is not known."""

    hidden: int = 0
    size: int | None = None
    compacts_at: int | None = None
    measure: Callable[[Message], int] | None = None


class Target(Struct, frozen=True, kw_only=True):
    """The agent that is to resume a conversation, and how its sessions are written. `is_own` says whether it is the
    conversation's own agent, and `version` which version of it wrote the conversation; "" if unknown."""

    agent: Agent
    writer: SessionWriter
    is_own: bool
    version: str = ""

    @property
    def keeps_reasoning(self) -> bool:
        """Whether the new session has the conversation's reasoning. No agent can read another one's."""
        return self.is_own and self.writer.keeps_reasoning


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


def spoken(
    conversation: Conversation, target: Target, measure: Callable[[Message], int] | None = None
) -> Sequence[tuple[Message, int]]:
    """Returns the messages of the context with their tokens, as the new session has them. `measure` is that of `Known`.

    Messages are left out that the conversation's own agent wrote and writes again by itself in a new session, such as
    its system prompt. So is reasoning, if the agent that is to resume the session can't have it.
    """
    items = conversation.transcript.items
    counted = zip((item.message for item in items), conversation.projection.tokens_of(items), strict=True)
    origin = conversation.transcript.origin
    agent = agent_of_format(origin.format) if origin else None
    is_own = agent.writer.is_own if agent and agent.writer else is_system
    kept = [(message, tokens) for message, tokens in counted if not is_own(message)]
    said = kept if target.keeps_reasoning else [*_without_reasoning(conversation, kept)]
    return [(message, measure(message)) for message, _ in said] if measure else said


def plan_continuation(
    conversation: Conversation, target: Target, machine: Machine, cwd: str, known: Known
) -> Continuation:
    """Returns a new session with the context of an imported conversation. Nothing is written.

    `cwd` is the folder if the conversation names none. The paths of `machine` are used as they are. Raises
    `InvalidRequest` if the context is empty.
    """
    transcript, ports = conversation.transcript, conversation.workspace.ports
    counted = spoken(conversation, target, known.measure)
    messages = summary_first([message for message, _ in counted])
    if not any(not target.writer.is_own(message) for message in messages):
        raise InvalidRequest("the context is empty, so there is nothing to continue")
    used = known.hidden + sum(tokens for _, tokens in counted)
    session = NewSession(
        id=uuid_of(ports.ids.new("continued")),
        cwd=transcript.cwd or cwd,
        messages=messages,
        made_at=ports.clock.now(),
        version=target.version,
        origin_id=(transcript.origin.origin_id if transcript.origin else "") or conversation.id,
        model=conversation.model if target.is_own else "",
        title=transcript.title,
        used=used - _after_answer(counted),
        window=known.size,
    )
    return Continuation(
        agent=target.agent.name,
        session=session,
        path=target.writer.path(machine, session),
        data=b"".join(msgspec.json.encode(line) + b"\n" for line in target.writer.lines(session)),
        command=target.writer.command(session),
        used=used,
        hidden=known.hidden,
    )


def summary_first(view: Sequence[Message]) -> tuple[Message, ...]:
    """Returns a view with its first marker before all messages, where agents have a summary."""
    at = next((at for at, message in enumerate(view) if message.compaction), 0)
    return (*view[at : at + 1], *view[:at], *view[at + 1 :])


def _without_reasoning(
    conversation: Conversation, counted: Sequence[tuple[Message, int]]
) -> Iterator[tuple[Message, int]]:
    measure = conversation.projection.counted_view().measure
    for message, tokens in counted:
        content = tuple(block for block in message.content if not isinstance(block, ThinkingBlock))
        if len(content) == len(message.content):
            yield message, tokens
        elif content:
            rest = replace(message, content=content, provided=None)
            yield rest, measure(rest)


def _after_answer(counted: Sequence[tuple[Message, int]]) -> int:
    """Returns the tokens of the messages after the last answer."""
    answers = (at for at, (message, _) in enumerate(counted) if message.role is Role.ASSISTANT)
    last = max(answers, default=-1)
    return sum(size for _, size in counted[last + 1 :])


def _possible() -> str:
    return ", ".join(_with_writers())


def _with_writers() -> Iterator[str]:
    return (agent.name for agent in AGENTS if agent.writer)
