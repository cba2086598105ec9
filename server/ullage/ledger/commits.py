"""The commits of the project's repository, and its branch, folded over git commands."""

import re

from ullage.agents.calls import ToolCall
from ullage.agents.git import Commit, branch_shown, commits_after, steps_of
from ullage.agents.outcomes import was_refused
from ullage.ledger.changed_files import FileFold
from ullage.ledger.ledger_entry import Entry, Kind, Life

_REJECTED = re.compile(r"\brejected\b|^(?:error|fatal):", re.MULTILINE)


class CommitFold:
    """The commits after the calls that were taken, and what git did to `files`."""

    def __init__(self, files: FileFold) -> None:
        self._files = files
        self._commits: list[Commit] = []
        self._elsewhere: list[Entry] = []
        # The branch that was last seen checked out, empty if none was, and where.
        self.branch, self._branch_seen = "", 0
        # The message in which commits were last pushed.
        self._pushed = -1

    def take(self, call: ToolCall) -> None:
        """Applies what a command line did with git."""
        steps = steps_of(call.command)
        if not steps or call.result_index < 0 or was_refused(call.result):
            return
        added = [step.words[1:] for step in steps if step.verb == "worktree" and step.words[:1] == ("add",)]
        paths = [word for words in added for word in words if "/" in word and not word.startswith("-")]
        self._files.trees |= set(map(self._files.whole, paths))
        folder, verbs = steps[-1].folder, {step.verb for step in steps}
        if "init" in verbs or (folder and not self._files.is_in_project(folder)):
            self._elsewhere += [_entry(one, Life.ELSEWHERE, beside=folder) for one in commits_after([], call)]
            return
        self._commits = commits_after(self._commits, call)
        if branch := branch_shown(call):
            self.branch, self._branch_seen = branch, call.index
        if "push" in verbs and not call.failed and not _REJECTED.search(call.result):
            self._pushed = call.index
        for step in () if call.failed else steps:
            self._files.take_step(step)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the commits that were not undone: those of the project with the last marked, and those elsewhere. A
        branch on which nothing was committed is there as a commit that is open."""
        entries = [_entry(one, Life.EARLIER) for one in self._commits[:-1]]
        for last in self._commits[-1:]:
            known = [f"branch {self.branch}"] if self.branch else []
            known += ["pushed"] if self._pushed >= last.index else []
            entries.append(_entry(last, Life.LAST, beside=", ".join(known), changed=self._files.since(last.index)))
        if self.branch and not self._commits:
            branch = Commit(index=self._branch_seen, hash="", subject=f"branch {self.branch}")
            entries.append(_entry(branch, Life.OPEN, beside="nothing committed so far"))
        return tuple(sorted([*entries, *self._elsewhere], key=lambda entry: entry.index))


def _entry(one: Commit, life: Life, beside: str = "", changed: tuple[str, ...] = ()) -> Entry:
    return Entry(
        kind=Kind.COMMIT, life=life, index=one.index, text=one.subject, name=one.hash, beside=beside, changed=changed
    )
