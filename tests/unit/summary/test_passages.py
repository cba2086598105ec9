"""Passages of code and output: which neighbouring lines a summary quotes."""

import pytest

from support.conversations import agent, bash, call, places, user
from ullage.model.message import Message
from ullage.summary.choosing.items import Item, Section, write_section
from ullage.summary.choosing.passages import Neighbours, passages_of
from ullage.summary.choosing.previous import read_summary
from ullage.summary.choosing.weights import count_mentions, weigh
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.listings import FEWEST_LINES
from ullage.summary.reading.text_reader import Reader

HANDLERS = "\n".join(f"{number:>5}→    def handler_{number}(request): ..." for number in range(40, 48))


def passages(*messages: Message) -> list[Item]:
    digest = read_messages(messages, places(messages), Reader())
    return list(passages_of(digest, weigh(count_mentions(digest.contents))))


def written(*messages: Message) -> str:
    return write_section(Section.DETAILS, passages(*messages))


def test_a_passage_names_its_file_its_lines_and_its_message() -> None:
    shown = written(*call("Read", {"file_path": "src/app.py"}, HANDLERS))
    assert shown.startswith("## Details\n- src/app.py:40-47 (#2)\n```\ndef handler_40(request): ...\n")


def test_a_few_lines_are_not_quoted() -> None:
    assert passages(*bash("cat a.py", "import os\nimport sys\nos.getcwd()")) == []


def test_a_passage_cannot_close_the_frame_it_stands_in() -> None:
    (item,) = passages(*bash("cat a.md", "```python\nload_config()\nread()\nwrite()\nclose()\nexit_now()\n\n```"))
    assert "```" not in item.text


def test_of_equal_passages_only_the_newest_is_quoted() -> None:
    read = (*call("Read", {"file_path": "src/app.py"}, HANDLERS), *call("Read", {"file_path": "src/app.py"}, HANDLERS))
    assert [item.index for item in passages(*read)] == [3]


def test_what_a_later_edit_removed_is_left_out_and_the_rest_of_the_file_is_not() -> None:
    edit = call(
        "Edit",
        {"file_path": "src/app.py", "old_string": "    def handler_40(request): ...", "new_string": "pass"},
        call_id="e",
    )
    lines = "\n".join(f"{number:>5}→    def handler_{number}(request): ..." for number in range(40, 55))
    found = written(*call("Read", {"file_path": "src/app.py"}, lines), *edit)
    assert "handler_50" in found
    assert "handler_40" not in found


def test_a_line_of_which_a_later_edit_removed_a_part_is_left_out() -> None:
    edit = call(
        "Edit", {"file_path": "src/app.py", "old_string": "r_40(request)", "new_string": "r_40(call)"}, call_id="e"
    )
    assert "handler_40" not in written(*call("Read", {"file_path": "src/app.py"}, HANDLERS), *edit)


def test_a_line_to_which_a_later_edit_added_stays() -> None:
    text = "r_40(request): ..."
    edit = call("Edit", {"file_path": "src/app.py", "old_string": text, "new_string": f"{text}  # slow"}, call_id="e")
    assert "handler_40" in written(*call("Read", {"file_path": "src/app.py"}, HANDLERS), *edit)


def test_a_long_line_that_a_later_edit_removed_is_left_out() -> None:
    long = "def handler_39(request): return " + "read_config() and " * 40
    edit = call("Edit", {"file_path": "src/app.py", "old_string": long, "new_string": "pass"}, call_id="e")
    assert "handler_39" not in written(*call("Read", {"file_path": "src/app.py"}, f"   39→{long}\n{HANDLERS}"), *edit)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("No match.", True),
        ("The user doesn't want to proceed with this tool use.", False),
        ("The file was changed.", False),
    ],
)
def test_the_text_of_a_change_that_failed_is_not_quoted_as_the_files(result: str, failed: bool) -> None:
    change = {"file_path": "src/app.py", "old_string": "x = 1", "new_string": HANDLERS.replace("→", " ")}
    applied = result.startswith("The file")
    assert ("handler_41" in written(*call("Edit", change, result, is_error=failed))) is applied


@pytest.mark.parametrize("head", ["apply_patch << 'EOF'\n", "cd /home/ana/spool && apply_patch <<'EOF'\n"])
def test_a_passage_of_a_patch_names_the_files_of_the_patch(head: str) -> None:
    lines = "\n".join(f"+def handler_{number}(request): ..." for number in range(40, 48))
    patch = f"*** Begin Patch\n*** Update File: src/app.py\n@@\n{lines}\n*** End Patch\n"
    assert "\n- patch of src/app.py (#1)\n" in written(*bash(f"{head}{patch}EOF", "Done!"))
    assert "\n- patch of src/app.py (#1)\n" in written(*call("apply_patch", {"input": patch}, "Done!"))


def test_a_file_that_was_written_anew_is_not_quoted_as_it_was() -> None:
    write = call("Write", {"file_path": "src/app.py", "content": "x = 1"}, call_id="w")
    assert passages(*call("Read", {"file_path": "src/app.py"}, HANDLERS), *write) == []


def test_lines_whose_numbers_jump_are_not_one_passage() -> None:
    lines = "\n".join(f"{number:>5}→line_{number} = {number}" for number in (1, 2, 3, 4, 5, 20, 21, 22, 23, 24))
    found = passages(*call("Read", {"file_path": "src/app.py"}, lines))
    assert sorted((item.first_line, item.text.count("\n") + 1) for item in found) == [(1, 5), (20, 5)]


def test_the_heaviest_passage_of_a_text_comes_first_and_none_is_a_fragment() -> None:
    lines = [f"value_{number} = {number}" for number in range(30)]
    found = passages(agent("The cause is `value_17`."), *call("Read", {"file_path": "a.py"}, "\n".join(lines)))
    assert all(item.text.count("\n") + 1 >= FEWEST_LINES for item in found)
    assert "value_17" in found[0].text


def test_neighbouring_passages_are_one_frame() -> None:
    lines = "\n".join(f"{number:>5}→    def handler_{number}(request): ..." for number in range(40, 60))
    shown = written(*call("Read", {"file_path": "src/app.py"}, lines))
    assert shown.count("```") == 2
    assert "…" not in shown


def test_the_request_has_no_passages() -> None:
    assert passages(user("a\nb\nc\nd\ne\nf")) == []


def test_blank_lines_do_not_make_a_passage() -> None:
    assert passages(*bash("cat a.py", "load_config()\n\nread_file()\n\nwrite_file()\nclose_file()")) == []
    lines = "\n\n".join(f"value_{number} = {number} + {number * 111}" for number in range(20))
    found = passages(agent("The cause is `value_7`."), *call("Read", {"file_path": "a.py"}, lines))
    assert all(sum(bool(line) for line in item.text.splitlines()) >= FEWEST_LINES for item in found)


def beside(place: int, *messages: Message) -> list[str]:
    digest = read_messages(messages, places(messages), Reader())
    found = sorted(passages_of(digest, weigh(count_mentions(digest.contents))), key=lambda item: item.order)
    return [item.text.strip() for item in Neighbours(digest)(found[place])]


def test_a_passage_goes_on_with_the_lines_before_and_after_it() -> None:
    lines = [f"{number:>5}→    def handler_{number}(request, session, user): ..." for number in range(40, 60)]
    read = call("Read", {"file_path": "src/app.py"}, "\n".join(lines))
    assert beside(1, *read) == [
        "def handler_44(request, session, user): ...",
        "def handler_50(request, session, user): ...",
    ]


def test_a_passage_does_not_go_on_with_what_a_later_edit_removed() -> None:
    lines = [f"{number:>5}→    def handler_{number}(request, session, user): ..." for number in range(40, 60)]
    removed = {"file_path": "src/app.py", "old_string": lines[10].split("→")[1], "new_string": ""}
    read = call("Read", {"file_path": "src/app.py"}, "\n".join(lines))
    found = beside(1, *read, *call("Edit", removed, call_id="e"))
    assert not any("handler_50" in text for text in found)


def shifted(result: str, worth: dict[str, float], *later: Message) -> list[str]:
    """Returns what comes in place of the newest passage of a file, by what each name is worth by then."""
    messages = [*call("Read", {"file_path": "src/app.py"}, result), *later]
    digest = read_messages(messages, places(messages), Reader())
    first = next(passages_of(digest, {"total_10": 1.0}))
    assert "total_10" in first.text
    around = Neighbours(digest)
    found = [around.instead(first, worth) for _ in range(2)]
    return [item.text for item in found if item]


TOTALS = [f"{number:>5}→total_{number} = count_all_rows_of(table_{number}, since)" for number in range(30)]


def test_a_passage_that_lost_worth_gives_way_once_to_one_that_shares_lines_with_it() -> None:
    (other,) = shifted("\n".join(TOTALS), {"table_11": 0.5, "table_13": 0.5, "table_25": 1.0})
    assert "total_11" in other
    assert "total_13" in other
    assert other.count("\n") + 1 >= FEWEST_LINES


def test_a_passage_that_is_still_the_best_of_its_lines_stays() -> None:
    assert shifted("\n".join(TOTALS), {}) == []
    assert shifted("\n".join(TOTALS[8:14]), {"table_11": 0.5}) == []


def test_a_passage_does_not_give_way_to_what_a_later_edit_removed() -> None:
    removed = {"file_path": "src/app.py", "old_string": TOTALS[13].split("→")[1], "new_string": ""}
    worth = {"table_13": 0.5}
    assert shifted("\n".join(TOTALS), worth)
    assert shifted("\n".join(TOTALS), worth, *call("Edit", removed, call_id="e")) == []


def test_the_folder_of_several_files_is_named_once() -> None:
    folder = "/home/me/project/src/"
    read = [
        message
        for name in ("app", "views")
        for message in call(
            "Read", {"file_path": f"{folder}{name}.py"}, HANDLERS.replace("handler", name), call_id=name
        )
    ]
    shown = written(*read)
    assert shown.startswith(f"## Details\nFiles are in `{folder}`.\n- app.py:40-47 (#2)\n")
    assert shown.count(folder) == 1


def test_the_folder_of_one_file_is_not_named_apart() -> None:
    assert "Files are in" not in written(*call("Read", {"file_path": "/home/me/project/src/app.py"}, HANDLERS))


@pytest.mark.parametrize("indentation", ["", "  "])
def test_a_passage_of_an_earlier_summary_keeps_its_lines_and_their_numbers(indentation: str) -> None:
    lines = ("def handle(request):", "    log(request)", "", "    # ## Not a heading", "    return respond(request)")
    framed = "\n".join(indentation + line for line in ("```", *lines, "…", *lines[:2], "```"))
    summary = f"## Details\n- src/app.py:7-11, 20-21 (#4)\n{framed}\n\n## Where to look\n- #5 `x_y`"
    first, second = [item for item in read_summary(summary) if item.section is Section.DETAILS]
    assert (first.group, first.index, first.first_line, second.first_line) == ("src/app.py", 3, 7, 20)
    assert first.text == "\n".join(lines)
