"""New sessions of agents, written and read back: what an agent will send, as a request compares it."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from support.claude_log import BEGAN
from ullage.agents.agent import Agent
from ullage.agents.new_session import NewSession, SessionWriter, summary_text
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import parse_document
from ullage.formats.provider import write_anthropic, write_responses
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.message import CompactionBlock, Message, Role, TextBlock
from ullage.service.continuing import summary_first
from ullage.transcript.fold import project

SESSION_ID = "3f0c2a51-7d1e-4c8b-9a41-6f1f2d3c4b5a"


def session_of(view: Sequence[Message], **facts: Any) -> NewSession:
    """Returns a new session with this view."""
    return NewSession(id=SESSION_ID, cwd="/home/me/shop", made_at=BEGAN, messages=summary_first(view), **facts)


def writer_of(agent: Agent) -> SessionWriter:
    assert agent.writer is not None
    return agent.writer


def written(agent: Agent, session: NewSession) -> bytes:
    """Returns the session's file."""
    return b"".join(msgspec.json.encode(line) + b"\n" for line in writer_of(agent).lines(session))


def read_again(agent: Agent, session: NewSession) -> ImportedTranscript:
    """Writes a session and reads it as Ullage reads that agent's files."""
    read = read_document(parse_document(written(agent, session), "new.jsonl"))
    assert read.format in {known.name for known in agent.formats}
    assert [line for line in read.skipped if not line.expected] == []
    return read


def asked_for(agent: Agent, view: Sequence[Message]) -> list[Any]:
    """Returns what the agent is to send for a view: its first summary, then its messages. What the agent writes again
    by itself is left out."""
    is_own = writer_of(agent).is_own
    return _request(agent, [message for message in summary_first(view) if not is_own(message)], summary_text)


def sent(agent: Agent, read: ImportedTranscript) -> list[Any]:
    """Returns what the agent sends in a session that was read back. A summary is what the file has, word for word."""
    return _request(agent, project(read.events), lambda marker: marker.summary)


def _request(agent: Agent, view: Sequence[Message], say: Callable[[CompactionBlock], str]) -> list[Any]:
    said = [_said(message, say) for message in view]
    # The first of these APIs has no signed thinking and no results that are marked as errors.
    return write_responses(said).input if agent.name == "Codex" else write_anthropic(said).messages


def _said(message: Message, say: Callable[[CompactionBlock], str]) -> Message:
    marker = message.compaction
    if marker is None:
        return message
    return Message(id=message.id, role=Role.USER, content=(TextBlock(text=say(marker)),))
