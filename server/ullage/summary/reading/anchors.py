"""Anchors: the names in a text that cannot be guessed again once they are lost.

They are paths, URLs, qualified and compound identifiers, command-line flags, hashes and ticket ids. Plain words are not
anchors. Texts should be bounded (see `excerpts`). Every pattern takes time linear in its input.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from sys import intern
from typing import TypeVar

T = TypeVar("T")

# The character that ends a part cannot occur within the part, so the quantifiers are possessive and never backtrack.
_ADDRESS = r"https?://[^\s\"'<>`)\]}]{4,200}"
_FLAG = r"--[a-z][a-z0-9-]{2,40}"
_PATH = r"(?<![\w@.-])[~\w@.-]{0,80}+(?:/[\w@.+-]{1,80}+){1,16}+"
_QUALIFIED = r"[A-Za-z_]\w{0,80}+(?:(?:\.|::)[A-Za-z_]\w{0,80}+){1,8}+"
_COMPOUND = r"[A-Za-z0-9_]{3,80}+(?:-[A-Za-z0-9_]{1,40}+){0,6}+"
# What may be an anchor in texts of which each is a line, and the line breaks. Signs and plain words are passed over,
# because most of a text consists of them.
_CANDIDATES = re.compile(
    rf"[^\w\n~@./-]*+(?:[A-Za-z][a-z]*+(?![\w.:/@~-])|({_ADDRESS}|{_FLAG}|{_PATH}|{_QUALIFIED}|{_COMPOUND}|\n))"
)
# The same for texts of ASCII, nine in ten, in which it need not ask what kind of letter a character is.
_IN_ASCII = re.compile(_CANDIDATES.pattern, re.ASCII)
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,5}$")
_TICKET = re.compile(r"[A-Za-z]{2,}-[A-Za-z]*\d\w*")
# Punctuation at the end of a name that belongs to the sentence.
_CLINGING = ".,:;-/"
_SHORTEST = 4
# A line break or a tab as a program's text has it: `\nRead` is no name with a small first letter.
_ESCAPED = re.compile(r"\\[nrt](?=[A-Z])")
# Candidates remembered, and short texts. A session of 160,000 tokens has 3,000 different candidates, 6,000 short texts.
_MOST_REMEMBERED = 32_768


class _Remembered(dict[str, T]):
    """What was read of short texts, which repeat. Looking up a key costs less than calling a function that remembers.
    Threads may share an instance: at worst a text is read twice."""

    def __init__(self, read: Callable[[str], T]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: str) -> T:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        self[text] = read = self._read(text)
        return read


def _name_in(candidate: str) -> str:
    """Returns the anchor that a candidate is, and a space, or an empty string. A line break stays."""
    name = candidate.rstrip(_CLINGING)
    return f"{name} " if is_anchor(name) else candidate if candidate == "\n" else ""


def _names_in(line: str) -> tuple[str, ...]:
    # No anchor contains a space.
    return tuple(dict.fromkeys(map(intern, line.split())))


_NAME_IN, _NAMES_IN = _Remembered(_name_in), _Remembered(_names_in)


def find_anchors(text: str) -> tuple[str, ...]:
    """Returns the anchors of a text, each once, in the order in which they first occur."""
    return next(_find((text,), _IN_ASCII if text.isascii() else _CANDIDATES))


def find_in_each(texts: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns the anchors of each of some short texts. One call for many costs much less than a call for each, and a
    text that was read before, as most of a file is that is shown again, is not read again."""
    if len(_ANCHORS_IN) >= _MOST_REMEMBERED:
        _ANCHORS_IN.clear()
    new = [text for text in dict.fromkeys(texts) if text not in _ANCHORS_IN]
    plain = [text for text in new if text.isascii()]
    others = [text for text in new if not text.isascii()]
    _ANCHORS_IN.update(zip(plain, _find(plain, _IN_ASCII), strict=False))
    _ANCHORS_IN.update(zip(others, _find(others, _CANDIDATES), strict=False))
    return list(map(_ANCHORS_IN.__getitem__, texts))


def _find(texts: Sequence[str], candidates: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    lines = "\n".join([text.replace("\n", " ") for text in texts])
    names = "".join(map(_NAME_IN.__getitem__, candidates.findall(_ESCAPED.sub(" ", lines))))
    return map(_NAMES_IN.__getitem__, names.split("\n"))


_ANCHORS_IN = _Remembered(find_anchors)


def forget_words() -> None:
    """Forgets all that was read, as in a process that has just started."""
    _NAME_IN.clear()
    _NAMES_IN.clear()
    _ANCHORS_IN.clear()


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
