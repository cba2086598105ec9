"""Branches and commits, read from git commands and their outputs."""

from functools import reduce

import pytest

from support.conversations import bash, tool_calls
from ullage.agents.calls import ToolCall
from ullage.agents.git import Commit, branch_shown, commits_after
from ullage.model.message import Message


def calls(*messages: Message) -> list[ToolCall]:
    return tool_calls(messages)


def commits_in(made: list[ToolCall]) -> list[Commit]:
    return reduce(commits_after, made, list[Commit]())


def test_a_commit_has_the_hash_and_the_subject_that_git_printed() -> None:
    made = bash(
        "git add -A && git commit -m 'fix: close files'", "[fix/leak 1a2b3c4] fix: close files\n 1 file changed"
    )
    (commit,) = commits_in(calls(*made))
    assert (commit.hash, commit.subject) == ("1a2b3c4", "fix: close files")
    assert [branch_shown(call) for call in calls(*made)] == ["fix/leak"]


def test_a_commit_is_read_from_output_in_json() -> None:
    made = bash("git commit -m one", '{"output":"[main 1a2b3c4] one; two\\n 2 files","metadata":{"exit_code":0}}')
    assert [(commit.hash, commit.subject) for commit in commits_in(calls(*made))] == [("1a2b3c4", "one; two")]


def test_a_refused_commit_is_none() -> None:
    made = bash("git commit -m one", "pre-commit: line too long", is_error=True)
    assert commits_in(calls(*made)) == []


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("git commit -q -m 'fix: close files'", ""),
        ('git commit -qam "fix: close files\n\nThey leaked."', ""),
        ("git commit --message 'fix: close files' | tail -1", " 1 file changed"),
        ("git commit -q -F - <<'EOF'\nfix: close files\n\nThey leaked.\nEOF", ""),
        ("git commit -qm \"$(cat <<'EOF'\nfix: close files\nEOF\n)\"", ""),
    ],
)
def test_a_quiet_commit_has_the_subject_of_its_command(command: str, output: str) -> None:
    assert [commit.subject for commit in commits_in(calls(*bash(command, output)))] == ["fix: close files"]


@pytest.mark.parametrize(
    "command",
    [
        "echo git commit -m 'fix: close files'",
        "cat > go.sh <<'EOF'\ngit commit -qm 'fix: close files'\nEOF",
        "grep -rn 'git commit' docs",
    ],
)
def test_a_command_that_only_names_a_commit_makes_none(command: str) -> None:
    assert commits_in(calls(*bash(command, ""))) == []


@pytest.mark.parametrize(
    ("command", "left"),
    [
        ("git reset --hard HEAD~1; rm -f model.diff", ["one"]),
        ("git reset --soft HEAD^", ["one"]),
        ("git reset HEAD~2 && git status", []),
        ("git reset --hard 1111111", ["one"]),
        ("git reset --hard 9999999", []),
        ("git reset HEAD~1 -- a.py", ["one", "two"]),
        ("git reset a.py", ["one", "two"]),
        ("git reset -q HEAD~1 && git commit -m three", ["one", "three"]),
        ("git commit --amend -m three", ["one", "three"]),
        ("git add -A && git commit -m three", ["one", "two", "three"]),
        ("git commit -m three && git reset --hard HEAD~1", ["one", "two"]),
        ("git -c user.name=Ada -C ../shop commit -m three", ["one", "two", "three"]),
        ("if git diff --quiet; then :; else git commit -m three; fi", ["one", "two", "three"]),
        ("GIT_EDITOR=true timeout 60 git commit --amend -m three", ["one", "three"]),
    ],
)
def test_a_commit_that_was_undone_or_amended_does_not_count(command: str, left: list[str]) -> None:
    output = "[main 3333333] three\n 1 file changed" if "commit" in command else ""
    made = calls(
        *bash("git commit -m one", "[main 1111111] one", call_id="a"),
        *bash("git commit -m two", "[main 2222222] two", call_id="b"),
        *bash(command, output, call_id="c"),
    )
    assert [commit.subject for commit in commits_in(made)] == left


def test_a_reset_that_failed_undoes_no_commit() -> None:
    made = calls(
        *bash("git commit -m one", "[main 1111111] one", call_id="a"),
        *bash("git reset --hard HEAD~1", "fatal: ambiguous argument 'HEAD~1'", call_id="b", is_error=True),
    )
    assert [commit.subject for commit in commits_in(made)] == ["one"]


@pytest.mark.parametrize(
    ("command", "output", "branch"),
    [
        ("git status", "On branch main\nnothing to commit", "main"),
        ("git switch -c fix/leak", "Switched to a new branch 'fix/leak'", "fix/leak"),
        ("git -C ../site status", "On branch fix/leak", "fix/leak"),
        ("git log -1", "one", ""),
        ("ls", "On branch main", ""),
    ],
)
def test_a_git_command_shows_the_branch_that_is_checked_out(command: str, output: str, branch: str) -> None:
    assert [branch_shown(call) for call in calls(*bash(command, output))] == [branch]


@pytest.mark.parametrize(
    ("command", "output", "last"),
    [
        (
            "git revert --no-edit HEAD",
            '[main 3333333] Revert "feat: a"',
            Commit(index=2, hash="3333333", subject='Revert "feat: a"'),
        ),
        (
            "git cherry-pick abc1234",
            "[main 4444444] fix: b\n Date: x",
            Commit(index=2, hash="4444444", subject="fix: b"),
        ),
        (
            "git merge --no-ff x -m 'Merge x'",
            "Merge made by the 'ort' strategy.",
            Commit(index=2, hash="", subject="Merge x"),
        ),
        (
            "git pull",
            "Updating 1111111..5555555\nFast-forward",
            Commit(index=2, hash="5555555", subject="merge of upstream"),
        ),
        ("git add -A && git commit --amend --no-edit -q", "", Commit(index=2, hash="", subject="feat: a")),
        (
            "git reset --hard origin/main",
            "HEAD is now at 6666666 base",
            Commit(index=2, hash="6666666", subject="base"),
        ),
        ("git reset --hard HEAD", "HEAD is now at 1111111 feat: a", Commit(index=0, hash="1111111", subject="feat: a")),
        ("git checkout -b x && git commit -qam 'feat: c'", "", Commit(index=2, hash="", subject="feat: c")),
        ("git status", "On branch main", Commit(index=0, hash="1111111", subject="feat: a")),
    ],
)
def test_the_last_commit_is_the_one_that_a_command_left(command: str, output: str, last: Commit) -> None:
    made = bash("git commit -m 'feat: a'", "[main 1111111] feat: a", call_id="a")
    assert commits_in(calls(*made, *bash(command, output, call_id="b")))[-1] == last


def test_a_soft_reset_to_another_branch_leaves_no_known_commit() -> None:
    made = bash("git commit -m 'feat: a'", "[main 1111111] feat: a", call_id="a")
    assert commits_in(calls(*made, *bash("git reset --soft origin/main", "", call_id="b"))) == []
