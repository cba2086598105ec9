"""The state of the work: the newest plan, the last test run and commit, the files changed last, the next step."""

import re
from collections.abc import Iterator, Sequence, Set
from functools import lru_cache
from textwrap import dedent

from msgspec.structs import replace

from ullage.agents.calls import ToolCall, text_put_into
from ullage.agents.shell_git import Commit, branch_after, commits_in
from ullage.agents.shell_issues import issue_changes
from ullage.agents.shell_purpose import without_options
from ullage.model.artifacts import FileAction, Outcome
from ullage.redaction.clean import clean
from ullage.summary.choosing.begun_work import begun_work
from ullage.summary.choosing.failed_changes import failed_changes
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.mends import Changes, changes_of, failures_of
from ullage.summary.choosing.plans import Entry, Status
from ullage.summary.choosing.steps import open_steps, question, was_done
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest, Run
from ullage.summary.reading.excerpts import clip, cut_at_space, head_and_tail, numbered_lines, single_spaced
from ullage.summary.reading.listings import FEWEST_LINES

# Other products read as many files again after a compaction.
RECENT_FILES = 5
# A summary shows what is known of the newest work; the archive has the rest.
_MOST_COMMITS, _MOST_CHECKS, _MOST_NAMES = 8, 3, 6
_MOST_ISSUES = 12
# The longest subject that git's own documents call for is 72 characters.
_SUBJECT_LIMIT = 100
_DOCUMENTS = (".md", ".rst", ".txt", ".diff", ".patch")
_CHECKS = re.compile(
    r"(?:[\w./-]+ ){0,3}(?:\S+:)?(?:lint|compile|build|check|typecheck|type-check|credo|dialyzer|clippy|vet|tsc|tsgo"
    r"|mypy|pyright|ruff|eslint|prettier|black|flake8|biome|rubocop|shellcheck|golangci-lint|ci|precommit|pre-commit|make"
    r"|gradle|mvn|pdflatex|latexmk|bench(?:mark)?)\b"
)
# Fewer lines are fragments, of which one is as good as all.
_TOUCHED_LINES, _TOUCHED_LIMIT, _TOUCHED_READ = FEWEST_LINES, 200, 4_000
# What nearly every file begins with.
_PREAMBLE = re.compile(
    r"\s*(?:import\b|from \S+ import\b|package\b|use \w|#include\b|#!|[\"']{3}|//|/?\*|\)|\"[^\"]*\"$)"
)
_WORD = re.compile(r"[A-Za-z]{2}")
# How items of the state begin.
_TESTED, _COMMITTED, _EARLIER = "Last test run: ", "Last commit", "Earlier commits: "
_AFTER_TESTS, _AFTER_COMMIT = "Changed after that test run: ", "Changed after that commit: "
_BESIDE = {_COMMITTED: (_EARLIER,)}
# Calls after a failure in which the agent still looks for its cause. Later on it may have given the command up.
_JUST_NOW = 6


def plan_of(plan: Sequence[Entry]) -> list[Item]:
    """Returns an item for each entry of a plan, with its status before it."""
    return [_item(Section.PLAN, f"{entry.status}: {entry.text}", entry.index) for entry in plan]


def state_of(digest: Digest) -> Iterator[Item]:
    """Yields items for the branch and the last commit, the commits before it, the last test run, the last run of other
    checks, what was changed after the last commit and the last test run, files that could not be changed, sub-agents,
    and commands that still run in the background, as far as there are any; and the last call, unless messages that stay
    in the context have a later one."""
    changes = changes_of(digest)
    told = [*_commits(digest, changes), *_checked(digest, changes), *failed_changes(digest), *_issues(digest)]
    told += begun_work(digest)
    yield from told
    last = _last_call(digest)
    if last and all(item.index != last.index for item in told):
        yield last


def standing(earlier: Sequence[Item], newest: Sequence[Item], digest: Digest) -> Iterator[Item]:
    """Yields what an earlier summary's state says that still holds next to the `newest` state: the last test run and
    the last commits if there were none since, each with what was changed after it, also in the messages of the
    digest."""
    changed = changes_of(digest).since(-1)
    # A reset may have undone the earlier commits.
    undone = any("git reset" in key for run in digest.runs for key in run.purpose.keys)
    for last, after in ((_TESTED, _AFTER_TESTS), (_COMMITTED, _AFTER_COMMIT)):
        if any(item.text.startswith(last) for item in newest) or (undone and last is _COMMITTED):
            continue
        told = [item for item in earlier if item.text.startswith((last, after, *_BESIDE.get(last, ())))]
        yield from told
        runs = [item for item in told if item.text.startswith(last)]
        if runs and changed:
            yield replace(_item(Section.STATE, f"{after}{_names(changed)}", runs[-1].index), order=2)


def _last_call(digest: Digest) -> Item | None:
    if not digest.calls or (digest.after and digest.after.calls):
        return None
    call, touches = digest.calls[-1], digest.touches[-1]
    if digest.runs and digest.runs[-1].number == len(digest.calls) - 1:
        what = f"`{digest.runs[-1].command}`"
    elif touches:
        what = f"{clean(call.name)} of {clean(touches[0][0])}"
    else:
        what = clean(call.name)
    return replace(_item(Section.STATE, f"Last call: {what}", call.index), order=3)


def _commits(digest: Digest, changes: Changes) -> Iterator[Item]:
    parts = [digest, *([digest.after] if digest.after else [])]
    runs = [(part, run) for part in parts for run in part.runs]
    calls = [part.calls[run.number] for part, run in runs if any("git " in key for key in run.purpose.keys)]
    (branch, folder), commits = map(clean, branch_after(calls)), commits_in(calls)
    place = f" in {folder}" if folder else ""
    if not commits:
        if branch:
            yield _item(Section.STATE, f"Branch{place}: {branch}", digest.end_index - 1)
        return
    last = commits[-1]
    where = f" on branch {branch}{place}" if branch else ""
    yield _item(Section.STATE, f"{_COMMITTED}{where}: {_commit(last)}", last.index)
    if earlier := [_commit(commit) for commit in commits[-1 - _MOST_COMMITS : -1]]:
        yield _item(Section.STATE, f"{_EARLIER}{'; '.join(reversed(earlier))}", commits[-2].index)
    if changed := changes.since(last.index):
        text = f"{_AFTER_COMMIT}{_names(changed)}"
        yield replace(_item(Section.STATE, text, last.index), order=1)


def _commit(commit: Commit) -> str:
    return clean(f"{commit.hash} {cut_at_space(commit.subject, _SUBJECT_LIMIT)}".strip())


def _checked(digest: Digest, changes: Changes) -> Iterator[Item]:
    """Yields the last test run, and the last run of every other command that checks the work."""
    tests: Run | None = None
    checks: dict[tuple[str, ...], Run] = {}
    for run in [*digest.runs, *(digest.after.runs if digest.after else ())]:
        # A later run, also one in front of a test run or with other options, says more than an earlier one.
        bare = set(map(without_options, run.purpose.keys)) if checks else ()
        for keys, older in [*checks.items()]:
            failed = older.outcome is Outcome.FAILED
            if set(keys) <= set(run.purpose.keys) or (failed and without_options(keys[-1]) in bare):
                del checks[keys]
        if run.is_test:
            tests = run
        elif not (run.looks or run.purpose.once) and run.outcome is not Outcome.UNKNOWN and _is_check(run):
            checks[run.purpose.keys] = run
    if tests:
        yield _item(Section.STATE, f"{_TESTED}{_ended(tests)}", tests.index)
        if changed := changes.since(tests.index):
            text = f"{_AFTER_TESTS}{_names(changed)}"
            yield replace(_item(Section.STATE, text, tests.index), order=1)
    for run in [*checks.values()][-_MOST_CHECKS:]:
        text = f"Last run of {_ended(run)}{_changed_since(run, changes)}"
        yield replace(_item(Section.STATE, text, run.index), order=2)


def _changed_since(run: Run, changes: Changes) -> str:
    """Returns how many files were changed after a check that failed, which may pass since; empty if none or if it
    passed."""
    count = len(changes.since(run.index)) if run.outcome is Outcome.FAILED else 0
    return f"; {count} file{'s'[: count > 1]} changed since" if count else ""


def _issues(digest: Digest) -> Iterator[Item]:
    """Yields an item for the issues that were closed or begun with a tracker's command line."""
    statuses: dict[str, str] = {}
    index = -1
    for run in digest.runs:
        if run.outcome is not Outcome.FAILED:
            for issue, status in issue_changes(run.purpose.keys):
                statuses.pop(issue, None)
                statuses[issue] = status
                index = run.index
    if statuses:
        by_status: dict[str, list[str]] = {}
        for issue, status in [*statuses.items()][-_MOST_ISSUES:]:
            by_status.setdefault(status, []).append(issue)
        shown = "; ".join(f"{status}: {', '.join(issues)}" for status, issues in by_status.items())
        yield _item(Section.STATE, f"Issues {clean(shown)}", index)


def _is_check(run: Run) -> bool:
    return any(_CHECKS.match(key) for key in run.purpose.keys)


def _ended(run: Run) -> str:
    if run.outcome is Outcome.UNKNOWN:
        return f"`{run.command}`, whose output does not show how it ended"
    return f"`{run.command}` {run.outcome.value}" + (f": {run.detail}" if run.detail else "")


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _MOST_NAMES} more" if len(paths) > _MOST_NAMES else ""
    return ", ".join(paths[-_MOST_NAMES:]) + more


def recent_of(digest: Digest, listed: Set[str] = frozenset()) -> Iterator[Item]:
    """Yields an item for each of the five files that were changed last and not deleted since, newest first, with the
    lines last written into it. Files whose whole paths are `listed` elsewhere are named from the folder that holds all
    changed files."""
    seen, shown = set[str](), 0
    changes = changes_of(digest)
    for call, touches in zip(reversed(digest.calls), reversed(digest.touches), strict=True):
        for path, action in reversed(touches):
            if action is FileAction.READ or path in seen:
                continue
            seen.add(path)
            if action is not FileAction.DELETED:
                if shown == RECENT_FILES:
                    return
                shown += 1
                item = _item(Section.RECENT, path + _touched(path, call), call.index)
                # A short name alone shows too little, so the item keeps the anchors of the whole path.
                short = path.removeprefix("./") in listed
                yield replace(item, text=changes.name(path) + item.text.removeprefix(path)) if short else item


def next_of(digest: Digest, plan: Sequence[Entry]) -> Iterator[Item]:
    """Yields the next step as items: what the agent promised and no later call has done, or else the first open entry
    of the newest `plan`, or else the question that waits for the user's answer, or else a command that has just failed,
    or else the tests that fail or were not run since the last change. Empty if nothing shows it."""
    steps = open_steps(digest)
    yield from (_item(Section.NEXT, text, index) for text, index in steps)
    if steps:
        return
    left = [entry for entry in plan if entry.status in (Status.IN_HAND, Status.OPEN)]
    left = [entry for entry in left if not was_done(digest, entry.text, entry.index)]
    if left:
        chosen = next((entry for entry in left if entry.status is Status.IN_HAND), left[0])
        yield _item(Section.NEXT, chosen.text, chosen.index)
    elif asked := question(digest):
        yield _item(Section.NEXT, f"The user has not answered yet: {asked[0]}", asked[1])
    elif failed := _failed_last(digest):
        yield failed
    else:
        yield from _untested(digest)


def _failed_last(digest: Digest) -> Item | None:
    """Returns an item for a command that failed among the last calls, and since which nothing was changed."""
    failed = next(iter(failures_of(digest)), None)
    later = len(digest.calls) + (len(digest.after.calls) if digest.after else 0)
    if failed is None or failed.cure or failed.again or failed.last.is_test or not failed.last.detail:
        return None
    if later - failed.last.number > _JUST_NOW or changes_of(digest).since(failed.last.index):
        return None
    return _item(Section.NEXT, f"`{failed.last.command}` has failed: {failed.last.detail}", failed.last.index)


def _untested(digest: Digest) -> Iterator[Item]:
    tests = [run for run in (*digest.runs, *(digest.after.runs if digest.after else ())) if run.is_test]
    if not tests:
        return
    last = tests[-1]
    committed = max((run.index for run in digest.runs if "git commit" in run.purpose.keys), default=-1)
    changed = [path for path in changes_of(digest).since(max(last.index, committed)) if not path.endswith(_DOCUMENTS)]
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    if last.outcome is Outcome.FAILED:
        detail = f": {last.detail}" if last.detail else ""
        text = f"Run `{last.command}` again: it failed, and {files} changed since{detail}"
        yield _item(Section.NEXT, text if changed else f"Make `{last.command}` pass{detail}", last.index)
    elif changed and committed < last.index:
        text = f"Run `{last.command}` again: {files} changed since, the last of them {changed[-1]}"
        yield _item(Section.NEXT, text, last.index)


def _touched(path: str, call: ToolCall) -> str:
    """Returns the first lines that were last written into a file, after a colon: a line of a short text, a block of
    code of a long one, which begins after its imports. Empty if there are none to show."""
    return _first_lines(head_and_tail(text_put_into(call, path), _TOUCHED_READ))


@lru_cache(maxsize=64)
def _first_lines(written: str) -> str:
    shown = [line for line in numbered_lines(clean(written))[0] if _WORD.search(line)]
    if len(shown) < _TOUCHED_LINES:
        first = next((single_spaced(line.strip()) for line in shown if not _PREAMBLE.match(line)), "")
        quoted = clip(first, _TOUCHED_LIMIT).replace("`", "'")
        return f": `{quoted}`" if quoted else ""
    start = next((place for place, line in enumerate(shown) if not _PREAMBLE.match(line)), len(shown))
    if start == len(shown):
        return ""
    start = min(start, len(shown) - _TOUCHED_LINES)
    code = dedent("\n".join(shown[start : start + _TOUCHED_LINES])).replace("```", "'''")
    return f":\n```\n{code}\n```"


def _item(section: Section, text: str, index: int) -> Item:
    return Item(section=section, text=text, index=index, anchors=find_anchors(text))
