"""Finds which of many words a text has, in fewer passes than words.

Nearly every text has few of them. A search for each would take longer than everything else that is done with the text.
"""

import re
from collections.abc import Callable, Iterable, Iterator

# The characters that are most common in code and prose. A search at each of them would stop too often.
_COMMON = " etsaroinldcm._-f"

# Words that have a letter in common: the letter, a search for their tails, and the words that may be where a tail is
# found. A word's tail is its text from the last place of the letter.
_Group = tuple[str, Callable[[str], list[str]], dict[str, tuple[str, ...]]]


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
