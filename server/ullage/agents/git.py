"""What git commands did, by their words and what they printed: the commits, the branch, what was put back."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from ullage.agents.calls import ToolCall
from ullage.agents.shell import part_looks, parts_of

# Outputs are sometimes JSON, in which a line ends with a backslash and an n.
_COMMITTED = re.compile(
    r"\[([\w./@+-]{1,120}|detached HEAD)(?: \(root-commit\))? ([0-9a-f]{7,40})\] "
    r"(.{1,300}?)(?:\\n|\\r|\"\s*[,}\]]|\n|\r|$)"
)
_HEREDOC_MESSAGE = re.compile(r"\bgit (?:-C \S+ )?commit\b[^\n]{0,200}<<-?\s*['\"]?\w+['\"]?\n\s*([^\n]{3,200})")
_COMMITS = {"commit", "revert", "cherry-pick", "merge", "am", "pull", "rebase"}
_MERGED = re.compile(r"^Merge made by\b|^Updating [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})$", re.MULTILINE)
_HEAD_AT = re.compile(r"^HEAD is now at ([0-9a-f]{7,40}) (.{1,300})$", re.MULTILINE)
_BACK, _HASH = re.compile(r"HEAD(?:~(\d{0,3})|(\^{1,9}))"), re.compile(r"[0-9a-f]{7,40}")
_RESETS = {"--hard", "--soft", "--mixed", "--keep", "--merge"}
_ON_BRANCH = re.compile(r"(?:^|\\n|\n|\"|Output: )On branch ([\w./@+-]+)")
_SWITCHED = re.compile(r"Switched to (?:a new |)branch '([^'\n]+)'|[Aa]lready on '([^'\n]+)'")
_GIVES_MESSAGE, _QUIET = re.compile(r"-\w*m|--message"), re.compile(r"-\w*q|--quiet")
_HIDES = {"tail", "head", "grep"}
_LOOKED_AT = 4_000


class Step(Struct, frozen=True, kw_only=True, gc=False):
    """A command of git. `words` are those after its verb. `folder` is where it runs, empty for where the agent is.
    `is_quiet` says that its output may not show what it did."""

    verb: str
    words: tuple[str, ...]
    folder: str
    is_quiet: bool


class Commit(Struct, frozen=True, kw_only=True):
    """A commit that was made: the index of its call's message, its abbreviated hash (empty if the output doesn't show
    it), and the first line of its message."""

    index: int
    hash: str
    subject: str


@lru_cache(maxsize=512)
def steps_of(command: str) -> tuple[Step, ...]:
    """Returns the git commands of a command line, in order."""
    folder, steps, parts = "", list[Step](), parts_of(command)
    for place, part in enumerate(parts):
        program, *words = part.words
        if program in ("cd", "pushd") and words:
            folder = words[0] if words[0].startswith(("/", "~", "$")) or not folder else f"{folder}/{words[0]}"
        if program == "gh" and words[:2] == ["pr", "checkout"]:
            at = 1
        elif program == "git":
            at = 0
        elif "git" in words and not part_looks(part):
            at = words.index("git") + 1
        else:
            continue
        while at + 2 < len(words) and words[at] in ("-C", "-c"):
            folder = words[at + 1] if words[at] == "-C" else folder
            at += 2
        hides = any(later.joint in ("|", "|&") and later.words[0] in _HIDES for later in parts[place + 1 :])
        if at < len(words):
            rest = words[at + 1 :]
            is_quiet = hides or any(map(_QUIET.match, rest)) or any(to == "/dev/null" for _, to in part.redirections)
            steps.append(Step(verb=words[at], words=tuple(rest), folder=folder, is_quiet=is_quiet))
    return tuple(steps)


def commits_after(commits: Sequence[Commit], call: ToolCall) -> list[Commit]:
    """Returns the commits that are there after a call, in order: those before it that it neither undid nor amended, and
    those that it made. A commit whose output shows no hash counts unless the call failed."""
    steps, left = steps_of(call.command), [*commits]
    making = [step for step in steps if step.verb in _COMMITS]
    made = _made(call, making) if making else []
    for step in steps:
        if step.verb == "reset" and not call.failed:
            left = _after_reset(left, step, call)
        elif making and step is making[0]:
            amends = any("--amend" in one.words for one in making)
            if amends and left and (made or _is_quiet(call, making)):
                # Without its output, the commit's new name is not known.
                made = made or [Commit(index=call.index, hash="", subject=left[-1].subject)]
                left = left[:-1]
            left += made
    return left


def _made(call: ToolCall, making: Sequence[Step]) -> list[Commit]:
    output = call.result[-_LOOKED_AT:]
    made = [(name, subject) for _, name, subject in _COMMITTED.findall(output)]
    if not made and (merged := _MERGED.search(output)) and not call.failed:
        asked = [" ".join(step.words) or "upstream" for step in making if step.verb in ("merge", "pull")]
        made = [(merged[1] or "", _subject(call.command, making) or f"merge of {asked[0]}" if asked else "")]
    if not made and _is_quiet(call, making) and (subject := _subject(call.command, making)):
        made = [("", subject)]
    return [Commit(index=call.index, hash=name, subject=subject.strip()) for name, subject in made]


def _after_reset(commits: list[Commit], reset: Step, call: ToolCall) -> list[Commit]:
    """Returns the commits that a reset leaves on the branch: all but so many, or those up to a hash. A reset to what is
    not known leaves the one that its output names. With a path, a reset moves no branch."""
    names = [word for word in reset.words if not word.startswith("-")]
    if len(names) != 1 or "--" in reset.words:
        return commits
    if back := _BACK.fullmatch(names[0]):
        return commits[: max(0, len(commits) - (len(back[2]) if back[2] else int(back[1] or 1)))]
    if _HASH.fullmatch(names[0]):
        places = [at for at, commit in enumerate(commits) if commit.hash and names[0].startswith(commit.hash[:7])]
        return commits[: places[-1] + 1] if places else []
    if names[0] == "HEAD" or _RESETS.isdisjoint(reset.words):
        return commits
    head = _HEAD_AT.search(call.result[:_LOOKED_AT])
    return [Commit(index=call.index, hash=head[1], subject=head[2].strip())] if head else []


def branch_shown(call: ToolCall) -> str:
    """Returns the branch that a call shows to be checked out, empty if it shows none."""
    if call.failed or not steps_of(call.command):
        return ""
    output = call.result[:_LOOKED_AT]
    on_branch = (one for one in _COMMITTED.finditer(output) if " " not in one[1])
    found = next(on_branch, None) or _SWITCHED.search(output) or _ON_BRANCH.search(output)
    return found[1] or found[2] if found else ""


def _subject(command: str, making: Sequence[Step]) -> str:
    if match := _HEREDOC_MESSAGE.search(command[:_LOOKED_AT]):
        return match[1]
    given = (pair for step in making for pair in pairwise(step.words))
    said = (message for option, message in given if _GIVES_MESSAGE.fullmatch(option) and not message.startswith("$("))
    return next(said, "").partition("\n")[0][:200]


def _is_quiet(call: ToolCall, making: Sequence[Step]) -> bool:
    """Returns whether a call may have committed without saying so: it was asked to be quiet, or shows only a part of
    the output, and reports no failure."""
    hides = any(step.is_quiet for step in making if step.verb == "commit")
    return not call.failed and call.result_index >= 0 and (hides or not call.result.strip())
