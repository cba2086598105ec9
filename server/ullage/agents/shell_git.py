"""Reads from git commands and their outputs which branch is checked out and what was committed."""

import re

from msgspec import Struct

from ullage.agents.calls import ToolCall

# Outputs are sometimes JSON, in which a line ends with a backslash and an n.
_COMMITTED = re.compile(
    r"\[([\w./@+-]{1,120})(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.{1,300}?)(?:\\n|\\r|\"\s*[,}\]]|\n|\r|$)"
)
_DETACHED = re.compile(r"\[detached HEAD ([0-9a-f]{7,40})\] (.{1,300}?)(?:\\n|\n|$)")
_MESSAGE = re.compile(
    r"\bgit (?:-C \S+ )?(?:commit|merge)\b[^\n]{0,80}?\s-(?:\w*m|-message)[ =]?([\"'])(?!\$\()(.{3,200}?)(?:\n|\1|$)"
)
_HEREDOC_MESSAGE = re.compile(r"\bgit (?:-C \S+ )?commit\b[^\n]{0,200}<<-?\s*['\"]?\w+['\"]?\n\s*([^\n]{3,200})")
_COMMITS = re.compile(r"\bgit (?:-C \S+ )?(?:commit|revert|cherry-pick|merge|am|pull|rebase)\b")
_MERGED = re.compile(r"^Merge made by\b|^Updating [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})$", re.MULTILINE)
_MERGES = re.compile(r"\bgit (?:-C \S+ )?(?:merge|pull)\b[ \t]*((?:[^\n;&|\"']|\"[^\"]*\"|'[^']*'){0,200})")
# A reset to what has no known commits before it.
_RESET_TO = re.compile(r"\bgit (?:-C \S+ )?reset --(?:hard|soft|mixed|keep|merge) (?!HEAD\s*(?:$|[;&|]))(?!-)\S+")
_HEAD_AT = re.compile(r"^HEAD is now at ([0-9a-f]{7,40}) (.{1,300})$", re.MULTILINE)
_AMENDS = re.compile(r"\bgit (?:-C \S+ )?commit\b[^\n;&|]{0,200}\s--amend\b")
# With a path after it, a reset moves no branch.
_RESET = re.compile(
    r"\bgit (?:-C \S+ )?reset (?:-(?:-(?:hard|soft|mixed|keep|merge)|q) ){0,2}"
    r"(?:HEAD(?:~(\d{0,3})|(\^{1,9}))|([0-9a-f]{7,40}))\s*(?=$|[;&|\n)\"'])"
)
_ON_BRANCH = re.compile(r"(?:^|\\n|\n|\"|Output: )On branch ([\w./@+-]+)")
_SWITCHED = re.compile(r"Switched to (?:a new |)branch '([^'\n]+)'|[Aa]lready on '([^'\n]+)'")
_LOOKED_AT = 4_000


class Commit(Struct, frozen=True, kw_only=True):
    """A commit that was made: the index of its call's message, its abbreviated hash (empty if the output doesn't show
    it), and the first line of its message."""

    index: int
    hash: str
    subject: str


def commits_after(commits: list[Commit], call: ToolCall) -> list[Commit]:
    """Returns the commits that are there after a call, in order: those before it that it neither undid nor amended, and
    those that it made. A commit whose output shows no hash counts unless the call failed."""
    command = call.command[:_LOOKED_AT]
    made = _made(call, command) if _COMMITS.search(command) else []
    undone = None if call.failed else _RESET.search(command)
    if undone and (not made or undone.start() < command.index("commit")):
        commits = _before(commits, undone)
    elif not call.failed and _RESET_TO.search(command):
        head = _HEAD_AT.search(call.result[:_LOOKED_AT])
        commits = [Commit(index=call.index, hash=head[1], subject=head[2].strip())] if head else []
    if _AMENDS.search(command) and commits and (made or _is_quiet(call)):
        # Without its output, the commit's new name is not known.
        made = made or [Commit(index=call.index, hash="", subject=commits[-1].subject)]
        commits = commits[:-1]
    return [*commits, *made]


def _made(call: ToolCall, command: str) -> list[Commit]:
    output = call.result[-_LOOKED_AT:]
    made = [(match[2], match[3]) for match in _COMMITTED.finditer(output)]
    made += [(match[1], match[2]) for match in _DETACHED.finditer(output)]
    if not made and (merged := _MERGED.search(output)) and not call.failed:
        asked = _MERGES.search(command)
        made = [(merged[1] or "", _subject(command) or (f"merge of {asked[1].strip() or 'upstream'}" if asked else ""))]
    if not made and _is_quiet(call) and (subject := _subject(command)):
        made = [("", subject)]
    return [Commit(index=call.index, hash=name, subject=subject.strip()) for name, subject in made]


def _before(commits: list[Commit], undone: re.Match[str]) -> list[Commit]:
    """Returns the commits that a reset leaves on the branch: all but so many, or those up to a hash. A reset to a hash
    that is not known leaves none, because the commits before it are not known either."""
    back, carets, name = undone.groups()
    if name:
        places = [place for place, commit in enumerate(commits) if commit.hash and name.startswith(commit.hash[:7])]
        return commits[: places[-1] + 1] if places else []
    count = len(carets) if carets else int(back or 1)
    return commits[: max(0, len(commits) - count)]


def branch_shown(call: ToolCall) -> str:
    """Returns the branch that a call shows to be checked out, empty if it shows none."""
    if call.failed or "git" not in call.command:
        return ""
    output = call.result[:_LOOKED_AT]
    found = _COMMITTED.search(output) or _SWITCHED.search(output) or _ON_BRANCH.search(output)
    return found[1] or found[2] if found else ""


def _subject(command: str) -> str:
    match = _HEREDOC_MESSAGE.search(command)
    if match:
        return match[1]
    match = _MESSAGE.search(command)
    return match[2] if match else ""


def _is_quiet(call: ToolCall) -> bool:
    """Returns whether a call may have committed without saying so: it was asked to be quiet, or shows only the end of
    the output, and reports no failure."""
    filtered = re.search(r"\bcommit\b[^\n]*(?:\s-\w*q|--quiet|\| *(?:tail|head|grep)|>/dev/null)", call.command)
    return not call.failed and call.result_index >= 0 and (not call.result.strip() or filtered is not None)
