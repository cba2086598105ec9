"""Which files Claude Code attaches again after a compaction, as far as the conversation shows them."""

from support.claude_log import ClaudeLog
from support.foreign import messages_of, read_lines
from ullage.agents.claude_code.compaction import reattached
from ullage.agents.own_context import Setup


def numbered(first: int, count: int) -> str:
    return "\n".join(f"{number:6}\tvalue = {number}" for number in range(first, first + count))


def known(log: ClaudeLog, version: str = "2.1.39") -> list[tuple[str, float, float]]:
    found = reattached(Setup(version=version), messages_of(read_lines(*log.lines)))
    assert found is not None
    return [(file.plain[-8:], file.times, file.more) for file in found.files]


def edit(log: ClaudeLog, path: str, shown: str = "") -> None:
    log.call("Edit", f"The file {path} has been updated.\n{shown}", file_path=path, old_string="1", new_string="2")


def test_the_five_files_that_were_changed_last_come_back_and_those_only_read_if_there_are_fewer() -> None:
    log = ClaudeLog().ask()
    for name in "abcdef":
        log.read(f"/{name}.py", f"     1\t{name * 8}")
    edit(log, "/b.py")
    assert [name for name, _, _ in known(log)] == [name * 8 for name in "cdefb"]
    for name in "efdc":
        edit(log, f"/{name}.py")
    assert [name for name, _, _ in known(log)] == [name * 8 for name in "befdc"]


def test_files_of_instructions_are_in_each_prompt_already() -> None:
    log = ClaudeLog().ask()
    for path in ("/home/me/shop/CLAUDE.md", "/home/me/shop/.claude/rules/style.md", "/home/me/shop/CLAUDE.py"):
        log.read(path, "     1\tBe brief")
    assert known(log) == [("Be brief", 1.0, 1.0)]


def test_a_file_of_which_parts_were_shown_is_at_least_as_large_as_the_last_line_says_and_likely_larger() -> None:
    log = ClaudeLog().ask().read("/a.py", numbered(1, 10)).read("/b.py", numbered(901, 100))
    edit(log, "/c.py", numbered(41, 10))
    assert [(times, more) for _, times, more in known(log)] == [(1.0, 1.0), (10.0, 2.0), (5.0, 2.0)]
    edit(log, "/c.py", numbered(91, 10))
    edit(log, "/b.py", numbered(11, 5))
    assert [(times, more) for _, times, more in known(log)] == [(1.0, 1.0), (10.0, 1.5), (10.0, 1.5)]


def test_a_file_that_was_written_is_as_it_was_written() -> None:
    log = ClaudeLog().ask().read("/a.py", numbered(901, 100))
    log.call("Write", "The file /a.py has been updated.", file_path="/a.py", content="now short")
    edit(log, "/b.py")
    assert known(log) == [("ow short", 1.0, 1.0), ("", 1.0, 2.0)]


def test_of_versions_that_were_not_measured_nothing_is_said() -> None:
    assert reattached(Setup(version="2.1.316"), ()) is None
    assert reattached(Setup(version=""), ()) is None
