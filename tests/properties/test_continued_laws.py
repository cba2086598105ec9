"""Laws of new sessions: whatever a conversation was, the file that is written for its agent is read as its view."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, example, given

from support.continued import asked_for, read_again, sent, session_of
from support.histories import histories
from support.log_trees import SESSIONS, make_log, to_bytes
from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import parse_document
from ullage.model.message import Message, Role, TextBlock
from ullage.transcript.fold import project

WRITING = [pytest.param(agent, id=agent.name) for agent in AGENTS if agent.writer]


# The second one has no line end in a request.
TWICE = (Message(id="m1", role=Role.ASSISTANT, content=(TextBlock(text="x = 1\n"), TextBlock(text="x = 1\n"))),)


def repeats_nothing(agent: Agent, view: Sequence[Message]) -> bool:
    """Returns whether no message has a block twice, which a log with an answer in several lines takes for a copy."""
    asked = [list(map(repr, message.get("content", ()))) for message in asked_for(agent, view)]
    # A request ends without the blanks that the log has.
    return all(len(set(one)) == len(one) for one in (*asked, *(list(map(repr, message.content)) for message in view)))


@pytest.mark.parametrize("agent", WRITING)
@given(session=SESSIONS)
def test_a_new_session_is_read_as_the_view_of_the_log_it_is_made_from(
    agent: Agent, session: list[tuple[str, int, int]]
) -> None:
    log = make_log(session)
    assume(log.lines)
    view = project(read_document(parse_document(to_bytes(log.lines), "log.jsonl")).events)
    assume(asked_for(agent, view))
    assert sent(agent, read_again(agent, session_of(view))) == asked_for(agent, view)


@pytest.mark.parametrize("agent", WRITING)
@given(view=histories())
@example(view=TWICE)
def test_any_context_is_read_again_as_it_was_written(agent: Agent, view: tuple[Message, ...]) -> None:
    assume(asked_for(agent, view) and repeats_nothing(agent, view))
    assert sent(agent, read_again(agent, session_of(view))) == asked_for(agent, view)
