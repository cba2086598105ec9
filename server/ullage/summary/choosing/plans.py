"""The plan: the newest list of things to do, and what the work since then shows of its entries."""

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.ledger.agent_tasks import TaskFold
from ullage.ledger.ledger_entry import Life
from ullage.model.artifacts import FileAction
from ullage.redaction.clean import clean
from ullage.summary.choosing.steps import Kind, changed, kind_of, ran
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Seen, Source
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import cut_at_space


class Status(StrEnum):
    """What is known of an entry of a plan.

    `TOUCHED` and `LEFT` are for entries that were open when the plan was last written, if the user has asked for
    something else since: the work since then concerns the entry, or it does not.
    """

    DONE = "done"
    IN_HAND = "in progress"
    OPEN = "open"
    TOUCHED = "worked on since"
    LEFT = "left open"


class Entry(Struct, frozen=True, kw_only=True):
    """An entry of a plan, and the index of the message in which the plan was last written."""

    status: Status
    text: str
    index: int


_STATUS = {Life.OPEN: Status.OPEN, Life.IN_PROGRESS: Status.IN_HAND}
_ENTRY_LIMIT = 240
# A checklist in Markdown. In text written into files the list mark is required, because "[x]" occurs in code, too.
_SAID_ENTRY = re.compile(r"^(?:[-*] )?\[([ xX])\] (\S.*)$", re.MULTILINE)
_WRITTEN_ENTRY = re.compile(r"^[-*] \[([ xX])\] (\S.*)$", re.MULTILINE)
_BOX = re.compile(r"\[[ xX]\] ")
_FEWEST_ENTRIES = 2
# The user's approval of a plan, after which it still holds.
_APPROVES = re.compile(
    r"\s*(?:y|yes|yeah|yep|ok|okay|sure|go|go (?:on|ahead|for it)|continue|proceed|do (?:it|that|so)|sounds good|lgtm"
    r"|perfect|great|please (?:do|continue|proceed|go)|next|keep going|carry on|resume|and\?)\b.{0,60}$",
    re.IGNORECASE | re.DOTALL,
)
_WORD = re.compile(r"[a-z]{4,}")
_EMPTY_WORDS = {
    "with", "from", "into", "that", "this", "each", "after", "once", "using", "then", "when", "where", "their", "your",
    "step", "steps", "make", "should", "will", "also", "them", "they", "have", "been", "more", "some", "such", "than",
    "which", "other", "need", "needs", "work",
}  # fmt: skip
_ENDINGS = re.compile(r"(?:ations?|ings?|ions?|ers?|ed|es|s)$")
# The share of an entry's words that the work since then has.
_SHARE = 0.6


def plan_entries(digest: Digest) -> list[Entry]:
    """Returns the entries of the plan: the tasks of the agent's task tools in their newest states or, if it has none, a
    checklist in Markdown or a list in the agent's prose, the newest of both. A plan in messages after the digest's,
    which stay in the context, is newer. Entries of a list in prose are done if a later call did them. Empty if there is
    no plan."""
    after = digest.after
    folded = TaskFold()
    for call in (*digest.calls, *(after.calls if after else ())):
        folded.take(call)
    if tasks := folded.entries():
        return [
            Entry(
                status=_STATUS.get(task.life, Status.DONE),
                text=cut_at_space(clean(task.text), _ENTRY_LIMIT),
                index=task.index,
            )
            for task in tasks
        ]
    index, entries = _checklist(after) if after else (-1, [])
    if not entries:
        index, entries = _checklist(digest)
    said_at, said = ((after and after.plans) or digest.plans or [(-1, ())])[-1]
    if said and said_at > index and not _is_overtaken(digest, said_at):
        return _from_prose(digest, said_at, said)
    found = [Entry(status=status, text=text, index=index) for status, text in entries]
    return _since(digest, found) if _is_overtaken(digest, index) else found


def _is_overtaken(digest: Digest, index: int) -> bool:
    """Returns whether the user has asked for something else after message `index`."""
    requests = (*digest.requests, *(digest.after.requests if digest.after else ()))
    return any(request.index > index and not _APPROVES.match(request.text[:200]) for request in requests)


def _from_prose(digest: Digest, index: int, texts: Sequence[str]) -> list[Entry]:
    """Returns the entries of a list in prose. All entries before the last one that was done count as done, because a
    plan is worked off in order."""
    parts = [digest, *([digest.after] if digest.after else [])]
    runs = [run for part in parts for run in part.runs if run.index >= index]
    touches = [
        (call, paths)
        for part in parts
        for call, paths in zip(part.calls, part.touches, strict=True)
        if call.index >= index and any(action is not FileAction.READ for _, action in paths)
    ]
    last = -1
    for place, text in enumerate(texts):
        kind, names = kind_of(text), find_anchors(text)
        if kind is Kind.RUN or kind is Kind.TEST or kind is Kind.COMMIT:
            done = bool(touches or place <= last + 1) and ran(runs, kind)
        else:
            done = bool(names) and changed(touches, names)
        last = place if done else last
    work = _work_since(digest, index)
    found = [cut_at_space(clean(text), _ENTRY_LIMIT) for text in texts]
    return [
        Entry(
            status=Status.DONE if place <= last else Status.TOUCHED if _concerns(work, text) else Status.OPEN,
            text=text,
            index=index,
        )
        for place, text in enumerate(found)
    ]


def _since(digest: Digest, entries: list[Entry]) -> list[Entry]:
    """Returns the entries with what the work since the plan shows of those that are not done."""
    if all(entry.status is Status.DONE for entry in entries):
        return entries
    work = _work_since(digest, entries[0].index)
    return [
        Entry(
            status=entry.status
            if entry.status is Status.DONE
            else Status.TOUCHED
            if _concerns(work, entry.text)
            else Status.LEFT,
            text=entry.text,
            index=entry.index,
        )
        for entry in entries
    ]


def _work_since(digest: Digest, index: int) -> str:
    """Returns, in lower case, what was done after a message: the files changed, the commands run and the agent's
    prose."""
    parts = [digest, *([digest.after] if digest.after else [])]
    texts: list[str] = []
    for part in parts:
        for call, touches in zip(part.calls, part.touches, strict=True):
            if call.index > index:
                texts.extend(path for path, action in touches if action is not FileAction.READ)
        texts.extend(run.command for run in part.runs if run.index > index and not run.looks)
        texts.extend(one.text for one in part.excerpts if one.index > index and one.source is Source.AGENT)
    return "\n".join(texts).lower()


def _concerns(work: str, entry: str) -> bool:
    """Returns whether the work has most of the words of an entry."""
    words = {_ENDINGS.sub("", word) for word in _WORD.findall(entry.lower()) if word not in _EMPTY_WORDS}
    return bool(words) and sum(word in work for word in words) >= _SHARE * len(words)


def _checklist(digest: Digest) -> tuple[int, list[tuple[Status, str]]]:
    """Returns the index of the newest message with a checklist in Markdown, and the checklist as pairs of status and
    text. Returns -1 and an empty list if there is none."""
    index, found = -1, list[tuple[Status, str]]()
    boxed = [
        one
        for one in digest.contents
        if (one.lines.has_boxes and one.source is Source.CALL if isinstance(one, Seen) else "] " in one.text)
    ]
    for one in reversed(boxed):
        if one.index != index:
            if len(found) >= _FEWEST_ENTRIES:
                break
            index, found = one.index, []
        pattern = _SAID_ENTRY if one.source is Source.AGENT else _WRITTEN_ENTRY
        for text in reversed(one.texts):
            entries = pattern.finditer(text) if "[" in text and _BOX.search(text) else ()
            found[:0] = [(Status.OPEN if match[1] == " " else Status.DONE, match[2]) for match in entries]
    return (index, found) if len(found) >= _FEWEST_ENTRIES else (-1, [])
