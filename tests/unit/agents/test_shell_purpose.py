"""What a command line is run for: its keys, and which test run includes which."""

import pytest

from ullage.agents.shell_purpose import covers, purpose_of


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
