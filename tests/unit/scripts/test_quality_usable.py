"""What the probe of sentences and passages lets ground a name, and which sentences of an earlier summary it finds."""

from benches.quality_earlier import in_order, sentences_of
from benches.quality_probe import grounded_in, make_cut
from benches.quality_source import Source
from benches.quality_usable import Units, usable_texts
from support.conversations import agent, call

FILE = "def load_rows(p):\n    total_size = 0\n    for row in p:\n        total_size += 1\n    return total_size\n"
BEFORE = (
    agent("The slow part is `load_rows` because it opens every file twice. The writer calls `flush_rows` once a day."),
    *call("Read", {"file_path": "reader.py"}, FILE),
)
MESSAGES = (*BEFORE, agent("`load_rows` `flush_rows` `total_size`"))
CUT = make_cut(MESSAGES, [10] * len(MESSAGES), len(BEFORE))
SOURCE = Source(BEFORE)


def grounded(page: str) -> list[str]:
    units = Units(list(usable_texts(page, SOURCE)))
    return [anchor.name for anchor in CUT.anchors if grounded_in(units, anchor, CUT.head)]


def test_sentences_ground_their_names() -> None:
    assert grounded("- #1 The slow part is `load_rows` because it opens every file twice.") == ["load_rows"]


def test_a_loose_line_grounds_nothing_and_a_passage_does() -> None:
    assert grounded("```\ndef load_rows(p):\n    total_size = 0\n```") == []
    assert grounded(f"```\n{FILE}```") == ["load_rows", "total_size"]


def test_neighbours_that_did_not_follow_one_another_do_not_ground_each_other() -> None:
    assert grounded("- opens every file twice, slow part\n- #1 `load_rows` comes before the others") == []


def test_narration_and_fragments_ground_nothing() -> None:
    assert grounded("- Let me see why `load_rows` opens every file twice, the slow part:") == []
    assert grounded("- `load_rows` opens file") == []


def test_the_line_with_which_a_program_opens_a_summary_is_no_sentence_of_it() -> None:
    opening = "This session is being continued from a previous conversation that ran out of context."
    assert sentences_of(
        f"{opening} All is summarized in the following.\n\n1. Intent:\n   Port the daemon to Rust."
    ) == ["port the daemon to rust."]


def test_an_order_that_changed_costs_the_sentences_that_moved() -> None:
    one, two, three = "The rows are kept open.", "The writer stays as it is.", "No test may open the network."
    page = f"## Decisions\n- #3 {one}\n- {two} {three}\n- Too short.\n## Next step\n- Run all of the slow tests again."
    wanted = sentences_of(page)
    assert len(wanted) == 3
    assert in_order(wanted, page) == wanted
    assert len(in_order(wanted, f"{three} {one} and {two}")) == 2
    assert in_order(wanted, "The rows are kept. The writer stays as it was.") == []
    assert in_order([], page) == []
