"""Anchors: the names in a text that cannot be guessed again once they are lost.

They are paths, URLs, qualified and compound identifiers, command-line flags, hashes and ticket ids. Plain words are not
anchors. Texts should be bounded (see `excerpts`). Every pattern takes time linear in its input.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, filterfalse
from sys import intern
from typing import TypeVar

T = TypeVar("T")

# The character that ends a part cannot occur within the part, so the quantifiers are possessive and never backtrack.
_ADDRESS = r"https?://[^\s\"'<>`)\]}]{4,200}"
_FLAG = r"--[a-z][a-z0-9-]{2,40}"
_PATH = r"(?<![\w@.-])[~\w@.-]{0,80}+(?:/[\w@.+-]{1,80}+){1,16}+"
_QUALIFIED = r"[A-Za-z_]\w{0,80}+(?:(?:\.|::)[A-Za-z_]\w{0,80}+){1,8}+"
_COMPOUND = r"[A-Za-z0-9_]{3,80}+(?:-[A-Za-z0-9_]{1,40}+){0,6}+"
# What may be an anchor in words of which each is a line, and the line breaks. Nine words in ten have no slash.
_IN_SLASHED = re.compile(f"{_ADDRESS}|{_FLAG}|{_PATH}|{_QUALIFIED}|{_COMPOUND}|\n")
_IN_OTHERS = re.compile(f"{_FLAG}|{_QUALIFIED}|{_COMPOUND}|\n")
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,5}$")
_TICKET = re.compile(r"[A-Za-z]{2,}-[A-Za-z]*\d\w*")
# Punctuation at the end of a name that belongs to the sentence.
_CLINGING = ".,:;-/"
_SHORTEST = 4
# A line break or a tab as a program's text has it: `\nRead` is no name with a small first letter.
_ESCAPED = re.compile(r"\\[nrt](?=[A-Z])")
# Words remembered. A session of 160,000 tokens has 15,000 different ones.
_MOST_WORDS = 32_768


def find_anchors(text: str) -> tuple[str, ...]:
    """Returns the anchors of a text, each once, in the order in which they first occur."""
    return find_in_each((text,))[0]


def find_in_each(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Returns the anchors of each text. One call for many short texts costs much less than a call for each."""
    # No anchor contains a space.
    words = [text.split() for text in texts]
    anchors_in = _WORDS.learned(words).__getitem__
    return [_joined(list(filter(None, map(anchors_in, each)))) for each in words]


def forget_words() -> None:
    """Forgets the anchors of all words, as in a process that has just started."""
    _WORDS.forget()


def _joined(found: list[tuple[str, ...]]) -> tuple[str, ...]:
    if len(found) < 2:
        return found[0] if found else ()
    return tuple(dict.fromkeys(chain.from_iterable(found)))


class _Words:
    """Remembers the anchors of words, which are texts without spaces, because texts repeat their words. The words of a
    text are read together: a call for each costs more than the reading. Threads may share an instance without a lock:
    nothing is removed from a dictionary, so at worst a word is read twice."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self._known: dict[str, tuple[str, ...]] = {}
        # A session with 15,000 different words has 5,600 different candidates in them.
        self._name_in, self._names_in = _Read(_name_in), _Read(_names_in)

    def learned(self, words: Sequence[Sequence[str]]) -> Mapping[str, tuple[str, ...]]:
        """Returns the anchors of these words, and of others."""
        known = self._known
        new = set(filterfalse(known.__contains__, chain.from_iterable(words)))
        if len(known) + len(new) > _MOST_WORDS:
            self.forget()
            known, new = self._known, set(chain.from_iterable(words))
        slashed = {word for word in new if "/" in word}
        for some, candidates in ((slashed, _IN_SLASHED), (new - slashed, _IN_OTHERS)):
            names = "".join(map(self._name_in.__getitem__, candidates.findall(_ESCAPED.sub(" ", "\n".join(some)))))
            known.update(zip(some, map(self._names_in.__getitem__, names.split("\n")), strict=False))
        return known


class _Read(dict[str, T]):
    """What was read of texts. Looking up a key costs less than calling a function that remembers."""

    def __init__(self, read: Callable[[str], T]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> T:
        self[text] = read = self._read(text)
        return read


def _name_in(candidate: str) -> str:
    """Returns the anchor that a candidate is, and a space; empty if it is none. A line break stays."""
    name = candidate.rstrip(_CLINGING)
    return f"{name} " if is_anchor(name) else candidate if candidate == "\n" else ""


def _names_in(line: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(intern, line.split())))


_WORDS = _Words()


def is_anchor(name: str) -> bool:
    """Returns whether a candidate is an anchor: a path, a URL, a flag, a compound or qualified identifier, a hash or a
    ticket id."""
    if len(name) < _SHORTEST or name.isdigit() or (name.isalpha() and name.islower()):
        return False
    if "/" in name:
        return _is_path(name)
    if name.startswith("--") or "::" in name:
        return True
    if "." in name:
        return len(name) > 5 and not name[0].isdigit()
    if ("_" in name and "_" in name.strip("_")) or _INNER_CAPITAL.search(name) is not None:
        return True
    # Letters alone are neither a hash nor a ticket's id.
    return not name.isalpha() and (_HASH.fullmatch(name) is not None or _TICKET.fullmatch(name) is not None)


def is_path(name: str) -> bool:
    """Returns whether an anchor names a file or folder, and not an identifier in code."""
    return "://" not in name and ("/" in name or ("." in name and _EXTENSION.search(name) is not None))


def _is_path(name: str) -> bool:
    # "and/or" and "1/2" are words. A root, a dot or a second slash makes a path.
    return name[0] in "/~." or name.count("/") > 1 or _EXTENSION.search(name) is not None or "_" in name
