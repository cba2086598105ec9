"""Reads a secret scanner's rule, a regular expression in Go's syntax, as shapes: a prefix, an alphabet and lengths.

Only the syntax that gitleaks' rules with a fixed prefix use is read; any other rule raises `NoShape`.
"""

import re
from collections.abc import Iterable
from itertools import chain, product

from msgspec import Struct

# Characters of a token. A rule that allows others (spaces, quotes) describes the text around a secret.
_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
_CLASSES = {
    "w": frozenset(char for char in _TOKEN if char.isalnum() or char == "_"),
    "d": frozenset("0123456789"),
}
# The end of a rule: the characters that may follow the secret.
_END = re.compile(r"\(\?:(?:\[\\x60'\"\\s;\]|\[\^[^\]]*\]).*\)$")
_COUNT = re.compile(r"\{(\d+)(,?)(\d*)\}")
_FLAGS = re.compile(r"\(\?(-?)i\)")
_GROUP = re.compile(r"\((?:\?(?:(?P<flags>-?i)?:|P<\w+>))?")
# The longest run for a rule without an upper limit.
_UNLIMITED = 400
_MOST_SEQUENCES = 64
# A shorter prefix occurs by chance.
_SHORTEST_PREFIX = 4
_SHORTEST_REST = 10
# If a rule has a choice of at most so many characters after a prefix, each of them makes a prefix of its own.
_MOST_CHOICES = 4


class NoShape(Exception):
    """The rule has no fixed prefix, or describes more than one token."""


class Shape(Struct, frozen=True, order=True):
    """A token: its prefix, then `shortest` to `longest` characters of `alphabet` (sorted)."""

    prefix: str
    alphabet: str
    shortest: int
    longest: int


class _Piece(Struct, frozen=True):
    chars: frozenset[str]
    low: int
    high: int


_Sequence = tuple[_Piece, ...]


def shapes_of(rule: str) -> list[Shape]:
    """Returns the shapes of a rule, one for each prefix. Raises `NoShape`."""
    reader = _Reader(_END.sub("", rule).replace("[[:alnum:]]", "[A-Za-z0-9]"))
    sequences = reader.alternatives()
    if reader.at < len(reader.text):
        raise NoShape(reader.text[reader.at :])
    shapes = merged(shape for sequence in sequences for shape in _shapes(sequence))
    if not shapes:
        raise NoShape("no prefix is long enough")
    return shapes


def merged(shapes: Iterable[Shape]) -> list[Shape]:
    """Returns one shape for each prefix, with the alphabets of its shapes together, their lowest and their highest
    length."""
    found: dict[str, Shape] = {}
    for one in shapes:
        other = found.get(one.prefix, one)
        alphabet = "".join(sorted({*one.alphabet, *other.alphabet}))
        shortest, longest = min(one.shortest, other.shortest), max(one.longest, other.longest)
        found[one.prefix] = Shape(one.prefix, alphabet, shortest, longest)
    return sorted(found.values())


def _shapes(sequence: _Sequence) -> list[Shape]:
    prefixes = [""]
    rest = list(sequence)
    while rest and len(rest[0].chars) <= _MOST_CHOICES and rest[0].low == rest[0].high:
        piece = rest.pop(0)
        prefixes = [prefix + char * piece.low for prefix in prefixes for char in sorted(piece.chars)]
    shortest, longest = sum(piece.low for piece in rest), sum(piece.high for piece in rest)
    if shortest < _SHORTEST_REST:
        return []
    alphabet = "".join(sorted(frozenset[str]().union(*(piece.chars for piece in rest))))
    # A separator makes a prefix rarer than its length alone.
    long_enough = [prefix for prefix in prefixes if len(prefix) >= _SHORTEST_PREFIX - (not prefix.isalnum())]
    return [Shape(prefix, alphabet, shortest, longest) for prefix in long_enough]


class _Reader:
    """A recursive descent through one rule."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.ignores_case = False

    def alternatives(self) -> list[_Sequence]:
        """Returns all sequences up to the end of the group."""
        outer, found = self.ignores_case, self._sequences()
        while self._take("|"):
            self.ignores_case = outer
            found += self._sequences()
        self.ignores_case = outer
        return found

    def _sequences(self) -> list[_Sequence]:
        found: list[_Sequence] = [()]
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            found = [one + more for one, more in product(found, self._repeated())]
            if len(found) > _MOST_SEQUENCES:
                raise NoShape("too many alternatives")
        return found

    def _repeated(self) -> list[_Sequence]:
        atom = self._atom()
        low, high = self._count()
        if (low, high) == (1, 1):
            return atom
        if all(len(sequence) == 1 for sequence in atom):
            pieces = [piece for (piece,) in atom]
            chars = frozenset[str]().union(*(piece.chars for piece in pieces))
            return [(_Piece(chars, min(p.low for p in pieces) * low, max(p.high for p in pieces) * high),)]
        if high > 4:
            raise NoShape("a long repetition of a group")
        counts = range(low, high + 1)
        return [tuple(chain.from_iterable(parts)) for count in counts for parts in product(atom, repeat=count)]

    def _count(self) -> tuple[int, int]:
        count = _COUNT.match(self.text, self.at)
        if count:
            self.at = count.end()
            low = int(count[1])
            return low, int(count[3]) if count[3] else _UNLIMITED if count[2] else low
        for sign, low, high in (("?", 0, 1), ("*", 0, _UNLIMITED), ("+", 1, _UNLIMITED)):
            if self._take(sign):
                return low, high
        return 1, 1

    def _atom(self) -> list[_Sequence]:
        flags = _FLAGS.match(self.text, self.at)
        if flags:
            self.at = flags.end()
            self.ignores_case = not flags[1]
            return [()]
        char = self._next()
        match char:
            case "(":
                return self._group()
            case "[":
                return [(_Piece(self._class(), 1, 1),)]
            case "." | "^":
                raise NoShape("any character")
            case "$":
                return [()]
            case "\\":
                return self._escape()
            case _:
                return [(_Piece(_token(frozenset(char)), 1, 1),)]

    def _escape(self) -> list[_Sequence]:
        char = self._next()
        if char in "bz":
            return [()]
        return [(_Piece(_CLASSES.get(char) or _token(frozenset(char)), 1, 1),)]

    def _group(self) -> list[_Sequence]:
        opening = _GROUP.match(self.text, self.at - 1)
        if opening is None:
            raise NoShape("an unknown group")
        self.at = opening.end()
        outer = self.ignores_case
        if opening["flags"]:
            self.ignores_case = opening["flags"] == "i"
        found = self.alternatives()
        self.ignores_case = outer
        if not self._take(")"):
            raise NoShape("an open group")
        return found

    def _class(self) -> frozenset[str]:
        chars: set[str] = set()
        while not self._take("]"):
            char = self._next()
            if char == "\\":
                char = self._next()
                if char in _CLASSES:
                    chars |= _CLASSES[char]
                    continue
            if self.text[self.at : self.at + 1] == "-" and self.text[self.at + 1 : self.at + 2] != "]":
                self.at += 1
                chars |= set(map(chr, range(ord(char), ord(self._next()) + 1)))
            else:
                chars.add(char)
        if self.ignores_case:
            chars |= {char.swapcase() for char in chars}
        return _token(frozenset(chars))

    def _next(self) -> str:
        if self.at >= len(self.text):
            raise NoShape("the rule ends too early")
        self.at += 1
        return self.text[self.at - 1]

    def _take(self, char: str) -> bool:
        taken = self.text.startswith(char, self.at)
        self.at += taken
        return taken


def _token(chars: frozenset[str]) -> frozenset[str]:
    if not chars <= _TOKEN:
        raise NoShape(f"{''.join(sorted(chars - _TOKEN))!r} is in no token")
    return chars
