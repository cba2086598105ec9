"""Findings of the conversation: conclusions in prose, and errors with their fixes."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence, Set
from enum import Enum
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.message import number_of
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.mends import PASSED_IN, RAN_AGAIN, Changes, Failure, changes_of, failures_of, runs_between
from ullage.summary.choosing.retractions import Retracted, guesses, retracts
from ullage.summary.choosing.sentences import telling
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Excerpt, Source
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import sentences
from ullage.summary.tuning import TUNING, Tuning

# Words of conclusions in small letters, and those that are one together.
_CONCLUDING = frozenset((
    "found", "fix", "fixed", "fixes", "because", "cause", "caused", "decided", "decision", "instead", "confirm",
    "confirmed", "confirms", "work", "works", "pass", "passes", "passed", "passing", "fail", "fails", "failed",
    "failing", "implemented", "implements", "added", "created", "changed", "removed", "renamed", "replaced", "updated",
    "done", "complete", "completed", "means", "therefore", "must", "should", "need", "needs", "needed", "important",
    "note", "key", "only", "missing", "wrong", "correct", "error",
))  # fmt: skip
_CONCLUDES = re.compile(r"\b(?:the (?:issue|problem|bug|reason|solution)|turns out|so that)\b")
# Code pasted into prose: a patch, or an assignment or call that fills its line.
_CODE = re.compile(
    r"(?:diff --git|index [0-9a-f]{7}|@@ |[-+] |[-+]{3} |from [\w.]+ import |import [\w.{]|raise \w|assert \w"
    r"|return [\w(\[{\"']|# |(?:async )?def \w|class \w+[(:])|[\w.\[\]]+(?:: [\w.\[\]]+)? = |\w+=\S"
    r"|[\w.]+\(.*\)$|\d+:? +[\w.\[\]]+ = |[\"'].*[\"']\)$"
)
_CODE_ENDS = (",", "(", "{", "}", ";")

# Longer words than articles and the like, and how many of them make two sentences the same.
_WORD, _LONGER, _SAME_WORDS = re.compile(r"\w+"), 4, 6
# The share of a finding's words that a newer one with the same names has if it says the same.
_SAME_SHARE, _MOST_COMPARED = 0.7, 8
_NUMBER = re.compile(r"\d")
_CAUSE = re.compile(
    r"\b(?:because|the (?:issue|problem|error|cause|reason|bug|failure) (?:is|was|seems|comes)|caused? by|root cause"
    r"|turns out|due to|is missing|was missing|doesn['’]t (?:exist|have|support|work|match)|isn['’]t (?:defined|set)"
    r"|needs? to be|not (?:installed|available|defined|found)|(?:is|are|was|were) (?:wrong|failing|not))\b",
    re.IGNORECASE,
)
# What might be or have been is no cause.
_SUPPOSES = re.compile(r"(?:if|when|unless|whether|suppose|assuming|or)\b", re.IGNORECASE)
# Messages after a failure in which a cause is looked for: the agent's answer, and one more after a look at a file.
_CAUSE_WITHIN = 6
_CAUSE_LIMIT = 240
_MOST_DETAILS, _MOST_FILES, _MOST_COMMANDS = 3, 4, 2
_THEN = "; then: "


class _Worth(Enum):
    """Whether sentences retract something, decide or conclude something, have a number, or at most names."""

    RETRACTS = 0
    DECIDES = 1
    MEASURES = 2
    NAMES = 3


# A member of an enumeration is looked up more slowly.
_RETRACTS, _DECIDES, _NAMES = _Worth.RETRACTS, _Worth.DECIDES, _Worth.NAMES


class _Judged(Struct, frozen=True, gc=False):
    """The sentences of a text that say something to keep, empty if there are none, what they are worth, their first
    longer words in alphabetical order, and all their longer words."""

    text: str = ""
    worth: _Worth = _NAMES
    opening: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


_NOTHING = _Judged()


def findings_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields the agent's sentences in prose and thinking as items, newest first. One that states a conclusion has more
    value than others, and the last of a message that retracts an earlier one the most, so that no reader believes that.
    Announcements, questions, fragments, pasted code, what the next sentence retracts, and what concludes nothing and
    names nothing are left out, and of those that begin with the same words, in whatever order, all but the newest."""
    known: set[tuple[str, ...]] = set()
    newer, retracted = _Newer(), Retracted()
    last = -1
    for excerpt in _last_of_each(digest, {Source.AGENT, Source.THINKING}, check):
        found = judged(retracted.without(excerpt))
        if len(found.opening) == _SAME_WORDS and found.opening in known:
            continue
        known.add(found.opening)
        if not found.text:
            continue
        kept = excerpt if found.text == excerpt.text else _shortened(excerpt, found.text)
        worth = found.worth
        if worth is _NAMES and not kept.anchors:
            continue
        said_again = newer.repeats(kept.anchors, found.words)
        if worth is _RETRACTS and excerpt.index != last:
            last = excerpt.index
            yield _item(kept, Section.FINDINGS, tuning.error_value)
        elif not said_again:
            concludes = worth is _DECIDES or worth is _RETRACTS
            yield _item(kept, Section.FINDINGS, tuning.said_value if concludes else tuning.shown_value)


class _Newer:
    """The findings so far, which are newer than those to come, by the names in them."""

    def __init__(self) -> None:
        self._by_name: dict[str, list[tuple[frozenset[str], frozenset[str]]]] = {}
        self._nameless: list[frozenset[str]] = []

    def repeats(self, anchors: Sequence[str], words: frozenset[str]) -> bool:
        """Returns whether a newer finding has all names of this one and most of its words. If not, remembers it."""
        if not anchors:
            return self._repeats_words(words)
        by_name, names = self._by_name, frozenset(anchors)
        told = min([by_name.get(name, ()) for name in names], key=len)
        for newer_names, newer in told[-_MOST_COMPARED:]:
            if names <= newer_names and len(words & newer) >= _SAME_SHARE * len(words):
                return True
        for name in names:
            by_name.setdefault(name, []).append((names, words))
        return False

    def _repeats_words(self, words: frozenset[str]) -> bool:
        if any(len(words & newer) >= _SAME_SHARE * len(words) for newer in self._nameless[-_MOST_COMPARED:]):
            return True
        self._nameless.append(words)
        return False


def _last_of_each(digest: Digest, sources: Set[Source], check: Check) -> Iterator[Excerpt]:
    """Yields the excerpts of the given sources, newest first. Of equal texts only the newest is yielded."""
    seen: set[str] = set()
    for excerpt in checked(reversed(digest.excerpts), check, MANY):
        if excerpt.source in sources and excerpt.text not in seen:
            seen.add(excerpt.text)
            yield excerpt


def errors_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields an item for each command that failed, newest first: its last failure, the cause that the agent gave, and
    what became of it.

    If the command passed later, also as part of a wider test run or after the archived messages, the item names that
    message and what was changed until then. A failed test that did not pass later is an item of the section `OPEN`,
    every other one of `ERRORS`.
    """
    yield from (item for _, item in told_failures(digest, check, tuning))


def told_failures(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[tuple[str, Item]]:
    """Yields the items of `errors_of`, each after the most informative line of its last failure."""
    changes, causes = changes_of(digest), _Causes(digest)
    for failure in checked(failures_of(digest), check):
        details = list(dict.fromkeys(run.detail for run in failure.runs if run.detail))
        if details:
            is_open = failure.last.is_test and not failure.cure and not failure.again
            text = f"`{failure.last.command}` failed{_times(failure)}: {_THEN.join(details[-_MOST_DETAILS:])}"
            text += _cause(causes.after(failure), details) + _end(failure, digest, changes)
            yield (
                details[-1],
                Item(
                    section=Section.OPEN if is_open else Section.ERRORS,
                    text=text,
                    index=failure.last.index,
                    anchors=find_anchors(text),
                    value=tuning.error_value,
                ),
            )


def _cause(cause: str, details: Sequence[str]) -> str:
    """Returns a cause as a part of an error. If the command failed in several ways, it is that of the last."""
    if not cause:
        return ""
    return f"; cause of the last: {cause}" if len(details) > 1 else f"; cause: {cause}"


def _times(failure: Failure) -> str:
    return f" {len(failure.runs)} times since #{number_of(failure.runs[0].index)}" if len(failure.runs) > 1 else ""


def _end(failure: Failure, digest: Digest, changes: Changes) -> str:
    """Returns how a failure ended, and after what."""
    last, cure = failure.last, failure.cure
    if cure is None:
        again = failure.again
        return RAN_AGAIN.format(number_of(again.index)) if again else ""
    between = changes.between(last.index, cure.index)
    ran = [f"`{command}`" for command in dict.fromkeys(runs_between(digest.runs, last.index, cure.index, last))]
    text = f"{PASSED_IN}{number_of(cure.index)}"
    if between:
        return text + f" after changes to {', '.join(between[:_MOST_FILES])}"
    return text + (f" after {', '.join(ran[-_MOST_COMMANDS:])}" if ran else "")


class _Causes:
    """The sentences in which the agent names causes, by message."""

    def __init__(self, digest: Digest) -> None:
        said = {Source.AGENT, Source.THINKING}
        self._pieces = [piece for piece in digest.excerpts if piece.source in said]
        self._indices = [piece.index for piece in self._pieces]

    def after(self, failure: Failure) -> str:
        """Returns the first cause that the agent names after the last failure and before the success. Empty if it names
        none in the messages that directly follow."""
        first = failure.last.index + 1
        last = min(first + _CAUSE_WITHIN, failure.cure.index if failure.cure else first + _CAUSE_WITHIN)
        for piece in self._pieces[bisect_left(self._indices, first) : bisect_right(self._indices, last)]:
            for sentence in sentences(piece.text):
                named = _CAUSE.search(sentence) and sentence[:1].isupper() and not _is_code(sentence)
                cause = telling(sentence) if named and len(sentence) <= _CAUSE_LIMIT else ""
                if cause and not _SUPPOSES.match(cause):
                    return cause.strip().rstrip(".")
        return ""


@lru_cache(maxsize=16_384)
def judged(text: str) -> _Judged:
    """Returns what a text says to keep, and what it is worth. Remembered, because a conversation is often summarized
    again."""
    kept = telling(text)
    if not kept or _is_code(kept):
        return _NOTHING
    low = kept.lower()
    words = _WORD.findall(low)
    longer = [word for word in words if len(word) >= _LONGER]
    if retracts(kept):
        worth = _RETRACTS
    elif (not _CONCLUDING.isdisjoint(words) or _CONCLUDES.search(low)) and not guesses(kept):
        worth = _DECIDES
    else:
        worth = _Worth.MEASURES if _NUMBER.search(kept) else _NAMES
    return _Judged(text=kept, worth=worth, opening=tuple(sorted(longer[:_SAME_WORDS])), words=frozenset(longer))


def _is_code(sentence: str) -> bool:
    return sentence.endswith(_CODE_ENDS) or _CODE.match(sentence) is not None


def _shortened(excerpt: Excerpt, text: str) -> Excerpt:
    return replace(excerpt, text=text, anchors=tuple(name for name in excerpt.anchors if name in text))


def _item(excerpt: Excerpt, section: Section, value: float) -> Item:
    return Item(
        section=section,
        text=excerpt.text,
        index=excerpt.index,
        order=excerpt.order,
        anchors=excerpt.anchors,
        value=value,
    )
