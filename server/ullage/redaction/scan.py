"""Searches texts for the words and characters that secrets and imitations begin with, and cuts out what is found.

Nearly every text holds none of them. Plain search, of a whole text at once, says so many times faster than a pattern
that is tried at every character.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from string import ascii_letters, digits

from ullage.redaction import REDACTED

# How many places within one stretch of text are tried.
_MOST_WITHIN = 16
_LETTERS = {"ſ": "s", "ı": "i", "İ": "i", "\u212a": "k"}
# Characters of the shortest token that is known by its shape: Slack's, `xapp-` and ten more.
_SHORTEST = 15
# The characters that are most common in code and prose. A search at each of them would stop too often.
_COMMON = " etsaroinldcm._-f"
# Words that have a letter in common: the letter, a search for their tails, and the words that may be where a tail is
# found. A word's tail is its text from the last place of the letter.
_Group = tuple[str, Callable[[str], list[str]], dict[str, tuple[str, ...]]]


@lru_cache(maxsize=4)
def ascii_of(text: str) -> bytes:
    """Returns a byte for each character of `text`: the character itself if it is ASCII, otherwise a question mark. The
    last texts are remembered here and in `lowered`, because each kind of secret is searched for separately."""
    return text.encode("ascii", "replace")


@lru_cache(maxsize=4)
def lowered(text: str) -> str:
    """Returns `text` in lower case without moving any character to another index. Characters that are not ASCII become
    question marks, but for `ſ`, `ı`, `İ` and the sign for kelvin: patterns that ignore case take them as letters."""
    for char, letter in () if text.isascii() else _LETTERS.items():
        text = text.replace(char, letter)
    return ascii_of(text).lower().decode()


def places_of(text: str, words: Iterable[str]) -> Iterator[int]:
    """Yields every index in `text` where a word begins: all of the first word, then those of the next."""
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


class CharRuns:
    """Finds the runs of at least `shortest` letters, digits and `signs` in texts. Characters that are not ASCII belong
    to the runs if `?` is one of the signs. The runs of the last texts are remembered."""

    def __init__(self, signs: str, shortest: int) -> None:
        chars = f"{ascii_letters}{digits}{signs}".encode()
        self._kinds = bytes(ord("a") if char in chars else ord(" ") for char in range(256))
        self._beginning = b"a" * shortest
        self.of = lru_cache(maxsize=4)(self._of)

    def _of(self, text: str) -> list[tuple[int, int]]:
        """Returns the start and end of each run in a text."""
        kinds = ascii_of(text).translate(self._kinds)
        runs: list[tuple[int, int]] = []
        # Most texts have few such runs. Plain search finds them several times faster than a pattern.
        start = kinds.find(self._beginning)
        while start >= 0:
            end = kinds.find(b" ", start)
            end = len(kinds) if end < 0 else end
            runs.append((start, end))
            start = kinds.find(self._beginning, end)
        return runs


# Words in which a token can be, if no sign can part it. Letters that are not ASCII belong to words.
LONG_WORDS = CharRuns("_-?", _SHORTEST)


class WordSearch:
    """Searches for words (lower case, ASCII). Words that have a letter in common are searched for together, at the
    places of that letter. A text of n characters takes a time that grows with n."""

    def __init__(self, words: Iterable[str]) -> None:
        self._groups = tuple(_groups(frozenset(words)))

    def words_in(self, low: str) -> frozenset[str]:
        """Returns the words that are in a text in lower case, also inside longer words."""
        found: set[str] = set()
        for letter, tails_in, words_of in self._groups:
            tails = tails_in(low) if letter in low else None
            for tail in set(tails) if tails else ():
                words = words_of[tail]
                found.update(words if len(words) == 1 else [word for word in words if word in low])
        return frozenset(found)


def _groups(words: frozenset[str]) -> Iterator[_Group]:
    while words:
        choices = sorted(set[str]().union(*map(_letters_of, words)))
        letter = max(choices, key=lambda one: (one not in _COMMON, sum(one in _letters_of(word) for word in words)))
        group = frozenset(word for word in words if letter in _letters_of(word))
        words -= group
        yield _group(letter, group)


def _letters_of(word: str) -> set[str]:
    # A tail of one letter says nothing of its word.
    return set(word[:-1]) - {word[-1]} or set(word)


def _group(letter: str, words: frozenset[str]) -> _Group:
    tail_of = {word: word[word.rindex(letter) :] for word in words}
    # The pattern takes the first tail that it finds. So the longer ones come first, and one that is found stands for
    # those that begin it, too. A tail has the letter only once, so none begins within another.
    ordered = sorted(words, key=lambda word: (-len(tail_of[word]), word))
    rests = [f"{re.escape(tail_of[word][1:])}(?<={re.escape(word)})" for word in ordered]
    tails = re.compile(f"{re.escape(letter)}(?:{'|'.join(rests)})")
    words_of = {tail: tuple(word for word in ordered if tail.startswith(tail_of[word])) for tail in tail_of.values()}
    return letter, tails.findall, words_of
