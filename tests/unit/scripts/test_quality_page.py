"""How the quality bench reads a summary: as entries of prose and passages of code, and what it counts in them."""

import json

import pytest

from benches.quality_form import Head, Shown, measure_form
from benches.quality_page import Entry, read_page
from benches.quality_prose import measure_decisions, narrates
from benches.quality_source import Source, in_context
from support.conversations import agent, call, user
from ullage.tokens.counter_choice import get_counter

FILE = (
    "def load_rows(path):\n    rows = []\n    for line in open(path):\n        rows.append(line)\n\n    return rows\n"
)
BEFORE = (
    agent(
        "The slow part is `load_rows`. It opens every file twice.\n\nWhat it does:\n- reads the header\n- reads rows"
    ),
    *call("Read", {"file_path": "reader.py"}, FILE),
)
SOURCE = Source(BEFORE)


def decisions(*lines: str) -> tuple[int, int, int]:
    page = read_page("\n".join(["## Decisions and findings", *lines]))
    found = measure_decisions(page, SOURCE)
    return found.sentences, found.colons, found.narrating


def loose(text: str) -> list[str]:
    return [line for passage in read_page(text).passages for line in in_context(SOURCE, passage.lines)[1]]


def test_entries_have_their_heading_number_and_what_is_nested_below() -> None:
    page = read_page("3. Pending Tasks:\n- #12 Run the tests:\n  - unit\n  - slow\n## Next\nCommit.")
    first, *_, last = page.entries
    assert (first.heading, first.number, first.text) == ("Pending Tasks", 12, "Run the tests:")
    assert (first.nested, first.introduces) == ("unit\nslow", True)
    assert (last.heading, last.text, last.introduces) == ("Next", "Commit.", False)


@pytest.mark.parametrize(
    "line", ["if err != nil {", "t.Helper()", "end", "repo = Repository()", "import os", "jq_program='x'", "</div>"]
)
def test_a_line_that_can_only_be_code_is_a_passage_of_one(line: str) -> None:
    (part,) = read_page(f"- #4 {line}").parts
    assert not isinstance(part, Entry)


@pytest.mark.parametrize(
    "line", ["Import the module first.", "if it fails, stop", "Use `load_rows()` for it", "the end"]
)
def test_a_line_of_prose_is_an_entry(line: str) -> None:
    (part,) = read_page(f"- {line}").parts
    assert isinstance(part, Entry)


def test_five_lines_that_follow_one_another_in_the_file_are_in_context() -> None:
    assert loose(f"```\n{FILE}```") == []


def test_lines_with_numbers_and_without_blank_ones_or_brackets_are_the_same_lines() -> None:
    numbered = "\n".join(f"{n}→{line}" for n, line in enumerate(FILE.splitlines(), start=7))
    assert loose(f"```\n{numbered}\n```") == []


def test_fewer_than_five_lines_are_out_of_context() -> None:
    lines = [line.strip() for line in FILE.splitlines()[:4]]
    assert loose("```\n" + "\n".join(lines) + "\n```") == lines


def test_five_lines_from_different_places_are_out_of_context_with_and_without_a_gap_mark() -> None:
    a, b, c, *_, d = FILE.splitlines()
    assert len(loose("```\n" + "\n".join([a, b, "…", d, "…", a, b, c]) + "\n```")) == 6
    assert len(loose("```\n" + "\n".join([d, c, b, a, d, c]) + "\n```")) == 6


def test_a_line_of_the_text_itself_that_looks_like_a_mark_of_a_gap_parts_nothing() -> None:
    lines = [
        "rows = read_rows()",
        "# ...",
        "total = sum(rows)",
        "mean = total / len(rows)",
        "print(total)",
        "print(mean)",
    ]
    source = Source(call("Write", {"file_path": "a.py", "content": "\n".join(lines)}, "done"))
    (passage,) = read_page("```\n" + "\n".join(lines) + "\n```").passages
    assert in_context(source, passage.lines) == ([[line for line in lines if line != "# ..."]], [])
    others = [*lines[:2], *lines[3:]]
    assert in_context(source, others)[1] == [line for line in others if line != "# ..."]


def test_lines_that_an_agent_wrapped_in_json_or_put_into_a_patch_follow_one_another() -> None:
    backwards = "\n".join(reversed(FILE.splitlines()))
    elsewhere = call("Write", {"file_path": "a.py", "content": backwards}, "done")
    wrapped = json.dumps({"output": FILE, "metadata": {"exit_code": 0}})
    one, *others = FILE.splitlines()
    patch = "\n".join(["@@", f" {one}", "-    pass", *(f"+{line}" for line in others), "*** End Patch"])
    (passage,) = read_page(f"```\n{FILE}```").passages
    for name, text in (("shell", wrapped), ("apply_patch", patch)):
        source = Source((*elsewhere, *call(name, {"input": text}, "done")))
        assert in_context(source, passage.lines)[1] == []
    assert len(in_context(Source(elsewhere), passage.lines)[1]) == 5


def test_code_that_the_user_typed_is_the_users_word_and_in_the_details_it_is_code() -> None:
    typed = "Keep this:\n<requirements>\n```\nsetUp()\n```"
    head = Head(messages=(user(typed),), source=Source((user(typed),)), actions=())

    def measured(page: str) -> tuple[int, int]:
        found = measure_form(
            head, Shown(contender="a", budget=1, page=page, context=page, room=100), get_counter("gpt-4o")
        )
        return found.lines, found.loose

    assert measured(f"## User requests\n- #1 {typed}") == (0, 0)
    assert measured("## Details\n- a.py\n```\nsetUp()\n```") == (1, 1)
    assert measured("## Decisions\n- #1 tearDown()") == (1, 1)


def test_a_list_that_the_user_typed_is_the_users_word_though_its_lines_end_like_code() -> None:
    typed = (user("Name the files:\n- `001-{finding}.md` - {description}"),)
    head = Head(messages=typed, source=Source(typed), actions=())
    page = "## Standing instructions\n- #1 Name the files:\n  - `001-{finding}.md` - {description}"
    shown = Shown(contender="a", budget=1, page=page, context=page, room=100)
    assert measure_form(head, shown, get_counter("gpt-4o")).lines == 0


def test_a_sentence_that_decides_is_not_noise() -> None:
    assert decisions("- #3 The cause: `load_rows` opens every file twice. So the importer keeps the file open.") == (
        2,
        0,
        0,
    )


def test_a_colon_with_nothing_after_it_is_counted() -> None:
    assert decisions("- #3 Each checkpoint contains:", "- #5 Keep the file open.") == (2, 1, 0)
    assert decisions("- #3 What it does: Keep the file open.") == (2, 1, 0)


def test_a_colon_that_what_it_introduced_follows_is_not_counted() -> None:
    assert decisions("- #3 What it does: reads the header") == (1, 0, 0)
    assert decisions("- #3 What it does:", "  - reads the header") == (2, 0, 0)


@pytest.mark.parametrize(
    "sentence",
    ["Now let me check the reader.", "Let me look at it", "Perfect!", "All 15 tests pass.", "Next, I'll run it."],
)
def test_narration_is_counted(sentence: str) -> None:
    assert decisions(f"- #3 {sentence}") == (1, 0, 1)


@pytest.mark.parametrize(
    "sentence",
    [
        "All tests pass only with a lock, so the lock stays.",
        "Now the importer reads once.",
        "Done by the reader: twice",
    ],
)
def test_a_sentence_that_tells_something_is_no_narration(sentence: str) -> None:
    assert not narrates(sentence)
