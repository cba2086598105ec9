"""Sentences with which the agent retracts what it said, those that it retracts at once, and guesses."""

import re
from functools import lru_cache

from ullage.summary.reading.contents import Excerpt
from ullage.summary.reading.excerpts import sentences

_WHAT = r"(?:issue|problem|cause|bug|reason|culprit|failure)"
_VIEW = (
    r"(?:analysis|assumption|theory|hypothesis|conclusion|diagnosis|reasoning|understanding|claim|guess|explanation)"
)
_RETRACTS = re.compile(
    r"\bI (?:was|am) (?:wrong|mistaken)\b|\b(?:misdiagnosis|red herring)\b|\bfor the wrong reason\b"
    rf"|\b(?:my|our|the|this|that) (?:\w+ )?{_VIEW} (?:was|is) (?:\w+ )?(?:wrong|incorrect|mistaken|not right)\b"
    rf"|\b(?:was|is)(?:n['’]t| not) the (?:[\w-]+ )?{_WHAT}\b|\bthe (?:\w+ )?{_WHAT} (?:is|was) (?:\w+ )?not an?\b"
    rf"|\bthe (?:actual|real|true) (?:root )?{_WHAT} (?:is|was)\b",
    re.IGNORECASE,
)
# Only with a word that stops short: `But that is not…` is as often about the code.
_RETRACTS_LAST = re.compile(
    r"(?:(?:but|oh|so) )?(?:(?:wait|actually|hmm|no)\b[\s,.!:–—-]*){1,3}(?:that|this|it)"
    r"(?:(?:['’]s| is| was) (?:not|wrong|incorrect|false|the opposite)"
    r"| (?:(?:isn|wasn|doesn|can)['’]t|does not|cannot))\b",
    re.IGNORECASE,
)
_STOPS = re.compile(r"\b(?:wait|actually|hmm|no)\b", re.IGNORECASE)
_GUESSES = re.compile(
    r"\b(?:I suspect|maybe|perhaps|possibly|(?:might|may|could) (?:also |just |not )?(?:be|have|come|return|fail|miss)"
    r"|(?:is|are|was|were) (?:most |very )?(?:likely|probably)|likely (?:cause|culprit|reason|explanation)"
    r"|must be (?:in|that|a)|seems? to be)\b",
    re.IGNORECASE,
)


def retracts(text: str) -> bool:
    """Returns whether a text says that something said before was wrong, or what is true in its place."""
    return _RETRACTS.search(text) is not None


def guesses(text: str) -> bool:
    """Returns whether a text only supposes something. Whether it is true, later messages say, if any."""
    return _GUESSES.search(text) is not None


class Retracted:
    """Finds the sentences that the next one retracts, as `Wait, that's not right` does. To be asked of a message's
    excerpts from the last to the first."""

    def __init__(self) -> None:
        # The message whose next sentence, which is an earlier one, is retracted.
        self._index = -1

    def without(self, excerpt: Excerpt) -> str:
        """Returns an excerpt's text without what is retracted and what retracts it."""
        if self._index != excerpt.index and not _retracts_within(excerpt.text):
            return excerpt.text
        parts = sentences(excerpt.text)
        kept: list[str] = []
        taken = self._index == excerpt.index
        for part in reversed(parts):
            takes = _RETRACTS_LAST.match(part) is not None
            if not (taken or takes):
                kept.append(part)
            taken = takes
        self._index = excerpt.index if taken else -1
        return excerpt.text if len(kept) == len(parts) else " ".join(reversed(kept))


@lru_cache(maxsize=16_384)
def _retracts_within(text: str) -> bool:
    """Returns whether a sentence of a text retracts the one before it. Remembered, because a conversation is often
    summarized again."""
    return _STOPS.search(text) is not None and any(map(_RETRACTS_LAST.match, sentences(text)))
