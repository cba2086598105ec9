"""Splits text into the tokens of the index: whole names, and the stems of the words that names consist of.

A name is what a programmer would select by a double click or a little more: `parseConfig`, `max_tokens`, `dry-run`,
`a.b.c`, `src/app/main.py`. Its path segments and dotted members are names, too. The index holds names and words, so
that a whole name can weigh more than its words, and its words find the name as well.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import normalize

from msgspec import Struct

_TOKEN = re.compile(r"\w+(?:(?:[./\\@-]|::)\w+)*")
_SEGMENT = re.compile(r"[/\\]")
_MEMBER = re.compile(r"[.@]|::")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*")
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,}")
_ACCENT = re.compile("[\u0300-\u036f]+")
# Chinese, Japanese and Korean are written without spaces: each character is a word, and neighbours are a phrase.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# "HTTPServer" is http server, "sha256" is sha 256; letters beyond ASCII count as lower case.
_PART = re.compile(rf"[{_CJK}]|[A-Z]+(?![^\W\d_A-Z{_CJK}])|[A-Z]?[^\W\d_A-Z{_CJK}]+|[A-Z]+|\d+")
# FTS5's tokenizer cuts at ASCII punctuation and nowhere else (https://www.sqlite.org/fts5.html#ascii_tokenizer), so
# private-use characters replace the characters that join a name.
_JOINTS = str.maketrans({joint: chr(0xE000 + number) for number, joint in enumerate("_./\\:@-")})
_UNJOINED = {ord(mark): chr(joint) for joint, mark in _JOINTS.items()}
# Ends a name, so that no name is a word: `runtest` as a name is not the word.
_END = "\ue0ff"
# Longer names are data (base64, minified code), whose parts are not worth searching for.
_MAX_NAME = 200


class Name(Struct, frozen=True):
    """A token of a text as the index has it. `wholes`: its whole names, the token itself first, empty for a plain word.
    `parts`: the words that it consists of, in lower case."""

    wholes: tuple[str, ...]
    parts: tuple[str, ...]


class Place(Struct, frozen=True):
    """A token of a text and its position in the text, `start` to `stop` (excluded)."""

    name: Name
    start: int
    stop: int


def places(text: str, wanted: re.Pattern[str] | None = None) -> Iterator[Place]:
    """Yields the tokens of a text with their positions, in order; if `wanted` is given, those in which it is found."""
    for match in _TOKEN.finditer(text):
        if wanted is None or wanted.search(match[0]):
            yield Place(read_name(match[0]), match.start(), match.end())


def index_tokens(text: str) -> frozenset[str]:
    """Returns the tokens by which the index finds a text: its whole names, and the stems of all its words."""
    found = [read_name(token) for token in set(_TOKEN.findall(fold(text)))]
    wholes = {whole for name in found for whole in name.wholes}
    return frozenset(wholes | {stem(part) for name in found for part in name.parts})


def fold(text: str) -> str:
    """Returns the text without accents on its letters, which a user may leave out."""
    if text.isascii():
        return text
    return normalize("NFC", _ACCENT.sub("", normalize("NFD", text)))


@lru_cache(maxsize=65_536)
def read_name(token: str) -> Name:
    """Returns the whole names and the words of one token. Results are cached."""
    if _PLAIN.fullmatch(token):
        return Name((), (token.lower(),))
    if len(token) > _MAX_NAME:
        return Name((), tuple(part[:_MAX_NAME] for part in re.split(r"[\W_]+", token.lower()) if part))
    segments = _SEGMENT.split(token)
    members = [member for segment in segments for member in _MEMBER.split(segment) if member]
    wholes = dict.fromkeys(whole for whole in (token, *segments, *members) if _is_compound(whole))
    parts = (part.lower() for member in members for part in _parts(member))
    return Name(tuple(whole_token(whole.lower()) for whole in wholes), tuple(parts))


def joined_names(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names that consist of these words: without joints (humps count as none), and with the joints that
    programmers use inside a name."""
    return tuple(dict.fromkeys(joint.join(parts) for joint in ("", "_", "-")))


def whole_token(name: str) -> str:
    """Returns the token by which the index finds a whole name, given in lower case."""
    return name.translate(_JOINTS) + _END


def plain_name(token: str) -> str:
    """Returns the name, in lower case, whose token this is."""
    return token.removesuffix(_END).translate(_UNJOINED)


def part_at(text: str, start: int) -> int:
    """Returns the end of the word that begins at `start`, `start` if none does."""
    match = _PART.match(text, start)
    return match.end() if match else start


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Returns a word without its most common English endings."""
    if not word.isalpha():
        return word
    for ending in ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _is_compound(name: str) -> bool:
    return "_" in name or len(_parts(name)) > 1


def _parts(name: str) -> list[str]:
    return [name] if _HASH.fullmatch(name) else _PART.findall(name)
