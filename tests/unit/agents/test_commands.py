"""Commands that agents run: their effects on files, what they are run for, what they printed, and how they ended."""

import pytest

from support.conversations import agent, call, tool_calls, user
from ullage.agents.calls import ToolCall, open_file, touches_of
from ullage.agents.outcomes import judge, was_refused
from ullage.agents.results import printed
from ullage.agents.shell import is_test, only_looks, shell_read, touched_files
from ullage.agents.shell_purpose import covers, purpose_of
from ullage.ledger.folding import fold
from ullage.ledger.ledger_entry import Life
from ullage.model.message import FileAction, Message, Outcome

R, M, C, D = FileAction.READ, FileAction.MODIFIED, FileAction.CREATED, FileAction.DELETED


@pytest.mark.parametrize(
    ("command", "touches"),
    [
        ("cat notes", [("notes", R)]),
        ("cd /repo && cat ./a.py b.py", [("/repo/a.py", R), ("/repo/b.py", R)]),
        ("cat > a.py <<'EOF'\nrm b.py\nEOF", [("a.py", C)]),
        ("echo x >> a.log; rm b.py", [("a.log", M), ("b.py", D)]),
        ("make 2> err.log", []),
        ("make &> out.log", [("out.log", C)]),
        ("make > out.log 2>&1", [("out.log", C)]),
        ("sed -i 's/a/b; c/' a.py", [("a.py", M)]),
        ('grep "a|rm b.py" c.txt', []),
        ("mv a.py b.py && cp b.py c.py", [("a.py", D), ("b.py", C), ("c.py", C)]),
        ("git mv a.py b.py", [("a.py", D), ("b.py", C)]),
        ("touch a.py | tee -a b.log", [("a.py", C), ("b.log", M)]),
        ("(cd sub\ncat a.py)", [("a.py", R)]),
        ("cd sub\ncat a.py > b.py", [("sub/b.py", C)]),
        ("cd sub && cd deep; rm a.py", [("sub/a.py", D)]),
        ("cd\nsub && rm a.py", [("sub/a.py", D)]),
        ("echo it's # rm a.py", []),
        ("cat a.py # the file", [("a.py", R)]),
    ],
)
def test_files_a_command_touches(command: str, touches: list[tuple[str, FileAction]]) -> None:
    assert touched_files(command) == touches


@pytest.mark.parametrize(
    "command",
    [
        "cat a.py",
        "cat 'app/[id]/page.tsx'",
        "cd '/my repo' && nl -ba a.py | sed -n '40,$p'",
        "head -n 20 a.py || true",
        "cat a.py | head -50 | tail -20",
    ],
)
def test_what_a_command_shows_is_what_it_touches(command: str) -> None:
    read = shell_read(command)
    assert read
    assert touched_files(command) == [(read.path, R)]


@pytest.mark.parametrize("command", ["cat $FILE", "cat `ls`", 'cat "$FILE"', "cat a.py; ls", "cat", ""])
def test_a_command_that_shows_more_or_something_unknown_is_no_read(command: str) -> None:
    assert shell_read(command) is None


def test_a_command_looks_only_if_all_its_parts_do() -> None:
    assert only_looks('git log --format="%h %s" | grep -E "a|b; c"')
    assert only_looks("ls 2>/dev/null && cat a.py")
    assert not only_looks("ls > a.txt")


def test_a_loop_or_a_condition_looks_if_all_that_it_runs_does() -> None:
    assert only_looks('for name in $(git ls-tree main); do\n  size=$(wc -c "$name")\n  echo "$size"\ndone')
    assert only_looks("git log | while read line; do echo $line; done")
    assert only_looks("if grep -q x a.py; then cat a.py; fi")
    assert not only_looks("for name in *.py; do pytest $name; done")
    assert not only_looks("for name in $(rm a.py); do echo $name; done")
    assert not only_looks("CI=1 make")
    assert not only_looks("ls; make")
    assert not only_looks("git commit -m 'ls'")


def test_tests_are_known_outside_here_documents() -> None:
    assert is_test("cd /repo && python -m pytest -q")
    assert is_test("npm run test")
    assert is_test("python3 -u tests/test_one.py") and is_test("uv run test_one.py")
    assert not is_test("rm debug.py test_one.py")
    assert not is_test("cat > a.md <<EOF\nrun pytest\nEOF")


@pytest.mark.parametrize(
    "command",
    [
        "pytest tests",
        "cd app && pytest tests 2>&1 | tail -20",
        "cd app; CI=1 timeout 60 pytest -q tests | grep -E 'FAILED|passed'",
        "export CI=1\npytest -vv tests > /dev/null",
        "uv run pytest tests --tb=short; echo $?",
        ".venv/bin/pytest tests || true",
        "python -m pytest tests | head -5 | cat",
    ],
)
def test_what_only_selects_output_is_no_part_of_the_key(command: str) -> None:
    assert purpose_of(command).keys == ("pytest tests",)


def test_every_command_that_does_something_has_a_key() -> None:
    assert purpose_of("cd app && npm run build && npm test | tail -3").keys == ("npm run build", "npm test")


def test_two_commits_are_one_command_whatever_their_messages() -> None:
    heredoc = "git commit -m \"$(cat <<'EOF'\nfeat: two\nEOF\n)\""
    assert purpose_of("git commit -m one").keys == purpose_of(heredoc).keys == ("git commit",)


def test_a_substitution_is_a_word_of_its_command_unless_its_output_is_kept() -> None:
    copied = "mkdir -p a && cp $(npm root -g)/b/c.json a/c.json"
    assert purpose_of(copied).shown == copied
    assert purpose_of("kill $(lsof -t $(port))").keys == ("kill $(lsof -t $(port))",)
    assert purpose_of("out=$(pytest tests); echo $out").keys == ("pytest tests",)


def test_a_loop_is_shown_with_what_it_runs() -> None:
    loop = "cd app\n# each file\nfor file in *.py; do\n  black $file &&\n    pytest $file\ndone"
    assert purpose_of(loop).shown == "for file in *.py; do black $file && pytest $file; done"
    assert purpose_of("if test -f a.py\nthen\n  make a\nfi").shown == "if test -f a.py; then make a; fi"


def test_scripts_in_the_command_line_differ_by_their_text() -> None:
    one, two = (f"python - <<'EOF'\nprint({number})\nEOF" for number in (1, 2))
    assert purpose_of(one).keys != purpose_of(two).keys
    assert purpose_of(one).once
    assert not purpose_of("python run.py").once


@pytest.mark.parametrize(
    ("command", "masked"),
    [("make", False), ("make | tail -3", True), ("make || true", True), ("make; echo $?", True), ("a && b", False)],
)
def test_a_command_after_the_last_one_hides_the_exit_code(command: str, masked: bool) -> None:
    assert purpose_of(command).masked is masked


def test_after_a_semicolon_only_the_last_commands_have_surely_succeeded() -> None:
    assert purpose_of("make a; make b && make c").certain == ("make b", "make c")


def test_what_is_shown_has_neither_folder_nor_filter() -> None:
    assert purpose_of("cd app && mix test --seed 0 2>&1 | tail -20").shown == "mix test --seed 0"


@pytest.mark.parametrize(
    ("passed", "failed", "included"),
    [
        ("pytest", "pytest tests/test_a.py::test_b", True),
        ("pytest tests", "pytest tests/test_a.py", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py::test_b", True),
        ("pytest tests/test_a.py", "pytest", False),
        ("pytest tests/test_a.py", "pytest tests/test_ab.py", False),
        ("pytest -k one", "pytest", False),
        ("go test ./...", "go test ./server -run TestX", True),
        ("go test ./server", "go test ./client", False),
        ("cargo test", "cargo build", False),
        ("npm run test", "npm run test:unit", False),
    ],
)
def test_a_test_run_includes_another_if_it_selects_no_less(passed: str, failed: str, included: bool) -> None:
    assert covers(passed, failed) is included


@pytest.mark.parametrize(
    ("output", "failed", "outcome", "detail"),
    [
        ("==== 3 passed in 0.1s ====", None, Outcome.PASSED, "3 passed in 0.1s"),
        ("==== 1 failed, 3 passed in 0.1s ====", None, Outcome.FAILED, "1 failed, 3 passed in 0.1s"),
        ("Tests: 0 failed, 4 passed, 4 total", None, Outcome.PASSED, "Tests: 0 failed, 4 passed, 4 total"),
        ("<returncode>1</returncode>\nmake: *** Error 1\nfatal: no rule", None, Outcome.FAILED, "fatal: no rule"),
        ("Process exited with code 0", None, Outcome.PASSED, ""),
        ("Traceback (most recent call last)\nValueError: x", None, Outcome.FAILED, "ValueError: x"),
        ("Error: /bin/sh: 3: finish: not found", True, Outcome.FAILED, "Error: /bin/sh: 3: finish: not found"),
        ("E   ValueError: x\n1 frame", True, Outcome.FAILED, "ValueError: x"),
        ("a.ts(2,4): error TS1: no x\nWaiting ...", True, Outcome.FAILED, "a.ts(2,4): error TS1: no x"),
        ("src/a.c:3:1: fatal error: no b.h\nstopped.", True, Outcome.FAILED, "src/a.c:3:1: fatal error: no b.h"),
        (
            "error: would be overwritten by:\n\n\ta.py\nStop.",
            True,
            Outcome.FAILED,
            "error: would be overwritten by: a.py",
        ),
        ("** (EXIT) raised:\n  ** (BadMapError) got:\n  []", True, Outcome.FAILED, "** (BadMapError) got: []"),
        ("error: EXIT:\n  a map, got:\n  []\n  more", True, Outcome.FAILED, "error: EXIT: a map, got: []"),
        ("Checks failed:", True, Outcome.FAILED, "Checks failed:"),
        (
            "The last command <command>make x</command> timed out and has been killed.\nPlease try another command.",
            None,
            Outcome.FAILED,
            "The last command <command>make x</command> timed out and has been killed.",
        ),
        ("[lint] golangci-lint run\n0 issues.", None, Outcome.PASSED, "0 issues."),
        ("a.go:3:1: x (errcheck)\n2 issues:\n* errcheck: 2", None, Outcome.FAILED, "2 issues:"),
        ("12 mods/funs, found 1 warning.", None, Outcome.FAILED, "12 mods/funs, found 1 warning."),
        ("12 mods/funs, found no issues.", None, Outcome.PASSED, "12 mods/funs, found no issues."),
        ("9 files inspected, no offenses detected", None, Outcome.PASSED, "9 files inspected, no offenses detected"),
        ("9 files inspected, 3 offenses detected", None, Outcome.FAILED, "9 files inspected, 3 offenses detected"),
        ("[INFO] BUILD SUCCESS", None, Outcome.PASSED, "BUILD SUCCESS"),
        ("[INFO] BUILD FAILURE", None, Outcome.FAILED, "BUILD FAILURE"),
        ("Build succeeded.\n    0 Warning(s)", None, Outcome.PASSED, "Build succeeded."),
        ("There are 3 issues.", None, Outcome.UNKNOWN, ""),
        ("some text", None, Outcome.UNKNOWN, ""),
        ("some text", True, Outcome.FAILED, "some text"),
        ("some text", False, Outcome.PASSED, ""),
        ("", None, Outcome.UNKNOWN, ""),
    ],
)
def test_the_outcome_and_the_line_that_shows_it(
    output: str, failed: bool | None, outcome: Outcome, detail: str
) -> None:
    assert judge(output, failed) == (outcome, detail)


def test_escaped_line_breaks_are_no_part_of_an_error_line() -> None:
    output = "pre-commit\nfast checks\nError: the hook said\\n\\n[LINT] 3 warnings\\nSee the log\\n"
    assert judge(output, failed=True) == (Outcome.FAILED, "Error: the hook said [LINT] 3 warnings See the log")


def test_the_line_in_which_an_agent_says_that_there_was_no_error_is_no_error() -> None:
    output = "Command: pytest\nOutput: FAILED tests/test_a.py::test_x\nError: (none)\nExit Code: 1"
    assert judge(output)[1] == "Output: FAILED tests/test_a.py::test_x"


def test_the_output_of_a_command_is_taken_out_of_codexs_envelope() -> None:
    text = '{"output":"\\nCargo.toml\\nREADME.md\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}'
    assert printed(text) == "\nCargo.toml\nREADME.md\n"


def test_a_failed_commands_exit_code_stays_before_its_output() -> None:
    text = '{"output":"no such file\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}'
    assert printed(text) == "Exit code 2\nno such file\n"


def test_an_envelope_whose_output_was_shortened_is_one_all_the_same() -> None:
    text = '{"output":"first\\n\n[… 6,160 characters left out to make room …]\n\\nlast 5","metadata":{"exit_code":0}}'
    assert printed(text) == "first\n\n[… 6,160 characters left out to make room …]\n\nlast 5"


def test_the_output_and_the_error_of_a_command_are_taken_out_of_hermes_envelope() -> None:
    assert printed('{"output": "two files", "exit_code": 0, "error": null}') == "two files"
    assert printed('{"output": "one", "exit_code": 124, "error": "timed out"}') == "Exit code 124\none\ntimed out"
    refused = '{"output": "", "exit_code": -1, "error": "BLOCKED: User denied this command. Do NOT retry it."}'
    assert was_refused(printed(refused))


@pytest.mark.parametrize(
    "text",
    [
        "plain text",
        '{"output":"cut in the mid',
        '{"output":["a","list"],"metadata":{}}',
        '{"output":"a result of its own, without what Codex adds"}',
        "",
    ],
)
def test_any_other_result_is_returned_as_it_is(text: str) -> None:
    assert printed(text) == text


@pytest.mark.parametrize(
    "before",
    ["Output: ", "<untrusted_context>\nOutput: ", "Command: go test\n  ./...\nDirectory: (root)\nOutput: "],
)
def test_what_gemini_cli_and_qwen_code_write_before_an_output_is_left_out(before: str) -> None:
    assert printed(f"{before}ok  \tshop\t0.1s\nExit Code: 0") == "ok  \tshop\t0.1s\nExit Code: 0"


STATE = "(Open file: /w/katy/seed.py)\n(Current directory: /w/katy)\nbash-$"
SHOWN = f"[File: /w/katy/seed.py (2 lines total)]\n1:from z3 import *\n2:\n{STATE}"


def fenced(command: str, output: str) -> tuple[Message, Message]:
    return agent(f"Now the solver.\n```\n{command}\n```"), user(output)


def only_call(messages: tuple[Message, Message]) -> ToolCall:
    (found,) = tool_calls(messages)
    return found


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("create seed.py", FileAction.CREATED),
        ("open seed.py 12", FileAction.READ),
        ("edit 1:1\nfrom z3 import *\nend_of_edit", FileAction.MODIFIED),
        ("edit 1:9\nend_of_edit", FileAction.MODIFIED),
    ],
)
def test_a_fenced_command_of_the_editor_touches_the_open_file(command: str, action: FileAction) -> None:
    found = only_call(fenced(command, SHOWN))
    assert touches_of(found) == [("/w/katy/seed.py", action)]
    assert found.command == ""


def test_an_edit_has_the_text_that_it_writes() -> None:
    found = only_call(fenced("edit 1:1\nfrom z3 import *\n\ns = Solver()\nend_of_edit", SHOWN))
    assert found.input["new_string"] == "from z3 import *\n\ns = Solver()"


def test_an_edit_that_the_editor_refused_changes_nothing() -> None:
    said = f"Your proposed edit has introduced new syntax error(s).\nE999 IndentationError\n{STATE}"
    found = only_call(fenced("edit 1:1\n  x\nend_of_edit", said))
    assert found.failed
    assert touches_of(found) == []


def test_a_command_for_the_shell_stays_one() -> None:
    assert only_call(fenced("python seed.py", f"sat\n{STATE}")).command == "python seed.py"
    assert only_call(fenced("open seed.py", "<returncode>1</returncode>\n<output>\nno open\n</output>")).command


def test_a_change_without_a_path_is_one_of_the_open_file() -> None:
    given = {"search": "int(", "replace": "round("}
    messages = call("edit", given, f"Text replaced.\r\n[File: seed.py (2 lines total)]\r\n1:x\n{STATE}")
    (file,) = fold(messages).files
    assert (file.text, file.life) == ("/w/katy/seed.py", Life.CHANGED)


def test_no_file_is_open_where_the_result_says_so_or_says_nothing() -> None:
    assert open_file("sat\n(Open file: n/a)\n(Current directory: /w)\nbash-$") == ""
    assert open_file("(Open file: a.py) is what it prints") == ""
