"""The steps that the agent promised, and whether its later calls have done them."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from ullage.agents.calls import ToolCall
from ullage.agents.shell import Touch
from ullage.agents.tools import plain, strings_in
from ullage.model.artifacts import FileAction
from ullage.summary.choosing.user_words import said_in
from ullage.summary.reading.anchors import find_anchors, is_path
from ullage.summary.reading.contents import Excerpt
from ullage.summary.reading.digest import Digest, Run
from ullage.summary.reading.excerpts import sentences


class Kind(StrEnum):
    """What a step does: it changes files, runs a command, commits, or only looks at something."""

    CHANGE = "change"
    RUN = "run"
    TEST = "test"
    COMMIT = "commit"
    LOOK = "look"


_VERBS = {
    Kind.COMMIT: ("commit", "push"),
    Kind.TEST: ("test", "retest"),
    Kind.RUN: (
        *("run", "rerun", "re-run", "build", "rebuild", "compile", "lint", "format", "install", "execute"),
        *("start", "restart", "deploy", "benchmark", "validate", "launch", "reproduce", "measure", "try", "close"),
    ),
    Kind.CHANGE: (
        *("add", "implement", "update", "fix", "write", "create", "remove", "delete", "refactor", "change", "modify"),
        *("rename", "replace", "move", "edit", "make", "wire", "extend", "convert", "apply", "adjust", "simplify"),
        *(
            "clean",
            "integrate",
            "document",
            "finish",
            "complete",
            "set",
            "put",
            "rewrite",
            "patch",
            "correct",
            "improve",
        ),
        *(
            "bump",
            "merge",
            "extract",
            "split",
            "register",
            "define",
            "introduce",
            "handle",
            "drop",
            "enable",
            "disable",
        ),
        *("expose", "configure", "migrate", "insert", "append", "address", "resolve", "use", "switch", "do", "tackle"),
    ),
    Kind.LOOK: (
        *("read", "look", "see", "check", "examine", "explore", "search", "find", "review", "inspect", "view"),
        *("understand", "investigate", "analyze", "analyse", "compare", "think", "grep", "list", "trace", "debug"),
        *("identify", "determine", "figure", "explain", "summarize", "start by", "wait", "verify"),
    ),
}
# "Let me start with each one" names no step.
_VAGUE = {"start", "do", "try", "think", "wait"}
_KINDS = {verb: kind for kind, verbs in _VERBS.items() for verb in verbs}
_PROMISES = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|now|next|then|so|first|finally|also|and|but|right|alright)"
    r"\b[.,!:]?\s*){0,4}(?:(?:let me|let['’]s|i['’]?ll|i will|i['’]?m going to|i (?:still )?need to|we need to|i should"
    r"|i want to|next step(?:s)?(?: is| are|:)?(?: to)?|next up(?: is|:)?|the next step is to|next:|remaining:"
    r"|still to do:|to-?do:|to do:)\s+"
    r"(?:(?:now|also|first|then|next|quickly|just|still|go ahead and|proceed to|continue to|try to)\s+)*"
    r"(?P<verb>[a-z-]+)"
    r"|(?:now|next),?\s+(?:to\s+|the\s+)?(?P<then>[a-z-]+))",
    re.IGNORECASE,
)
# Announcements older than this many of the agent's messages were dropped or done in another way.
_NEWEST = 3
_MOST_STEPS = 3
# What a step refers to without naming it: "Let me fix that now."
_POINTS = re.compile(
    r"\b(?:this|that|these|those|it|them|both)\b[ .,:!]*+(?:(?:now|first|too|as well|up)[ .,:!]*+)?$", re.IGNORECASE
)
# Calls with which an agent says that it is done. What runs it may let it continue all the same.
_FINISHES = {plain(name) for name in ("task_done", "finish", "attempt_completion", "complete_task", "submit")}
_ALREADY = re.compile(r"\balready\b", re.IGNORECASE)
# The program with which a step is to be done.
_MEANS = re.compile(
    r"\b(?:us(?:e|ing)|with|via|through|by running)\s+(?:(?:a|an|the|another|simple)\s+)*`([\w./-]{1,40})`"
)
# "Let me check" names no step.
_FEWEST_WORDS = 4
# What is made by a command and not in a file.
_MADE = (
    (re.compile(r"\bbranch\b"), re.compile(r"\bgit (?:checkout -[bB]|switch -[cC]|branch|worktree add)\b")),
    (re.compile(r"\b(?:PR|pull request)\b"), re.compile(r"\bgh pr create\b")),
)


def open_steps(digest: Digest) -> list[tuple[str, int]]:
    """Returns the steps that the agent promised in its newest archived messages and that no later call has done, as
    pairs of text and message index, the oldest first. A step promised before a later request of the user is dropped,
    and so is every step if the messages that stay in the context promise a later one."""
    if digest.after and any(True for piece in said_in(digest.after) for _ in _promised(piece)):
        return []
    said = said_in(digest)
    since = _last_request(digest)
    newest = sorted({piece.index for piece in said if piece.index > since})[-_NEWEST:]
    if not newest:
        return []
    later = _Later(digest, newest[0])
    found: dict[str, int] = {}
    for piece in said:
        if piece.index in newest:
            found.update((text, piece.index) for text in _promised(piece) if not later.has_done(text, piece.index))
    return [*found.items()][-_MOST_STEPS:]


def question(digest: Digest) -> tuple[str, int] | None:
    """Returns the question with which the agent's last message ends and its index, None if it ends otherwise or
    something follows."""
    said = said_in(digest)
    follows = digest.after and (digest.after.excerpts or digest.after.requests or digest.after.calls)
    if not said or follows or _last_request(digest) > said[-1].index:
        return None
    if digest.calls and digest.calls[-1].index >= said[-1].index:
        return None
    last = sentences(said[-1].text)[-1].strip()
    return (last, said[-1].index) if last.rstrip("*_ ").endswith("?") else None


def kind_of(text: str) -> Kind | None:
    """Returns what a step does by its first verb, None if the verb is not known."""
    match = _PROMISES.match(text.strip())
    words = re.findall(r"[A-Za-z-]+", text)
    verb = (match["verb"] or match["then"]) if match else words[0] if words else ""
    kind = _KINDS.get(verb.lower())
    if kind in (Kind.RUN, Kind.LOOK) and re.search(r"\btests?\b", text) and verb.lower() in ("run", "rerun", "re-run"):
        return Kind.TEST
    if kind is Kind.RUN and re.search(r"\bcommit\b", text):
        return Kind.COMMIT
    return kind


def was_done(digest: Digest, text: str, index: int) -> bool:
    """Returns whether a call after message `index` ran what a step runs, or changed a file that it names."""
    kind, names = kind_of(text), find_anchors(text)
    parts = [digest, *([digest.after] if digest.after else [])]
    if kind is Kind.RUN or kind is Kind.TEST or kind is Kind.COMMIT:
        return ran([run for part in parts for run in part.runs if run.index > index], kind)
    later = [
        (call, touches)
        for part in parts
        for call, touches in zip(part.calls, part.touches, strict=True)
        if call.index > index and any(action is not FileAction.READ for _, action in touches)
    ]
    return bool(names) and changed(later, names)


class _Later:
    """The calls, runs and changes from a message on, to ask whether they have done a step."""

    def __init__(self, digest: Digest, first: int) -> None:
        parts = [digest, *([digest.after] if digest.after else [])]
        self._calls = [call for part in parts for call in part.calls if call.index >= first]
        self._runs = [run for part in parts for run in part.runs if run.index >= first]
        self._touches = [
            (call, touches)
            for part in parts
            for call, touches in zip(part.calls, part.touches, strict=True)
            if call.index >= first and any(action is not FileAction.READ for _, action in touches)
        ]
        spoken = [piece for part in parts for piece in said_in(part)]
        self._said = [(piece.index, piece.text) for piece in spoken if piece.index >= first]
        self._last_said = max((piece.index for piece in spoken), default=-1)
        self._asked = [request.index for part in parts for request in part.requests]

    def has_done(self, text: str, index: int) -> bool:
        """Returns whether a call from message `index` on has done the step that a text promises there."""
        later = [call for call in self._calls if call.index >= index]
        if any(asked > index for asked in self._asked) or any(plain(call.name) in _FINISHES for call in later):
            return True
        # Some agents write their calls as prose that is not recognised. What they say later shows that they continued.
        if self._last_said > index and not later:
            return True
        kind, names = kind_of(text), find_anchors(text)
        if self._found_done(names, index) or (kind is not Kind.LOOK and self._used(text, index)):
            return True
        match kind:
            case Kind.CHANGE:
                return (
                    self._made(text, index)
                    or self._scripted(index)
                    or changed([pair for pair in self._touches if pair[0].index >= index], names)
                )
            case Kind.RUN | Kind.TEST | Kind.COMMIT:
                return ran([run for run in self._runs if run.index >= index], kind)
            case _:
                return bool(later)

    def _scripted(self, index: int) -> bool:
        """Returns whether a script in a command line ran from message `index` on. It may have changed any file, and a
        done step that is named as the next misleads more than one that is left out."""
        return any(run.purpose.once and not run.looks for run in self._runs if run.index >= index)

    def _found_done(self, names: Sequence[str], index: int) -> bool:
        """Returns whether the agent said later that something is there already, and named all that a step names."""
        later = (text for at, text in self._said if at > index and _ALREADY.search(text))
        return bool(names) and any(all(name in text for name in names) for text in later)

    def _used(self, text: str, index: int) -> bool:
        """Returns whether a command ran the program with which a step is to be done: `test it using a `curl` command`
        is done by `curl`, and not by a test run."""
        means = _MEANS.search(text)
        if means is None:
            return False
        program = re.compile(rf"(?:^|[\s/;|&(]){re.escape(means[1])}(?:\s|$)")
        return any(program.search(run.command) for run in self._runs if run.index >= index)

    def _made(self, text: str, index: int) -> bool:
        """Returns whether a command made the branch or the pull request that a step names."""
        commands = [command for named, command in _MADE if named.search(text)]
        return any(command.search(run.command) for command in commands for run in self._runs if run.index >= index)


def changed(touches: Sequence[tuple[ToolCall, tuple[Touch, ...]]], names: Sequence[str]) -> bool:
    """Returns whether one of the changing calls changed what a step names; any change will do for a step that names
    nothing."""
    if not names:
        return bool(touches)
    return any(_concerns(call, paths, names) for call, paths in touches)


def ran(runs: Sequence[Run], kind: Kind) -> bool:
    """Returns whether one of the runs is of this kind."""
    if kind is Kind.COMMIT:
        return any({"git commit", "git push"}.intersection(run.purpose.keys) for run in runs)
    if kind is Kind.TEST:
        return any(run.is_test for run in runs)
    return any(not run.looks for run in runs)


def _concerns(call: ToolCall, touches: Sequence[Touch], names: Sequence[str]) -> bool:
    paths = [path for path, action in touches if action is not FileAction.READ]
    for name in names:
        if is_path(name) and any(path.endswith(name) or name.endswith(path) for path in paths):
            return True
        stem = name.rsplit("/", 1)[-1]
        if any(stem in text for text in (*paths, *strings_in(call.input))):
            return True
    return False


def _promised(piece: Excerpt) -> Iterator[str]:
    for sentence in sentences(piece.text):
        match = _PROMISES.match(sentence.strip())
        verb = (match["verb"] or match["then"]).lower() if match else ""
        # "Now the tests pass" promises nothing.
        words, names = len(sentence.split()), find_anchors(sentence)
        named = words >= _FEWEST_WORDS if names else words >= _FEWEST_WORDS and not _POINTS.search(sentence)
        if match and verb in _KINDS and verb not in _VAGUE and named:
            yield sentence.strip().rstrip(":")


def _last_request(digest: Digest) -> int:
    requests = (*digest.requests, *(digest.after.requests if digest.after else ()))
    return max((request.index for request in requests), default=-1)
