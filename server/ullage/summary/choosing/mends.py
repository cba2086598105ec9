"""Failed commands with what became of them: passed later, run again, or still open."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from posixpath import commonpath

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.shell_purpose import covers, purpose_of, without_options
from ullage.model.artifacts import FileAction, Outcome
from ullage.model.message import number_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.digest import Digest, Run, once

_INDEX = attrgetter("index")
_SCRATCH = ("/tmp/", "/private/tmp/", "/var/")
# How an item on a failed command ends if something came of it.
PASSED_IN, RAN_AGAIN = "; passed in #", "; ran again in #{}, its outcome is not shown"
_FAILED = re.compile(r"`([^`\n]+)` failed\b")
_TOLD = re.compile(r"; (?:passed|ran again) in #\d")
# `/home/USER/PROJECT`
_PROJECT_DEPTH = 3


class Failure(Struct, frozen=True, kw_only=True):
    """The failures of one command up to its next success. `runs` are the failed runs, the oldest first. `cure` is the
    run that passed, `again` a later run whose output does not show how it ended; each is None if there was none."""

    runs: tuple[Run, ...]
    cure: Run | None
    again: Run | None

    @property
    def last(self) -> Run:
        """The last of the failed runs."""
        return self.runs[-1]


class _Later:
    """What ran after a point of the conversation, filled from the end."""

    def __init__(self) -> None:
        self.passed: dict[str, Run] = {}
        self.tests: dict[str, Run] = {}
        self.again: dict[str, Run] = {}

    def add(self, run: Run) -> None:
        if run.looks:
            return
        if run.outcome is Outcome.PASSED:
            for key in run.purpose.certain:
                self.passed[key] = run
                if run.is_test:
                    self.tests[key] = run
        elif run.outcome is Outcome.UNKNOWN:
            self.again.update(dict.fromkeys(map(without_options, run.purpose.keys), run))

    def cure_of(self, keys: Sequence[str], *, is_test: bool) -> Run | None:
        """Returns the run by which every command of a failed run had passed, None if one of them has not."""
        cures = [self._cure(key, is_test=is_test) for key in keys]
        known = [cure for cure in cures if cure]
        return max(known, key=lambda cure: cure.index) if known and len(known) == len(cures) else None

    def again_of(self, keys: Sequence[str]) -> Run | None:
        """Returns a later run of the same commands, also with other options, whose outcome is not shown."""
        found = [self.again.get(without_options(key)) for key in keys]
        return found[-1]

    def _cure(self, key: str, *, is_test: bool) -> Run | None:
        if key in self.passed or not is_test:
            return self.passed.get(key)
        wider = [run for passed, run in self.tests.items() if covers(passed, key)]
        return min(wider, key=lambda run: run.index) if wider else None


@once
def failures_of(digest: Digest) -> list[Failure]:
    """Returns the failures of the archived messages, the newest first. Failures of the same command without a success
    between them are one. What the messages after the archived ones show counts as well. Scripts that are part of their
    command line are left out, because they are not run a second time; so are commands that only look."""
    later = _Later()
    for run in reversed(digest.after.runs if digest.after else ()):
        later.add(run)
    found: dict[tuple[tuple[str, ...], int], list[Run]] = {}
    ends: dict[tuple[tuple[str, ...], int], tuple[Run | None, Run | None]] = {}
    for run in reversed(digest.runs):
        if run.outcome is Outcome.FAILED and not (run.looks or run.purpose.once):
            cure = later.cure_of(run.purpose.keys, is_test=run.is_test)
            key = (run.purpose.keys, cure.index if cure else -1)
            found.setdefault(key, []).append(run)
            ends.setdefault(key, (cure, None if cure else later.again_of(run.purpose.keys)))
        later.add(run)
    return [Failure(runs=tuple(reversed(runs)), cure=ends[key][0], again=ends[key][1]) for key, runs in found.items()]


def told_since(items: Iterable[Item], digest: Digest) -> Iterator[Item]:
    """Yields the items of an earlier summary. One on a failed command says how that ended, if the messages since show
    it."""
    later = _Later()
    for run in reversed([*digest.runs, *(digest.after.runs if digest.after else ())]):
        later.add(run)
    for item in items:
        failed = _FAILED.match(item.text) if item.section in (Section.ERRORS, Section.OPEN) else None
        keys = purpose_of(failed[1]).keys if failed and not _TOLD.search(item.text) else ()
        if cure := later.cure_of(keys, is_test=item.section is Section.OPEN):
            text = f"{item.text}{PASSED_IN}{number_of(cure.index)}"
            yield replace(item, text=text, section=Section.ERRORS)
        elif keys and (again := later.again_of(keys)):
            text = f"{item.text}{RAN_AGAIN.format(number_of(again.index))}"
            yield replace(item, text=text, section=Section.ERRORS)
        else:
            yield item


def is_overtaken(failed: str, passed: Mapping[str, int], index: int) -> bool:
    """Returns whether a test that failed in message `index` was part of a later test run that passed. `passed` has the
    keys of passed test runs with the messages in which they passed last."""
    return any(later > index and covers(key, failed) for key, later in passed.items())


class Changes:
    """The changes of files in a conversation, to be asked for by messages. Files are named from the folder that holds
    them all."""

    def __init__(self, digest: Digest) -> None:
        self._changes = list(_changes(digest))
        if digest.after:
            self._changes.extend(_changes(digest.after))
        self._indices = [index for index, _ in self._changes]
        self._root = _root(path for _, path in self._changes)

    def between(self, first: int, last: int) -> list[str]:
        """Returns the files changed from message `first` to message `last`, each once, the first changed first."""
        chosen = self._changes[bisect_left(self._indices, first) : bisect_right(self._indices, last)]
        return self._named(chosen)

    def since(self, index: int) -> list[str]:
        """Returns the files changed after message `index`, each once, the first changed first."""
        return self._named(self._changes[bisect_right(self._indices, index) :])

    def _named(self, chosen: Sequence[tuple[int, str]]) -> list[str]:
        return list(dict.fromkeys(self.name(path) for _, path in chosen))

    def name(self, path: str) -> str:
        """Returns a file's path from the folder that holds all changed files."""
        return path.removeprefix(self._root).removeprefix("./")


@once
def changes_of(digest: Digest) -> Changes:
    """Returns the changes of files in a conversation."""
    return Changes(digest)


def runs_between(runs: Sequence[Run], first: int, last: int, without: Run) -> Iterator[str]:
    """Yields the commands that passed between two messages and are not those of the run `without`."""
    for run in runs[bisect_right(runs, first, key=_INDEX) : bisect_left(runs, last, key=_INDEX)]:
        other = not (run.looks or run.purpose.once or set(run.purpose.keys) & set(without.purpose.keys))
        if run.outcome is Outcome.PASSED and other:
            yield run.command


def _changes(digest: Digest) -> Iterator[tuple[int, str]]:
    for call, touches in zip(digest.calls, digest.touches, strict=True):
        for path, action in touches:
            if action is not FileAction.READ:
                yield call.index, path


def _root(paths: Iterable[str]) -> str:
    """Returns the deepest folder of all absolute paths, with a slash at its end. Empty if they share only a folder that
    holds no single project. Files for the moment are not counted."""
    folders = {path.rsplit("/", 1)[0] for path in paths if path.startswith("/") and not path.startswith(_SCRATCH)}
    common = commonpath(folders) if folders else ""
    return f"{common}/" if common.count("/") >= _PROJECT_DEPTH else ""
