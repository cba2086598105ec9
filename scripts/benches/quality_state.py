"""Whether what a page says of the state of the work is true: what failed, what is next, what is open.

A *claim* is judged by the calls before the cut (`quality_actions`); one that the calls can't judge is counted, too.

- *failed-but-passed*: the page names a command and says that it failed, and no later words in the entry say that it
  was mended; yet the newest run of the same command passed. Commands are the same if they run the same
  (`command_key`). An entry that says that the command ran again with an unknown outcome can't be judged.
- *done-but-next*: an entry under a heading with "next" names a step that was done. A step that the agent named
  (its words are in a message) is done if a later call, or one of the same message, did it. Another step can be
  judged if it is a run or a commit: it is done if the newest such run passed with no change of a file after it.
- *done-but-open*: an entry that is shown as open, pending or in progress is done according to the agent's newest list,
  or by the rule of a step.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, cast

from msgspec import Struct

from benches.quality_actions import Action, Kind, command_key
from benches.quality_page import Entry, Page
from benches.quality_probe import find_anchors, text_of
from benches.quality_source import plain
from ullage.model.message import Message, Role

_QUOTED = re.compile(r"`([^`\n]{3,})`")
_FAILS = re.compile(r"\b(?:fail(?:s|ed|ing|ure)?|errored|broken)\b", re.IGNORECASE)
# Words between a command and "failed" that still belong to it.
_NEAR = 60
_MENDED = re.compile(
    r"(?<!\d )\bpass(?:ed|es)\b|\bfix\b\**:"
    r"|\b(?:mended|fixed|fixes|resolved|solved|succeed(?:s|ed)|works? now|until)\b",
    re.IGNORECASE,
)
_UNKNOWN = re.compile(r"\bran again\b.{0,40}\boutcome is (?:not shown|unknown)\b", re.IGNORECASE)
_NEXT = re.compile(r"\bnext\b", re.IGNORECASE)
_OPEN = re.compile(r"\b(?:open|pending|to-?do|remaining|left|unfinished|in hand)\b", re.IGNORECASE)
_LISTED = re.compile(r"\b(?:plan|tasks?|progress|to-?dos?|state)\b", re.IGNORECASE)
_OPEN_MARK = re.compile(
    r"^(?:open|pending|in[ _]progress|in hand|left|to-?do)\b\W*|^\[ \]\s*|^[☐◻⬜]\s*", re.IGNORECASE
)
_DONE_MARK = re.compile(
    r"^(?:done|completed)\b|^\[[xX]\]|^[✅✓✔☑]|^~~|\b(?:is|was|are) (?:done|complete)\b", re.IGNORECASE
)
_DONE = frozenset({"completed", "done", "complete", "cancelled", "deleted"})
_COMMIT = "git commit: "
_FEWEST_WORDS = 3
_ANNOUNCED = 60
_RUNS = {
    "test": re.compile(r"\b(?:tests?|pytest|specs?|jest|vitest|rspec)\b|test:", re.IGNORECASE),
    "lint": re.compile(r"\b(?:lint|ruff|eslint|clippy|rubocop|golangci-lint|credo|fmt|format)\b", re.IGNORECASE),
    "build": re.compile(r"\b(?:build|compile|make|tsc|typecheck|pdflatex)\b", re.IGNORECASE),
    "commit": re.compile(r"\bcommit\b", re.IGNORECASE),
    "push": re.compile(r"\bpush\b", re.IGNORECASE),
}
_RUN_VERB = re.compile(
    r"(?<![\w./-])(?:re-?run|run|execute|verify|commit|push|test|lint|build|compile)(?![\w/-]|\.\w)", re.IGNORECASE
)
_LOOK_VERB = re.compile(
    r"(?<![\w./-])(?:read|check|look|see|find|search|view|examine|explore|inspect|review|investigate|verify)(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
_CHANGE_VERB = re.compile(
    r"(?<![\w./-])(?:add|edit|update|fix|write|create|implement|change|remove|rename|refactor|replace|modify|delete|move|apply"
    r"|rewrite|convert|resolve)(?![\w/-]|\.\w)",
    re.IGNORECASE,
)


class Claim(StrEnum):
    """The ways in which a page can be wrong about the state."""

    FAILED = "failed-but-passed"
    NEXT = "done-but-next"
    OPEN = "done-but-open"


class Verdict(Struct, frozen=True, kw_only=True):
    """A claim of a page: the entry, or the command that failed. `false` is None if the calls can't judge it."""

    claim: Claim
    text: str
    false: bool | None


def judge_page(page: Page, messages: Sequence[Message], actions: Sequence[Action]) -> list[Verdict]:
    """Returns a verdict for each claim of a page about the state before the cut."""
    said = {i: plain(text_of(message)) for i, message in enumerate(messages) if message.role is Role.ASSISTANT}
    listed = newest_list(actions)
    verdicts = [verdict for entry in page.entries for verdict in _verdicts(entry, said, listed, actions)]
    return list({(verdict.claim, verdict.text): verdict for verdict in verdicts}.values())


def _verdicts(
    entry: Entry, said: Mapping[int, str], listed: Mapping[str, bool], actions: Sequence[Action]
) -> Iterator[Verdict]:
    for command in _failed(entry):
        false = None if _UNKNOWN.search(entry.whole) else _passed_later(command, actions)
        yield Verdict(claim=Claim.FAILED, text=command_key(command), false=false)
    if _NEXT.search(entry.heading):
        since = _announced(entry.text, said)
        yield Verdict(claim=Claim.NEXT, text=entry.text, false=_was_done(entry.text, since, actions))
    elif _is_open(entry) and not _FAILS.search(entry.text):
        text = _OPEN_MARK.sub("", entry.text)
        status = _status(text, listed)
        false = status if status is not None else _was_done(text, _announced(text, said), actions)
        yield Verdict(claim=Claim.OPEN, text=entry.text, false=false)


def _failed(entry: Entry) -> Iterator[str]:
    """Yields the commands that an entry names as failed and not as mended."""
    for quoted in _QUOTED.finditer(entry.text):
        after = entry.whole[quoted.end() :]
        failure = _FAILS.search(after[:_NEAR])
        between = after[: failure.start()] if failure else ""
        if failure and "`" not in between and not _MENDED.search(between + after[failure.end() :]):
            yield quoted[1]


def _passed_later(command: str, actions: Iterable[Action]) -> bool | None:
    ends = [a.passed for a in actions if a.kind is Kind.RUN and _same(command, a.target) and a.passed is not None]
    return ends[-1] if ends else None


def _same(claimed: str, run: str) -> bool:
    """Whether a page's command is this run. A page may leave out the middle, the end, or all but the first line, and
    may name a commit by its message."""
    head, *left_out = re.split(r" ?\[?…", " ".join(claimed.split()))
    wanted, key = command_key(head), command_key(run)
    if head.startswith(_COMMIT):
        return "git commit" in key and head.removeprefix(_COMMIT) in " ".join(run.split())
    return bool(wanted) and (
        key.startswith(wanted) if left_out else wanted in (key, command_key(run.strip().split("\n")[0]))
    )


def newest_list(actions: Iterable[Action]) -> dict[str, bool]:
    """Returns the entries of the agent's to-do lists with whether they are done, by the newest that names them."""
    found: dict[str, bool] = {}
    created: dict[str, str] = {}
    for action in actions:
        if action.kind is Kind.PLAN:
            for text, done in _list_entries(action.input, created):
                found[_words(text)] = done
    return found


def _list_entries(given: Mapping[str, Any], created: dict[str, str]) -> Iterator[tuple[str, bool]]:
    for key in ("todos", "plan", "tasks"):
        if isinstance(given.get(key), list):
            for each in cast("list[dict[str, Any]]", given[key]):
                text = next((each[k] for k in ("content", "step", "text", "title", "description") if each.get(k)), "")
                yield str(text), str(each.get("status", "")) in _DONE
            return
    if subject := given.get("subject"):
        created.setdefault(str(len(created) + 1), str(subject))
    if name := created.get(str(given.get("taskId", len(created)))):
        yield name, str(given.get("status", "")) in _DONE


def _status(text: str, listed: Mapping[str, bool]) -> bool | None:
    wanted = _words(text)
    for entry, done in listed.items():
        shorter, longer = sorted((wanted, entry), key=len)
        if wanted == entry or (len(shorter.split()) >= _FEWEST_WORDS and shorter in longer):
            return done
    return None


def _is_open(entry: Entry) -> bool:
    if _DONE_MARK.search(entry.text):
        return False
    marked = _OPEN_MARK.match(entry.text) is not None
    return _OPEN.search(entry.heading) is not None or (marked and _LISTED.search(entry.heading) is not None)


def _announced(text: str, said: Mapping[int, str]) -> int | None:
    """Returns the index of the newest message in which the agent said this, None if it never did."""
    start = plain(text)[:_ANNOUNCED]
    if len(start.split()) < _FEWEST_WORDS:
        return None
    return next((index for index in reversed(list(said)) if start in said[index]), None)


def _was_done(text: str, since: int | None, actions: Sequence[Action]) -> bool | None:
    """Returns whether a step was done; `since` is the index of the message that named it. None if that can't be
    judged."""
    if not any(verb.search(text) for verb in (_RUN_VERB, _LOOK_VERB, _CHANGE_VERB)):
        return None
    if since is None:
        return _settled(text, actions) if _RUN_VERB.search(text) else None
    after = [action for action in actions if action.index >= since and action.kind is not Kind.PLAN]
    return any(_does(text, action, since) for action in after)


def _does(text: str, action: Action, since: int) -> bool:
    if action.passed is False and action.kind is not Kind.RUN:
        return False
    names = {*_QUOTED.findall(text), *find_anchors(text)}
    named = any(name in action.text for name in names)
    changing = _CHANGE_VERB.search(text) is not None
    if changing and not action.changes:
        return False
    if _RUN_VERB.search(text) and not changing and not _LOOK_VERB.search(text):
        return action.kind is Kind.RUN and (named or _runs_alike(text, action))
    return named or action.index == since or (not names and action.index == since + 1)


def _settled(text: str, actions: Sequence[Action]) -> bool | None:
    """Whether the newest run that a step asks for passed, with no change of a file after it."""
    names = [command_key(name) for name in _QUOTED.findall(text)]
    runs = [
        action
        for action in actions
        if action.kind is Kind.RUN
        and (any(name and name in command_key(action.target) for name in names) if names else _runs_alike(text, action))
    ]
    if not runs:
        return False if names or _wanted(text) else None
    newest = runs[-1]
    changed = any(a.changes and a.passed is not False for a in actions if a.index > newest.index)
    return newest.passed is True and not changed


def _wanted(text: str) -> list[re.Pattern[str]]:
    return [pattern for pattern in _RUNS.values() if pattern.search(text)]


def _runs_alike(text: str, action: Action) -> bool:
    return any(pattern.search(action.target) for pattern in _wanted(text))


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
