"""Searches texts for words that secrets and imitations begin with, and cuts out what is found.

Nearly every text holds none of them. Plain search, of a whole text at once, says so many times faster than a pattern
that is tried at every character.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from ullage.redaction import REDACTED

# How many places within one stretch of text are tried.
_MOST_WITHIN = 16
# Characters of the shortest token that is known by its shape: Slack's, `xoxb-` and ten more.
_SHORTEST = 15
# Characters that no token contains. In texts of ASCII alone a table is the faster way to replace them, in others a
# pattern.
_SIGNS = "()[]{}<>\"'`,;|&?!*^\\$@#%"
_BETWEEN, _ONE_BETWEEN = str.maketrans(dict.fromkeys(_SIGNS, " ")), re.compile(f"[{re.escape(_SIGNS)}]+")


@lru_cache(maxsize=4)
def lowered(text: str) -> str:
    """Returns `text` in lower case without moving any character to another index. Plain `lower()` makes two characters
    of `İ`. `ſ` and `ı` become `s` and `i`, as which patterns that ignore case take them. The last texts are remembered,
    because each kind of secret is searched for separately."""
    low = text.lower()
    if low.isascii():
        return low
    low = low if len(low) == len(text) else text.replace("İ", "I").lower()
    return low.replace("ſ", "s").replace("ı", "i")


def places_of(text: str, words: Iterable[str]) -> Iterator[int]:
    """Yields every index in `text` where one of `words` begins: all indices of the first word, then those of the
    next."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


class FewWithin:
    """Says which places of a text to try, so that a text that repeats a word a million times takes no longer than
    others of its length: of the places inside one stretch at most 16. In texts that users write, so many words of a
    secret's place are not within one value."""

    def __init__(self) -> None:
        self._end = self._tried = 0

    def tries(self, at: int) -> bool:
        """Returns whether to try a place. Places come in order."""
        self._tried = self._tried + 1 if at < self._end else 0
        return self._tried < _MOST_WITHIN

    def reaches(self, end: int) -> None:
        """Takes the end of the stretch that was looked at from a place that was tried."""
        if not self._tried:
            self._end = end


def matches_at(pattern: re.Pattern[str], text: str, places: Iterable[int], reach: int = 0) -> list[re.Match[str]]:
    """Returns the matches of `pattern` that begin at the places (in order), of many that overlap only the first.
    `reach` is how many characters the pattern looks at where it doesn't match."""
    found: list[re.Match[str]] = []
    few = FewWithin()
    for at in places:
        if few.tries(at):
            match = pattern.match(text, at)
            few.reaches(match.end() if match else at + reach)
            found += [match] if match else []
    return found


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Returns `text` with `[redacted]` for each span (start, end). Spans that overlap are redacted as one."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces += [text[done:start], REDACTED]
        done = max(done, end)
    return "".join([*pieces, text[done:]]) if pieces else text


@lru_cache(maxsize=4)
def long_words(text: str) -> str:
    """Returns the words of `text` with at least 15 characters, divided at brackets, quotes and other characters that no
    token contains, and joined by spaces. Every token that is known by its shape, or that looks random, is in them. The
    last texts are remembered, because each kind of token is searched for separately."""
    # Most words are short, so the others are divided after they were chosen.
    words = " ".join(dict.fromkeys([word for word in text.split() if len(word) >= _SHORTEST]))
    words = words.translate(_BETWEEN) if words.isascii() else _ONE_BETWEEN.sub(" ", words)
    return " ".join([word for word in words.split() if len(word) >= _SHORTEST])
