"""Clearing, as Anthropic's context editing defines it; and repeated file reads, which are replaced by notices, while
everything that is not repeated stays."""

from support.build import STAMP, assistant, counted, results, thinking, user, uses, words
from ullage.edits.clear import ClearOptions, clear_thinking, clear_tool_uses, cleared_elsewhere, dedupe_reads
from ullage.edits.counted import CountedView
from ullage.model.message import Message, ThinkingBlock, ToolUseBlock

LONG = words(500)


def calls(number: int, **given: str) -> list[Message]:
    return [
        message
        for i in range(number)
        for message in (uses(f"u{i}", f"t{i}", name="run", **given), results(f"r{i}", f"t{i}", text=LONG))
    ]


def cleared(view: CountedView, options: ClearOptions, untouched: tuple[str, ...] = ()) -> list[str]:
    edit = clear_tool_uses(view, options, STAMP, untouched)
    return [each.message_id for each in edit.replacements] if edit else []


def test_the_oldest_results_go_and_the_last_three_stay() -> None:
    assert cleared(counted(*calls(5)), ClearOptions()) == ["r0", "r1"]


def test_excluded_tools_and_messages_keep_their_results() -> None:
    view = counted(*calls(5))
    assert cleared(view, ClearOptions(exclude_tools=frozenset({"run"}))) == []
    assert cleared(view, ClearOptions(), untouched=("r0",)) == ["r1"]


def test_what_a_provider_cleared_is_cleared_here_once_but_for_what_must_stay() -> None:
    view = counted(*calls(5))
    edit = cleared_elsewhere(view, 3, ClearOptions(), STAMP, untouched=("r1",))
    assert edit is not None
    assert [each.message_id for each in edit.replacements] == ["r0", "r2"]
    assert cleared_elsewhere(view.after(edit), 3, ClearOptions(), STAMP, untouched=("r1",)) is None
    assert cleared_elsewhere(view, 3, ClearOptions(exclude_tools=frozenset({"run"})), STAMP) is None


def test_inputs_go_too_if_asked_for_all_tools_or_some() -> None:
    messages = calls(4, command=words(600), note="short")
    view = counted(*messages)
    assert cleared(view, ClearOptions()) == ["r0"]
    for wanted in (True, frozenset({"run"})):
        assert cleared(view, ClearOptions(clear_tool_inputs=wanted)) == ["r0", "u0"]
    assert cleared(view, ClearOptions(clear_tool_inputs=frozenset({"other"}))) == ["r0"]
    edit = clear_tool_uses(view, ClearOptions(clear_tool_inputs=True), STAMP)
    assert edit is not None
    block = view.after(edit).messages[0].content[0]
    assert isinstance(block, ToolUseBlock)
    assert block.input == {"command": "[cleared]", "note": "short"}


def test_the_output_of_a_fenced_command_is_a_result() -> None:
    messages = [
        message
        for i in range(5)
        for message in (
            assistant(f"a{i}", f"Next.\n```bash\nmake part{i}\n```"),
            user(f"o{i}", f"<returncode>0</returncode>\n<output>\n{LONG}\n</output>"),
        )
    ]
    assert cleared(counted(*messages), ClearOptions()) == ["o0", "o1"]
    assert cleared(counted(*messages), ClearOptions(exclude_tools=frozenset({"bash"}))) == []


def thoughts(view: CountedView, keep: int) -> list[str]:
    edit = clear_thinking(view, keep, STAMP)
    after = view.after(edit) if edit else view
    return [
        block.thinking
        for message in after.messages
        for block in message.content
        if isinstance(block, ThinkingBlock) and block.thinking
    ]


def test_the_last_turns_with_thinking_keep_it() -> None:
    turns = [[user(f"p{i}"), thinking(f"k{i}", f"thought {i}"), assistant(f"a{i}")] for i in range(4)]
    quiet = [user("p9"), assistant("a9")]
    view = counted(*(message for turn in turns for message in turn), *quiet)
    assert thoughts(view, 1) == ["thought 3"]
    assert thoughts(view, 3) == ["thought 1", "thought 2", "thought 3"]
    assert clear_thinking(view, 4, STAMP) is None


def test_a_tool_loop_is_one_turn_and_keeps_all_its_thinking() -> None:
    loop = [
        message
        for i in range(3)
        for message in (thinking(f"k{i}", f"step {i}"), uses(f"u{i}", f"t{i}"), results(f"r{i}", f"t{i}"))
    ]
    view = counted(user("p0"), thinking("k", "before"), assistant("a"), user("p1"), *loop)
    assert thoughts(view, 1) == ["step 0", "step 1", "step 2"]


def test_cleared_thinking_is_not_sent() -> None:
    view = counted(
        user("p0"), thinking("k0", "old"), assistant("a0"), user("p1"), thinking("k1", "new"), assistant("a1")
    )
    edit = clear_thinking(view, 1, STAMP)
    assert edit is not None
    assert edit.cleared_thinking_turns == 1
    assert view.after(edit).messages[1].content == (ThinkingBlock(thinking=""),)


LINES = [f"line {i} of a file with some words in it" for i in range(1, 41)]


def numbered(lines: list[str], first: int = 1) -> str:
    return "\n".join(f"{i:6}\t{line}" for i, line in enumerate(lines, start=first))


def read(number: int, text: str, path: str = "/a.py") -> list[Message]:
    return [
        uses(f"u{number}", f"t{number}", name="Read", file_path=path),
        results(f"r{number}", f"t{number}", text=text),
    ]


def texts_after(*messages: Message, untouched: tuple[str, ...] = ()) -> dict[str, str]:
    """Returns the texts that the edit puts into messages, by message."""
    edit = dedupe_reads(counted(*messages), STAMP, untouched)
    return {each.message_id: each.text or "" for each in edit.replacements} if edit else {}


def test_all_but_the_last_of_three_reads_become_notices() -> None:
    text = numbered(LINES)
    assert texts_after(*read(1, text), *read(2, text), *read(3, text)) == {
        "r1": "[/a.py is shown again later in this conversation]",
        "r2": "[/a.py is shown again later in this conversation]",
    }


def test_a_part_that_a_later_read_of_more_lines_covers_goes() -> None:
    assert set(texts_after(*read(1, numbered(LINES[9:20], 10)), *read(2, numbered(LINES)))) == {"r1"}


def test_two_later_parts_cover_a_whole_between_them() -> None:
    parts = [*read(2, numbered(LINES[:20])), *read(3, numbered(LINES[20:], 21))]
    assert texts_after(*read(1, numbered(LINES)), *parts) == {"r1": "[/a.py is shown again later in this conversation]"}


def test_the_lines_that_no_later_read_shows_stay_as_they_were() -> None:
    got = texts_after(*read(1, numbered(LINES)), *read(2, numbered(LINES[:30])))["r1"]
    assert got == "[lines 1-30 of /a.py are shown again later in this conversation]\n" + numbered(LINES[30:], 31)


def test_what_changed_between_two_reads_is_no_repetition() -> None:
    changed = [*LINES[:20], "another line altogether", *LINES[21:]]
    got = texts_after(*read(1, numbered(LINES)), *read(2, numbered(changed)))["r1"]
    assert "    21\tline 21 of a file with some words in it" in got
    assert got.count("shown again later") == 2


def test_lines_that_moved_are_known_by_their_neighbours() -> None:
    moved = ["# A new head.", *LINES]
    assert set(texts_after(*read(1, numbered(LINES)), *read(2, numbered(moved)))) == {"r1"}


def test_a_numbered_read_is_covered_by_plain_text_and_the_other_way_round() -> None:
    plain = [uses("u9", "t9", name="bash", command="cat /a.py"), results("r9", "t9", text="\n".join(LINES))]
    assert set(texts_after(*read(1, numbered(LINES)), *plain)) == {"r1"}
    assert set(texts_after(*plain, *read(1, numbered(LINES)))) == {"r9"}


def test_a_written_file_covers_reads_before_it_but_stays_itself() -> None:
    write = [uses("w", "tw", name="Write", file_path="/a.py", content="\n".join(LINES)), results("wr", "tw")]
    assert set(texts_after(*read(1, numbered(LINES)), *write)) == {"r1"}
    assert texts_after(*write, *read(1, numbered(LINES))) == {}


def test_of_a_users_message_only_the_files_text_is_replaced() -> None:
    mention = user("p", 'Fix this:\n<file_content path="/a.py">\n' + "\n".join(LINES) + "\n</file_content>\nThanks!")
    got = texts_after(mention, *read(1, numbered(LINES)), user("q", "And now?"))["p"]
    assert got.startswith('Fix this:\n<file_content path="/a.py">\n[40 lines of /a.py are')
    assert got.endswith("</file_content>\nThanks!")
    assert "line 12 of a file" not in got


def test_files_of_other_names_have_nothing_to_do_with_each_other() -> None:
    assert texts_after(*read(1, numbered(LINES)), *read(2, numbered(LINES), path="/b.py")) == {}


def test_what_stays_through_a_compaction_is_given_no_notice() -> None:
    messages = [*read(1, numbered(LINES)), *read(2, numbered(LINES)), *read(3, numbered(LINES))]
    assert set(texts_after(*messages, untouched=("r1",))) == {"r2"}


def test_the_edit_says_where_the_lines_are_and_what_each_file_cost() -> None:
    messages = [*read(1, numbered(LINES)), *read(2, numbered(LINES)), *read(3, numbered(LINES))]
    other = [*read(4, numbered(LINES[:20]), "/b.py"), *read(5, numbered(LINES[:20]), "/b.py")]
    edit = dedupe_reads(counted(*messages, *other), STAMP)
    assert edit is not None
    assert edit.shown_in == ("r3", "r5")
    assert [(file.path, file.occurrences) for file in edit.files] == [("/a.py", 2), ("/b.py", 1)]
    assert edit.files[0].tokens_saved > edit.files[1].tokens_saved > 0
