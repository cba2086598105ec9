"""What view, str_replace and insert do with a file's text."""

import pytest

from support.corpus import cases
from support.tables import every
from ullage.memory.memory_tool import (
    VIEW_CHARACTERS,
    MemoryPath,
    folded,
    human_size,
    insert_text,
    lines_of,
    parse_path,
    replace_text,
    view_text,
)
from ullage.model.errors import InvalidRequest

NOTES = MemoryPath(parts=("notes.md",))
TEN = "".join(f"line {number}\n" for number in range(1, 11))


def test_view_numbers_lines_from_1_in_six_columns_before_a_tab() -> None:
    assert view_text(NOTES, "one\ntwo\n", None) == (
        "Here's the content of /memories/notes.md with line numbers:\n     1\tone\n     2\ttwo"
    )


@pytest.mark.parametrize(
    ("view_range", "numbers"), [((2, 3), [2, 3]), ((9, -1), [9, 10]), ((9, 99), [9, 10]), ((0, 1), [1])]
)
def test_view_range_shows_these_lines(view_range: tuple[int, int], numbers: list[int]) -> None:
    shown = view_text(NOTES, TEN, view_range).splitlines()[1:]
    assert shown == [f"{number:6}\tline {number}" for number in numbers]


@pytest.mark.parametrize("view_range", [(11, -1), (11, 12), (3, 2), (3, -2)])
def test_view_range_outside_the_file_names_the_lines_there_are(view_range: tuple[int, int]) -> None:
    with pytest.raises(InvalidRequest, match=r"\[1, 10\]"):
        view_text(NOTES, TEN, view_range)


def test_view_of_a_long_file_stops_and_says_how_to_go_on() -> None:
    text = "".join(f"{number} {'x' * 100}\n" for number in range(1, 2001))
    shown = view_text(NOTES, text, None)
    *_, last, notice = shown.splitlines()
    assert len(shown) < VIEW_CHARACTERS + 200
    assert notice == f"[Shown up to line {last.split()[0]} of 2000; give a view_range to see more.]"


def test_view_of_one_huge_line_is_cut_within_it() -> None:
    shown = view_text(NOTES, "x" * 200_000, None)
    assert len(shown) < VIEW_CHARACTERS + 200
    assert shown.endswith("[Shown up to line 1 of 1; give a view_range to see more.]")


def test_view_refuses_more_lines_than_its_columns_can_number() -> None:
    with pytest.raises(InvalidRequest, match="exceeds maximum line limit of 999,999 lines"):
        view_text(NOTES, "\n" * 1_000_000, None)


def test_empty_file_has_no_lines() -> None:
    assert lines_of("") == []
    assert view_text(NOTES, "", None).splitlines() == ["Here's the content of /memories/notes.md with line numbers:"]


def test_replacement_is_answered_with_the_lines_around_it() -> None:
    edit = replace_text(NOTES, TEN, "line 5\n", "five\nand a half\n")
    assert edit.text == TEN.replace("line 5\n", "five\nand a half\n")
    assert edit.answer.splitlines()[1:] == [
        "     3\tline 3",
        "     4\tline 4",
        "     5\tfive",
        "     6\tand a half",
        "     7\tline 6",
        "     8\tline 7",
        "     9\tline 8",
    ]


def test_text_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidRequest, match=r"`six` did not appear verbatim in /memories/notes\.md"):
        replace_text(NOTES, "one\n", "six", "seven")


def test_text_that_occurs_several_times_is_reported_with_its_lines() -> None:
    with pytest.raises(InvalidRequest, match=r"Multiple occurrences of old_str `a` in lines: 1, 3\."):
        replace_text(NOTES, "a a\nb\na", "a", "c")


def test_empty_text_cannot_be_replaced() -> None:
    with pytest.raises(InvalidRequest, match="old_str is empty"):
        replace_text(NOTES, "a", "", "b")


@pytest.mark.parametrize(
    ("text", "line", "inserted", "expected"),
    [
        ("one\ntwo\n", 0, "zero", "zero\none\ntwo\n"),
        ("one\ntwo\n", 1, "half\n", "one\nhalf\ntwo\n"),
        ("one\ntwo", 2, "three", "one\ntwo\nthree\n"),
        ("one\ntwo", 1, "half", "one\nhalf\ntwo"),
        ("", 0, "first", "first\n"),
        ("one\r\ntwo\r\n", 1, "half", "one\r\nhalf\ntwo\r\n"),
    ],
)
def test_inserted_text_takes_whole_lines(text: str, line: int, inserted: str, expected: str) -> None:
    assert insert_text(NOTES, text, line, inserted).text == expected


@pytest.mark.parametrize("line", [-1, 3])
def test_line_that_is_not_there_is_refused_with_the_range(line: int) -> None:
    with pytest.raises(InvalidRequest, match=rf"`insert_line` parameter: {line}\. .*\[0, 2\]"):
        insert_text(NOTES, "one\ntwo\n", line, "x")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0B"), (1023, "1023B"), (1024, "1K"), (5632, "5.5K"), (1_258_291, "1.2M"), (2**30, "1G"), (2**41, "2048G")],
)
def test_sizes_are_shown_in_readable_units(size: int, shown: str) -> None:
    assert human_size(size) == shown


# The paths that a memory accepts


HOSTILE = cases("hostile_memory_paths.json")
USUAL = [
    "/memories/notes.md",
    "/memories/notes",
    "/memories/project/2026-11-21 plan (draft).md",
    "/memories/_index.md",
    "/memories/a+b=c@d#e,f&g'h!.txt",
    "/memories/7.txt",
    "/memories/Überblick.md",
    "/memories/日本語/メモ.md",
    "/memories/заметки/план.txt",
    "/memories/हिन्दी.md",
    "/memories/console.md",
    "/memories/common.txt",
    "/memories/a/b/c/d/e/f/g/h",
    "/memories/" + "n" * 140,
]


def test_corpus_holds_at_least_200_hostile_paths_and_none_twice() -> None:
    assert len({case["path"] for case in HOSTILE}) == len(HOSTILE) >= 200


@every("case", HOSTILE)
def test_hostile_path_is_refused_in_one_short_line(case: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_path(case["path"])
    text = str(refusal.value)
    assert text.isprintable()
    assert len(text) < 10_000


@pytest.mark.parametrize("text", USUAL)
def test_usual_path_is_itself(text: str) -> None:
    assert str(parse_path(text)) == text


@pytest.mark.parametrize("text", ["/memories", "/memories/"])
def test_memory_itself_has_no_names(text: str) -> None:
    assert parse_path(text) == MemoryPath()


def test_folder_may_end_in_a_slash() -> None:
    assert parse_path("/memories/plans/") == MemoryPath(parts=("plans",))


def test_parent_of_the_memory_is_the_memory() -> None:
    assert MemoryPath().parent == MemoryPath()
    assert MemoryPath().name == ""


@pytest.mark.parametrize(("one", "other"), [("Notes.md", "notes.md"), ("straße", "STRASSE"), ("ΣΑΣ", "σας")])
def test_names_that_a_file_system_may_take_for_the_same_fold_alike(one: str, other: str) -> None:
    assert folded(one) == folded(other)
