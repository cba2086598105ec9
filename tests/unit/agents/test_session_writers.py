"""New sessions made from recorded conversations of agents are read as the context that was asked for."""

from base64 import b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.build import assistant, user
from support.continued import asked_for, read_again, sent, session_of, written
from support.foreign import messages_of, reports_of
from support.pdf import small_pdf
from support.transcripts import conversation_files, recorded
from ullage.agents.agent import Agent
from ullage.agents.inserted import by_program, is_by_program
from ullage.agents.table import AGENTS
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import CompactionEdit, ContextEdited
from ullage.model.message import Message, ResourceBlock, Role, TextBlock
from ullage.transcript.fold import project

FILES = [path for path in conversation_files() if "claude" in str(path) or "codex" in str(path)]
WRITING = [agent for agent in AGENTS if agent.writer]


def ends(read: ImportedTranscript) -> list[int]:
    """Returns the numbers of events after which a conversation is continued: before and after each compaction of the
    agent's own, after the first half, and at the end."""
    compactions = [
        at
        for at, event in enumerate(read.events)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit)
    ]
    around = {after for at in compactions for after in (at, at + 1)}
    return sorted({*around, len(read.events) // 2, len(read.events)})


@pytest.mark.no_cover
@pytest.mark.skipif(not FILES, reason="recorded conversations are not on this machine")
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_new_session_of_each_agent_is_read_as_the_view_that_was_asked_for(path: Path) -> None:
    try:
        read = recorded(path)
    except UnreadableTranscript:
        pytest.skip("there is no message in it")
    for end in ends(read):
        view = project(read.events[:end])
        for agent in WRITING:
            if asked_for(agent, view):
                version = read.version if read.format in {known.name for known in agent.formats} else ""
                session = session_of(view, title=read.title, version=version, model=read.model)
                again = read_again(agent, session)
                assert sent(agent, again) == asked_for(agent, view), (agent.name, end)
                assert again.cwd == session.cwd
                assert again.title == read.title or not (read.title and again.title)


@pytest.mark.parametrize("agent", WRITING, ids=lambda agent: agent.name)
def test_a_new_session_of_an_agent_has_the_document_or_a_sentence(agent: Agent) -> None:
    data = b64encode(small_pdf()).decode()
    block = ResourceBlock(uri="file:///project/spec.pdf", mime_type="application/pdf", data=data)
    said = Message(id="m1", role=Role.USER, content=(TextBlock(text="Read this."), block))
    session = session_of([said, assistant("m2", "Read.")])
    # Codex knows no documents in its sessions.
    has_it = agent.name != "Codex"
    file = written(agent, session).decode()
    assert (data in file) is has_it
    assert ("is not shown to you" in file) is not has_it
    read_again(agent, session)


def test_what_claude_codes_program_wrote_is_still_not_the_users_in_a_new_session() -> None:
    (claude,) = (agent for agent in WRITING if agent.name == "Claude Code")
    skill = replace(user("k1", "Never leave a part."), provided=by_program("meta"))
    again = read_again(claude, session_of((user("u1", "Tidy the parts."), skill, user("u2", "Go on."))))
    assert [is_by_program(message) for message in messages_of(again)] == [False, True, False]


@pytest.mark.parametrize("agent", WRITING, ids=lambda agent: agent.name)
def test_a_new_session_has_a_size_and_has_paid_for_nothing(agent: Agent) -> None:
    session = replace(session_of((user("u1", "Tidy."), assistant("a1", "Done."))), used=12_000, origin_id="first")
    (report,) = reports_of(read_again(agent, session))
    assert (report.usage.prompt, report.is_copied) == (12_000, True)
