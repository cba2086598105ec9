"""Rows: which lines of output are given as a number with a few names, and which are quoted."""

import pytest

from support.conversations import agent, bash, call, places
from ullage.model.message import Message
from ullage.summary.choosing.items import Section, write_section
from ullage.summary.choosing.listed import listed_of
from ullage.summary.choosing.passages import passages_of
from ullage.summary.choosing.weights import count_mentions, weigh
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.rows import NO_ROWS, RowKind, find_rows
from ullage.summary.reading.text_reader import Reader

ROWS = {
    "test spool::tests::spool_{} ... ok": RowKind.PASSED,
    "--- PASS: TestSpool{} (0.00s)": RowKind.PASSED,
    "tests/test_spool.py::test_case_{} PASSED                [ 10%]": RowKind.PASSED,
    "  ✓ winds spool {}": RowKind.PASSED,
    " D src/spool_{}.ts": RowKind.DELETED,
    "M  src/spool_{}.ts": RowKind.MODIFIED,
    "\tmodified:   src/spool_{}.ts": RowKind.MODIFIED,
    " src/spool_{}.ts | 12 +++---": RowKind.MODIFIED,
    "?? src/spool_{}.ts": RowKind.UNTRACKED,
    " create mode 100644 src/spool_{}.ts": RowKind.ADDED,
    "-rw-r--r-- 1 ana ana 120 Jan  1 10:00 spool_{}.ts": RowKind.PATH,
    "├── spool_{}.ts": RowKind.PATH,
    "src/winding/spool_{}.ts": RowKind.PATH,
    "3b57b{} Wind the spool": RowKind.COMMIT,
    "   Compiling spool_{} v1.0.0": RowKind.PROGRESS,
    "Requirement already satisfied: spool_{} in ./lib": RowKind.PROGRESS,
    "(/usr/share/texlive/texmf-dist/tex/latex/spool{}.sty)": RowKind.PROGRESS,
    "Overfull \\hbox (6.9pt too wide) in paragraph at lines {}--18": RowKind.PROGRESS,
}
QUOTED = (
    "    value_{} = read(spool)",
    "        return self.spools[{}].name",
    "error: spool_{} is empty",
    "src/spool.ts({},3): error TS2353: the property does not exist",
    "FAILED tests/test_spool.py::test_case_{} - AssertionError",
    "The spool number {} holds the thread of the loom.",
    "src/spool.py:{}:    def wind(self):",
    "src/winding/spool.py-{}-",
    "-    alibi = torch.tensor({})",
)


@pytest.mark.parametrize(("line", "kind"), ROWS.items())
def test_lines_that_say_the_same_of_other_names_are_rows(line: str, kind: RowKind) -> None:
    rows = find_rows([line.format(number) for number in range(10, 16)])
    named = [] if kind is RowKind.PROGRESS else [(kind, 6)]
    assert [(group.kind, group.count) for group in rows.groups] == named
    assert len(rows.places) == 6


@pytest.mark.parametrize("line", QUOTED)
def test_code_errors_and_prose_are_no_rows(line: str) -> None:
    assert find_rows([line.format(number) for number in range(10, 16)]) == NO_ROWS


def test_a_few_rows_are_no_list() -> None:
    assert find_rows([" D src/a.ts", "M  src/b.ts"]) == NO_ROWS


def test_a_line_that_is_printed_again_and_again_is_a_row() -> None:
    warned = "Warning: can't set `imports_granularity = Item` on the stable channel."
    rows = find_rows([warned, warned, "error: encountered a marker of a conflict", warned, warned, warned])
    assert rows.places == {0, 1, 3, 4, 5}


def told(*messages: Message) -> list[str]:
    digest = read_messages(messages, places(messages), Reader())
    return [item.text for item in listed_of(digest, weigh(count_mentions(digest.contents)))]


def quoted(*messages: Message) -> str:
    digest = read_messages(messages, places(messages), Reader())
    return write_section(Section.DETAILS, list(passages_of(digest, weigh(count_mentions(digest.contents)))))


STATUS = "\n".join(f" D src/old/spool_{number}.ts" for number in range(40))
FAILURE = "\n".join(f"thread_{number} panicked at src/spool_{number}.rs:7" for number in range(6))
TESTS = "\n".join(f"test spool::winds_{number} ... ok" for number in range(40))


def test_a_list_is_told_in_one_line_with_its_folder_and_the_names_that_matter() -> None:
    said = agent("The old client is in `src/old/spool_17.ts`.")
    (line,) = told(said, *bash("git status -sb", STATUS))
    assert line.startswith("`git status -sb`: 40 files deleted (40 in src/old/), such as `src/old/spool_17.ts`, `")
    assert line.count("spool_") == 3
    assert "spool" not in quoted(said, *bash("git status -sb", STATUS))


def test_every_file_in_conflict_is_named() -> None:
    merge = "\n".join(f"CONFLICT (content): Merge conflict in src/spool_{number}.ts" for number in range(9))
    (line,) = told(*bash("git merge main", merge))
    assert line.startswith("`git merge main`: 9 files in conflict: `src/spool_")
    assert line.count("spool_") == 9


def test_a_list_of_four_is_named_whole() -> None:
    (line,) = told(*bash("ls -F", "AUTHORS.rst\nREADME.rst\nsetup.py\ntox.ini"))
    assert line == "`ls -F`: 4 paths: `AUTHORS.rst`, `README.rst`, `setup.py`, `tox.ini`"


def test_what_failed_among_passed_tests_is_quoted_and_the_tests_are_not() -> None:
    messages = bash("cargo test", f"{TESTS}\n{FAILURE}")
    assert "thread_3 panicked" in quoted(*messages)
    assert "... ok" not in quoted(*messages)
    assert told(*messages)[0].startswith("`cargo test`: 40 tests passed, such as `spool::winds_")


def test_of_a_command_that_ran_again_only_the_newest_list_is_told() -> None:
    first, again = bash("git status -s", STATUS, call_id="a"), bash("git status -s", STATUS[:200], call_id="b")
    assert len(told(*first, *again)) == 1


def test_the_files_of_one_line_count_each() -> None:
    (line,) = told(*bash("ls -F", "AUTHORS.rst README.rst setup.py\nsrc/ tests/ docs/\ntox.ini a.py\nb.py c.py d.py"))
    assert line.startswith("`ls -F`: 11 paths, such as `")


def test_progress_is_neither_told_nor_quoted() -> None:
    built = bash("cargo build", "\n".join(f"   Compiling spool_{number} v1.0.0" for number in range(30)))
    assert told(*built) == []
    assert "Compiling" not in quoted(*built)


def test_a_file_that_lists_paths_is_no_list_of_a_tool() -> None:
    lines = "\n".join(f"{number:>5}→src/winding/spool_{number}.ts" for number in range(1, 12))
    messages = (agent("Look at `src/winding/spool_7.ts`."), *call("Read", {"file_path": "files.txt"}, lines))
    assert told(*messages) == []
    assert "spool_7" in quoted(*messages)
