"""Which anchors the quality bench's probe counts as carried, found and grounded, on hand-made conversations."""

import pytest

from benches.quality_contenders import MASK, first_and_tail, masking, tail, tail_and_lines, unpaired
from benches.quality_probe import Cut, Text, find_anchors, grounded_in, make_cut
from support.conversations import agent, bash, call, user
from ullage.model.message import Message, ToolResultBlock
from ullage.tokens.counter import get_counter

BEFORE = (
    user("Make the importer fast."),
    agent("The slow part is `load_rows` in src/import/reader.py because it opens every file twice."),
    *bash("git log -1", "commit 9f8e7d6c5b4a by someone", call_id="a"),
    *call("Read", {"file_path": "src/import/writer.py"}, "def flush_rows(): ...", call_id="b"),
)


def cut(*after: Message) -> Cut:
    messages = (*BEFORE, *after)
    return make_cut(messages, [10] * len(messages), len(BEFORE))


def names(*after: Message) -> list[str]:
    return [anchor.name for anchor in cut(*after).anchors]


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("see src/import/reader.py and reader.py.", ["src/import/reader.py", "reader.py"]),
        ("`load_rows`, loadRows, HTTPServer, LOAD_ROWS", ["load_rows", "loadRows", "HTTPServer", "LOAD_ROWS"]),
        ("commit 9f8e7d6 of 20260101", ["9f8e7d6"]),
        ("and/or nothing here is one; read/write it", []),
    ],
)
def test_anchors_are_paths_compound_identifiers_and_hashes(text: str, anchors: list[str]) -> None:
    assert list(find_anchors(text)) == anchors


def test_what_the_agent_writes_from_memory_is_carried() -> None:
    assert names(agent("Now `load_rows` and `flush_rows`.")) == ["load_rows", "flush_rows"]


def test_what_was_shown_again_first_is_not_carried() -> None:
    assert names(*bash("ls", "def load_rows(): ..."), agent("Change `load_rows`.")) == []
    assert names(user("And load_rows?"), agent("Change `load_rows`.")) == []


def test_a_name_that_was_not_before_the_cut_is_not_carried() -> None:
    assert names(agent("A new `brand_new_name`.")) == []


def test_a_name_is_as_far_away_as_its_last_place_before_the_cut() -> None:
    (anchor,) = cut(agent("`load_rows`")).anchors
    assert anchor.distance == 50


def test_a_part_of_a_longer_word_is_not_found() -> None:
    assert not Text("preload_rows load_rows_again").holds("load_rows")
    assert Text("call load_rows()").holds("load_rows")


def test_a_bare_list_of_names_grounds_nothing() -> None:
    here = cut(agent("`load_rows`"))
    (anchor,) = here.anchors
    assert not grounded_in(Text("flush_rows, load_rows, brand_new"), anchor, here.head)
    assert grounded_in(Text("`load_rows` is slow: it opens each file twice"), anchor, here.head)


def test_contenders_keep_to_the_budget_and_their_ways() -> None:
    counter = get_counter("gpt-4o")
    sizes = [counter.count_message(message) for message in BEFORE]
    assert tail(BEFORE, sizes[-1], counter) == [BEFORE[-1]]
    assert first_and_tail(BEFORE, sum(sizes) - 1, counter) == [BEFORE[0], *BEFORE[4:]]
    masked = masking(BEFORE, sum(sizes) - 1, counter)
    assert [MASK in str(message) for message in masked] == [False, False, False, True, False, False]
    assert unpaired(tail(BEFORE, sizes[-1], counter), BEFORE) == 1
    assert unpaired(BEFORE, BEFORE) == 0


def test_the_baseline_quotes_older_lines_with_new_names_beside_the_newest_messages() -> None:
    counter = get_counter("gpt-4o")
    long = agent("and so on " * 200 + "\n" + "the slow `parse_header` and `parse_body`")
    messages = (*BEFORE, long, user("Go on."), agent("I look at `load_rows`."))
    context = tail_and_lines(messages, 120, counter)
    assert [message.text for message in context[-2:]] == ["Go on.", "I look at `load_rows`."]
    assert "the slow `parse_header` and `parse_body`" in context[0].text
    assert "and so on" not in context[0].text
    assert sum(counter.count_message(message) for message in context) <= 120


def test_the_baseline_never_keeps_a_result_without_its_call() -> None:
    counter = get_counter("gpt-4o")
    sizes = [counter.count_message(message) for message in BEFORE]
    assert unpaired(tail_and_lines(BEFORE, sizes[-1] * 4 // 3 + 1, counter), BEFORE) == 0


def test_a_call_that_the_recorded_session_left_without_a_result_is_no_fault_of_a_context() -> None:
    without = [
        message for message in BEFORE if not any(isinstance(block, ToolResultBlock) for block in message.content)
    ]
    assert unpaired(without, without) == 0
    assert unpaired(without, BEFORE) > 0
