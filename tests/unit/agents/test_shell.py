"""The effects of shell commands on files."""

import pytest

from ullage.agents.shell import is_test, only_looks, shell_read, touched_files
from ullage.model.message import FileAction

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
