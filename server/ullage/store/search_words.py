"""Splits text into the words of the index: whole names, and the words that names consist of.

A name is what a programmer would select by a double click or a little more: `parseConfig`, `max_tokens`, `dry-run`,
`a.b.c`, `src/app/main.py`. Its path segments and dotted members are names, too. The index holds names in one column and
plain words in another, so that a whole name can weigh more than its words, and its words find the name as well.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

_TOKEN = re.compile(r"\w+(?:(?:[./\\@-]|::)\w+)*")
_SEGMENT = re.compile(r"[/\\]")
_MEMBER = re.compile(r"[.@]|::")
_PLAIN = re.compile(r"[a-z]+|[A-Z][a-z]*")
_HASH = re.compile(r"(?=.*\d)(?=.*[a-f])[0-9a-f]{6,}")
# Chinese, Japanese and Korean are written without spaces: each character is a word, and neighbours are a phrase.
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
# "HTTPServer" is http server, "sha256" is sha 256; letters beyond ASCII count as lower case.
_PART = re.compile(rf"[{_CJK}]|[A-Z]+(?![^\W\d_A-Z{_CJK}])|[A-Z]?[^\W\d_A-Z{_CJK}]+|[A-Z]+|\d+")
# FTS5's tokenizer cuts at punctuation but not at private-use characters
# (https://www.sqlite.org/fts5.html#unicode61_tokenizer), so these replace the characters that join a name.
_JOINTS = str.maketrans({joint: chr(0xE000 + number) for number, joint in enumerate("_./\\:@-")})
# Ends a name, so that the stemmer removes no ending from it: `run_test` is not `run_tests`.
_END = "\ue0ff"
# Longer names are data (base64, minified code), whose parts are not worth searching for.
_MAX_NAME = 200


class Name(Struct, frozen=True):
    """A token of a text: its `wholes` as the index has them, itself first and none for a plain word; and its words."""

    wholes: tuple[str, ...]
    parts: tuple[str, ...]


class Place(Struct, frozen=True):
    """A token and its position in the text."""

    name: Name
    start: int
    stop: int


def places(text: str) -> Iterator[Place]:
    """Yields the tokens of a text in order."""
    for match in _TOKEN.finditer(text):
        yield Place(read_name(match[0]), match.start(), match.end())


def columns(text: str) -> tuple[str, str]:
    """Returns the two columns of the index for a text: its names, and its words."""
    found = [read_name(token) for token in _TOKEN.findall(text)]
    return (
        " ".join(whole for name in found for whole in name.wholes),
        " ".join(part for name in found for part in name.parts),
    )


@lru_cache(maxsize=65_536)
def read_name(token: str) -> Name:
    """Returns the names and words of one token."""
    if _PLAIN.fullmatch(token):
        return Name((), (token.lower(),))
    if len(token) > _MAX_NAME:
        return Name((), tuple(part[:_MAX_NAME] for part in re.split(r"[\W_]+", token.lower()) if part))
    segments = _SEGMENT.split(token)
    members = [member for segment in segments for member in _MEMBER.split(segment) if member]
    wholes = dict.fromkeys(whole for whole in (token, *segments, *members) if _is_compound(whole))
    parts = (part.lower() for member in members for part in _parts(member))
    return Name(tuple(whole.lower().translate(_JOINTS) + _END for whole in wholes), tuple(parts))


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Returns a word without its most common English endings. This is close enough to the index' stemmer to see
    which of a text's words a query means."""
    for ending in ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _is_compound(name: str) -> bool:
    return "_" in name or len(_parts(name)) > 1


def _parts(name: str) -> list[str]:
    return [name] if _HASH.fullmatch(name) else _PART.findall(name)
