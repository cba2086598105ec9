"""Files by their net change, folded over tool calls and git commands (a change that is taken back is none), and the
commits of the project's repository with its branch."""

import posixpath
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ullage.agents.calls import ToolCall, touches_of
from ullage.agents.git import Commit, Step, branch_shown, commits_after, steps_of
from ullage.agents.outcomes import was_refused
from ullage.agents.tools import NEW_TEXT_KEYS, OLD_TEXT_KEYS, Action, action_of, text_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.model.expressions import expression
from ullage.model.message import FileAction
from ullage.redaction.clean import redact

# Names of code that a page has of a file's changes, of each kind, and the characters of a change that are read for
# them.
_MOST_NAMES = 5
_MOST_READ = 20_000
# Names that a text declares, in the words of the most used languages. These begin a line, so that a comment about "the
# function called twice" declares nothing.
_DECLARED = expression(
    r"(?:^|[;{}])[ \t]*[\"'`]{0,3}"
    r"(?:(?:export|default|declare|async|pub(?:\([^)\n]{0,40}\))?|public|private|protected|internal|static|final"
    r"|abstract|sealed|partial|open|override|virtual|inline|unsafe|extern|readonly|data)[ \t]+){0,4}"
    r"(?:def|func|fn|fun|function\*?|(?:enum )?class|struct|enum|trait|interface|type|protocol|module|defmodule|defp"
    r"|const|let|var|val|static|impl|CREATE TABLE(?: IF NOT EXISTS)?)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?"
    r"([A-Za-z_][\w.]{2,60})",
    re.MULTILINE,
)
# Names that only code has: with a capital or an underscore inside. After a backslash stands an escape: `\nThird`.
_CODE_NAME = expression(r"(?<!\\)\b(?=\w*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z0-9]_[A-Za-z0-9]))[A-Za-z]\w{2,60}\b")
# Texts and media, which a check reads only if it is one of texts. Lists of requirements and of targets are no texts.
_TEXTS = expression(
    r"^(?!requirements|constraints|CMakeLists).*\.(?:diff|patch|mdx?|markdown|txt|rst|adoc|org|log|pdf|docx?"
    r"|png|jpe?g|gif|svg|webp|ico|bmp|mp[34]|wav|ogg|webm|mov|ttf|otf|woff2?)$"
    r"|^(?:LICEN[CS]E|NOTICE|AUTHORS|CODEOWNERS|README|CHANGELOG|CONTRIBUTING)$",
    re.IGNORECASE,
)
_OF_TEXTS = expression(
    r"\b(?:\w*md|markdown\w*|docs?|mdbook|sphinx|vale|\w*spell|typos|prettier|links?|pre-commit)\b|\.md\b"
)
# The name of a configuration that begins with a dot: `.eslintrc.json`, `.golangci.yml`, `.env`. What else begins with
# one only git, editors, hosts and agents read: `.gitignore`, `.github/`, `.vscode/`.
_CONFIGURES = expression(r"\.(?!git|editorconfig)[\w-]*(?:rc\b|env\b|\.(?:ya?ml|toml|json|ini|cfg|[cm]?js)$)")
_DRIVE, _WORD = expression(r"[A-Za-z]:"), expression(r"[A-Za-z_][\w.-]{2,80}")
_HOME = expression(r"~|\$HOME|\$\{HOME\}|/tmp\b|/var/tmp\b|\$\(mktemp|\$TMPDIR")


class _File:
    """What became of a file. `edits` are the changes that no later one took back, as pairs of the text before and
    after; `was_there` whether the file was there before the conversation touched it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.index = 0
        self.was_there = True
        self.is_there = True
        self.was_touched = False
        self.was_changed = False
        self.edits: list[tuple[str, str]] = []
        self.committed = False
        # The names of code that its changes declare, and those that they use: True if they came, False if they went.
        self.declared: dict[str, bool] = {}
        self.used: dict[str, bool] = {}

    def note(self, before: str, after: str) -> None:
        """Takes note of the names in a text that a change replaced, and in the text that it put there."""
        for pattern, known in ((_DECLARED, self.declared), (_CODE_NAME, self.used)):
            was, now = dict.fromkeys(pattern.findall(before)), dict.fromkeys(pattern.findall(after))
            came = [(name, True) for name in now if name not in was]
            for name, has_come in (*came, *((name, False) for name in was if name not in now)):
                if known.get(name, has_come) is has_come:
                    known[name] = has_come
                else:
                    # What was moved within the file is as it was.
                    del known[name]

    @property
    def done(self) -> str:
        """What its changes did, as far as names say."""
        used = {name: came for name, came in self.used.items() if self.declared.get(name) is not came}
        told = (("adds", self.declared, True), ("removes", self.declared, False))
        told += (("uses", used, True), ("takes out", used, False))
        named = [(verb, [name for name, came in names.items() if came is wanted]) for verb, names, wanted in told]
        return "; ".join(
            f"{verb} {', '.join(f'`{name}`' for name in names[-_MOST_NAMES:])}" for verb, names in named if names
        )

    @property
    def is_gone(self) -> bool:
        """Whether the conversation made it and removed it again."""
        return not (self.is_there or self.was_there)

    @property
    def life(self) -> Life:
        if not self.is_there:
            return Life.DELETED if self.was_there else Life.READ
        if not self.was_there:
            return Life.CREATED
        return Life.CHANGED if self.was_changed or self.edits else Life.READ


class FileFold:
    """The files after the calls that were taken. `cwd` is the project's folder, empty if unknown. `trees` are the work
    trees of its repository."""

    def __init__(self, cwd: str = "") -> None:
        self._cwd = cwd.rstrip("/")
        self._files: dict[str, _File] = {}
        # The changes that `git stash` put away.
        self._stashed: list[tuple[_File, list[tuple[str, str]], bool]] = []
        self.trees: set[str] = set()
        # The messages in which each file was last changed, in order of the last changes; and all changes, in order.
        self._changed: dict[str, int] = {}
        self._changes: list[tuple[int, str]] = []

    def take(self, call: ToolCall) -> Iterator[str]:
        """Applies what a call did to files. Yields the texts with the words that it changed: names of files, and what
        it put in or took out."""
        for path, action in touches_of(call):
            file = self._file(path)
            file.index = call.index
            if action is FileAction.READ:
                file.was_touched = True
                continue
            name = posixpath.basename(file.path)
            self._changed.pop(file.path, None)
            self._changed[file.path] = call.index
            self._changes.append((call.index, name))
            yield name
            old, new = text_of(call.input, OLD_TEXT_KEYS), text_of(call.input, NEW_TEXT_KEYS)
            self._apply(file, action, old, new, is_edit=action_of(call.name, call.input) is Action.EDIT)
            if old or new:
                file.note(redact(old[:_MOST_READ]), redact(new[:_MOST_READ]))
            yield from (old, new) if old else (new,)

    def _apply(self, file: _File, action: FileAction, old: str, new: str, *, is_edit: bool) -> None:
        file.committed = False
        if action is FileAction.DELETED:
            file.is_there = False
        elif action is FileAction.CREATED:
            if not file.was_touched:
                file.was_there = False
            file.is_there, file.was_changed = True, True
        elif is_edit and old and file.edits and file.edits[-1] == (new, old):
            # The edit puts back what an edit before it replaced.
            file.edits.pop()
        elif is_edit and old:
            file.edits.append((old, new))
        else:
            file.was_changed = True
        if action is not FileAction.DELETED:
            file.is_there = True
        file.was_touched = True

    def _file(self, path: str) -> _File:
        whole = self.whole(path)
        file = self._files.get(whole)
        if file is None:
            file = self._files[whole] = _File(whole)
        return file

    def whole(self, path: str) -> str:
        """Returns a path as an absolute one, as far as the project's folder is known."""
        path = path.removeprefix("file://")
        if path.startswith(("/", "~")) or _DRIVE.match(path) or not self._cwd:
            return posixpath.normpath(path) if "/" in path else path
        return posixpath.normpath(f"{self._cwd}/{path}")

    def is_in_project(self, path: str) -> bool:
        """Returns whether a path is in the project's folder or in a work tree of its repository. Without a known
        folder, only temporary folders and the home folder are not."""
        if not path.startswith(("/", "~", "$")):
            return True
        if any(path == tree or path.startswith(f"{tree}/") for tree in self.trees):
            return True
        if self._cwd:
            return path == self._cwd or path.startswith(f"{self._cwd}/")
        return not _HOME.match(path)

    def entries(self) -> tuple[Entry, ...]:
        """Returns the files that were touched, in the order of the last touch. A file that is as it was counts as
        read; one that was made and removed again is left out."""
        ordered = sorted(self._files.values(), key=lambda file: file.index)
        return tuple(
            Entry(
                kind=Kind.FILE,
                life=file.life,
                index=self._changed.get(file.path, file.index),
                text=file.path,
                beside=file.done,
                is_outside=not self.is_in_project(file.path),
            )
            for file in ordered
            if not file.is_gone
        )

    def since(self, index: int, check: str = "") -> tuple[str, ...]:
        """Returns the project's files that were changed after a message; for a check, those that it can read."""
        return tuple(
            path
            for path, at in self._changed.items()
            if at > index
            and self.is_in_project(path)
            and not self._files[path].is_gone
            and (not check or _reads(check, self._inside(path)))
        )

    def _inside(self, path: str) -> str:
        return path.removeprefix(f"{self._cwd}/") if self._cwd else path

    def changed_between(self, begin: int, end: int) -> list[str]:
        """Returns the names of the files of code that were changed from one message to before another, those that were
        changed last first."""
        places = slice(*(bisect_left(self._changes, (at, "")) for at in (begin, end)))
        return [*dict.fromkeys(name for _, name in reversed(self._changes[places]) if not _TEXTS.match(name))]

    def take_step(self, step: Step) -> None:
        """Takes note of what is committed, and undoes the changes of files that are restored to what was."""
        words = step.words
        match step.verb:
            case "commit":
                for file in self._files.values():
                    file.committed = True
                return
            case "stash":
                self._stash(words)
                return
            case "restore" if "--staged" not in words or "--worktree" in words:
                named = words
            case "checkout" if "--" in words:
                named = words[words.index("--") + 1 :]
            case "reset" if "--hard" in words:
                named = (".",)
            case _:
                return
        for path in (word for word in named if not word.startswith("-")):
            whole = self.whole(path) if path != "." else ""
            for file in self._files.values():
                is_named = not whole or file.path == whole or file.path.startswith(f"{whole}/")
                # Files that git does not know stay as they are.
                if is_named and not file.committed and file.was_there:
                    file.edits, file.was_changed, file.is_there = [], False, True

    def _stash(self, words: tuple[str, ...]) -> None:
        """Puts the uncommitted changes of files away, or takes those back that were put away."""
        verb = words[0] if words else "push"
        if verb in ("pop", "apply"):
            for file, edits, was_changed in self._stashed:
                file.edits, file.was_changed = [*edits, *file.edits], was_changed or file.was_changed
            self._stashed = []
        elif verb in ("push", "save") or verb.startswith("-"):
            changed = [file for file in self._files.values() if not file.committed and file.was_there and file.is_there]
            self._stashed = [(file, file.edits, file.was_changed) for file in changed]
            for file in changed:
                file.edits, file.was_changed = [], False


@lru_cache(maxsize=2048)
def _reads(check: str, path: str) -> bool:
    """Returns whether what a file in the project says can matter to a check: it is code or configuration, or a text and
    the check is one of texts."""
    *folders, name = path.split("/")
    if any(one.startswith(".") and len(one) > 2 and one[1:] not in check for one in folders):
        return False
    if name.startswith("."):
        return _CONFIGURES.match(name) is not None or name[1:].removesuffix("ignore") in check
    return _TEXTS.match(name) is None or _OF_TEXTS.search(check) is not None


def changed_words(texts: Iterable[str]) -> set[str]:
    """Returns the words of texts by which code is named: identifiers and names of files, of three characters or
    more."""
    return {word for text in texts for word in _WORD.findall(text[:_MOST_READ])}


_REJECTED = expression(r"\brejected\b|^(?:error|fatal):", re.MULTILINE)


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
