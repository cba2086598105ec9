"""Repeated file reads are replaced by notices, and everything that is not repeated stays."""

from support.build import STAMP, counted, results, user, uses
from ullage.edits.clear import dedupe_reads
from ullage.model.message import Message

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
