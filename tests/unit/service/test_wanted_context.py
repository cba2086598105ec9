"""Which events of a conversation lead to the context that a new session is to have."""

import pytest

from support.codex_files import compacted, said, session
from support.foreign import read_lines
from ullage.model.errors import InvalidRequest
from ullage.model.events import MessageAppended
from ullage.model.message import join_texts
from ullage.service.continuing import WantedContext, choose_context

SUMMARY = "Half of the parts are done."
PREAMBLE = "Another language model started to solve this problem and produced a summary of it.\n"


def texts(*lines: object, wanted: WantedContext) -> list[str]:
    """Returns the texts of the messages that lead to the wanted context."""
    chosen = choose_context(read_lines(session(), *lines).events, wanted)
    return [join_texts(event.message.content) for event in chosen.events if isinstance(event, MessageAppended)]


def test_the_answer_with_the_summary_is_no_part_of_what_was_there_before() -> None:
    asked = (said("user", "Rename the table."), said("assistant", "I begin."), said("user", "Go on."))
    recorded = (*asked, said("assistant", SUMMARY), compacted(PREAMBLE + SUMMARY), said("user", "And now?"))
    wanted = WantedContext(before_compaction=True)
    assert texts(*recorded, wanted=wanted) == ["Rename the table.", "I begin.", "Go on."]


def test_another_last_answer_stays() -> None:
    recorded = (said("user", "Rename the table."), said("assistant", "I begin."), compacted(PREAMBLE + SUMMARY))
    assert texts(*recorded, wanted=WantedContext(before_compaction=True)) == ["Rename the table.", "I begin."]


def test_without_a_compaction_there_is_nothing_to_go_back_to() -> None:
    with pytest.raises(InvalidRequest, match="nothing to go back to"):
        texts(said("user", "Rename the table."), wanted=WantedContext(before_compaction=True))


def test_another_agent_gets_the_whole_conversation_unless_it_is_to_be_compacted() -> None:
    assert WantedContext().is_compacted(is_own=True)
    assert not WantedContext().is_compacted(is_own=False)
    assert WantedContext(compacted=True).is_compacted(is_own=False)
    assert not WantedContext(before_compaction=True).is_compacted(is_own=True)
