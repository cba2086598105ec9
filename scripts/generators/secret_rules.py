"""Reads a secret scanner's rule, a regular expression in Go's syntax, as shapes (a prefix, an alphabet and lengths), or
makes texts that it matches."""

import random
import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import chain, product
from typing import Any

from msgspec import Struct

# Python's own parser of regular expressions. It has no public name since 3.11.
_parse: Callable[[str], Any] = import_module("re._parser").parse
_MAXREPEAT = import_module("re._constants").MAXREPEAT
# Go's syntax in Python's.
_NAMES = {"[[:alnum:]]": "[a-zA-Z0-9]", "[:alnum:]": "a-zA-Z0-9", r"\z": r"\Z"}
_FLAGS = re.compile(r"\(\?-?[ismU]+(?P<scoped>:)?\)?")
# Characters of a token. A rule that allows others (spaces, quotes) describes the text around a secret.
_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
_CLASSES = {
    "CATEGORY_WORD": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_SPACE": " ",
}
# What a sample has for any character.
_ANY = _CLASSES["CATEGORY_WORD"]
# How many more repetitions than the fewest a sample has of a part without a limit, or with a high one.
_MOST_MORE = 24
# The end of a rule: the characters that may follow the secret.
_END = re.compile(r"\(\?:(?:\[\\x60'\"\\s;\]|\[\^[^\]]*\]).*\)$")
# The longest run for a rule without an upper limit.
_UNLIMITED = 400
_MOST_SEQUENCES = 64
# A shorter prefix occurs by chance.
_SHORTEST_PREFIX, _SHORTEST_REST = 4, 10
# If a rule has a choice of at most so many characters after a prefix, each of them makes a prefix of its own.
_MOST_CHOICES = 4


class NoShape(ValueError):
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
    parsed = _parsed(_scoped(_END.sub("", rule)))
    sequences = _sequences(parsed, is_caseless=bool(parsed.state.flags & re.IGNORECASE))
    shapes = merged(shape for sequence in sequences for shape in _shapes(sequence))
    if not shapes:
        raise NoShape("no prefix is long enough")
    return shapes


def _parsed(rule: str) -> Any:
    for go, python in _NAMES.items():
        rule = rule.replace(go, python)
    try:
        return _parse(rule)
    except (re.error, OverflowError) as error:
        raise NoShape(f"{rule}: {error}") from error


def _scoped(rule: str) -> str:
    """Returns a rule whose flag in the middle, which Python does not have, is a group up to the end of its own."""
    at = rule.find("(?i)", 1)
    if at < 0:
        return rule
    rest, depth, end = rule[at + 4 :], 0, len(rule)
    for token in re.finditer(r"\\.|\[(?:\\.|[^\]\\])*\]|[()]", rest):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth < 0:
            end = token.start()
            break
    return f"{rule[:at]}(?i:{_scoped(rest[:end])}){rest[end:]}"


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


def _sequences(parsed: Any, *, is_caseless: bool) -> list[_Sequence]:
    found: list[_Sequence] = [()]
    for op, value in parsed:
        found = [one + more for one, more in product(found, _of_part(str(op), value, is_caseless))]
        if len(found) > _MOST_SEQUENCES:
            raise NoShape("too many alternatives")
    return found


def _of_part(op: str, value: Any, is_caseless: bool) -> list[_Sequence]:
    match op:
        case "LITERAL":
            return [(_Piece(_token(chr(value)), 1, 1),)]
        case "IN":
            chars = "".join(_members(value, ""))
            return [(_Piece(_token(chars + (chars.swapcase() if is_caseless else "")), 1, 1),)]
        case "BRANCH":
            return [*chain.from_iterable(_sequences(one, is_caseless=is_caseless) for one in value[1])]
        case "MAX_REPEAT" | "MIN_REPEAT":
            low, high, inner = value
            high = _UNLIMITED if high == _MAXREPEAT else int(high)
            return _repeated(low, high, _sequences(inner, is_caseless=is_caseless))
        case "SUBPATTERN":
            _, added, removed, inner = value
            is_inner = bool(added & re.IGNORECASE) or (is_caseless and not removed & re.IGNORECASE)
            return _sequences(inner, is_caseless=is_inner)
        case "AT":
            return [()]
        case _:
            raise NoShape(f"{op} is in no token")


def _repeated(low: int, high: int, inner: list[_Sequence]) -> list[_Sequence]:
    if all(len(sequence) == 1 for sequence in inner):
        pieces = [piece for (piece,) in inner]
        chars = frozenset[str]().union(*(piece.chars for piece in pieces))
        return [(_Piece(chars, min(p.low for p in pieces) * low, max(p.high for p in pieces) * high),)]
    if high > 4:
        raise NoShape("a long repetition of a group")
    return [tuple(chain.from_iterable(parts)) for n in range(low, high + 1) for parts in product(inner, repeat=n)]


def _members(parts: Any, otherwise: str) -> Iterator[str]:
    """Yields the characters of a class; `otherwise` if it is a class of all but some. Raises `NoShape` without that."""
    for op, value in parts:
        match str(op):
            case "LITERAL":
                yield chr(value)
            case "RANGE":
                yield "".join(map(chr, range(value[0], value[1] + 1)))
            case "CATEGORY" if otherwise or str(value) != "CATEGORY_NOT_SPACE":
                yield _CLASSES.get(str(value), otherwise or " ")
            case _ if otherwise:
                yield otherwise
            case _:
                raise NoShape("any character")


def _token(chars: str) -> frozenset[str]:
    if not _TOKEN.issuperset(chars):
        raise NoShape(f"{''.join(sorted({*chars} - _TOKEN))!r} is in no token")
    return frozenset(chars)


def sample(rule: str, chance: random.Random) -> str:
    """Returns a text that the rule matches: what its first group matches if it has a group. A sample is written as the
    rule has it, whatever its flags say of letter case. Raises `ValueError` for a rule of which none can be made."""
    rule = _FLAGS.sub(lambda found: "(?:" if found["scoped"] else "", rule.replace(r"[\s\S]", r"\w"))
    first: list[str] = []

    def made(parsed: Any) -> str:
        return "".join(part(str(op), value) for op, value in parsed)

    def part(op: str, value: Any) -> str:
        match op:
            case "LITERAL":
                return chr(value)
            case "IN" | "ANY" | "NOT_LITERAL":
                is_class = op == "IN" and str(value[0][0]) != "NEGATE"
                return chance.choice("".join(_members(value, _ANY)) if is_class else _ANY)
            case "BRANCH":
                return made(chance.choice(value[1]))
            case "MAX_REPEAT" | "MIN_REPEAT":
                low, high, inner = value
                return "".join(made(inner) for _ in range(chance.randint(low, min(int(high), low + _MOST_MORE))))
            case "SUBPATTERN":
                text = made(value[3])
                first.extend([text] if value[0] is not None and not any(first) else [])
                return text
            case "AT" | "ASSERT" | "ASSERT_NOT":
                return ""
            case _:
                raise ValueError(f"{op} is not read")

    whole = made(_parsed(rule))
    return "".join(first) or whole
