"""What the index has of a message: its searchable text in chunks, and the tokens of that text.

A chunk is small enough that a single line of it has weight. Tokens are whole names, and the stems of the words that
names consist of. A name is what a programmer would select by a double click or a little more: `parseConfig`,
`max_tokens`, `dry-run`, `a.b.c`, `src/app/main.py`. Its path segments and dotted members are names, too. The index
holds names and words, so that a whole name can weigh more than its words, and its words find the name as well.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast
from unicodedata import normalize

from msgspec import Struct

from ullage.model.message import Block, Message, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock

# Characters of one block that are indexed, half from its head and half from its tail. This covers everything that a
# tool usually returns, while a pasted log of megabytes neither doubles the store nor stalls the search that indexes it.
BLOCK_CHARS = 524_288
# Characters of a chunk. BM25 weighs a word by its share of the row, and in a row of this length a few lines still have
# a share that counts.
CHUNK_CHARS = 2_000


def message_text(message: Message) -> str:
    """Returns the searchable text of a message: its texts, tool inputs, tool results and resources. Of a block with
    more than `BLOCK_CHARS` characters only the beginning and the end are included."""
    return "\n".join(text for block in message.content if (text := _bounded(_block_text(block))))


def chunks(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and the stop of each chunk of a text: about `CHUNK_CHARS` characters, in whole lines if
    possible."""
    start = 0
    while start < len(text):
        stop = start + CHUNK_CHARS
        if stop < len(text):
            # A chunk is at least half full, however long the lines are.
            line = text.rfind("\n", start + CHUNK_CHARS // 2, stop)
            stop = line + 1 if line >= 0 else stop
        yield start, min(stop, len(text))
        start = stop


def _bounded(text: str) -> str:
    if len(text) <= BLOCK_CHARS:
        return text
    half = BLOCK_CHARS // 2
    return f"{text[:half]}\n{text[-half:]}"


def _block_text(block: Block) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            return "\n".join((block.name, *_leaves(block.input)))
        case ToolResultBlock():
            return "\n".join(_block_text(part) for part in block.content)
        case ResourceBlock():
            return "\n".join((block.uri, block.text or ""))
        case _:
            return ""


def _leaves(value: Any) -> Iterator[str]:
    """Yields the values in a tool's input as text, without the keys. Keys repeat with every call and would outweigh the
    values. However deep the input is nested, this must not fail: no session could be searched any more."""
    waiting = [value]
    while waiting:
        next_value = waiting.pop()
        if isinstance(next_value, dict):
            waiting += reversed([*cast("dict[str, Any]", next_value).values()])
        elif isinstance(next_value, list):
            waiting += reversed(cast("list[Any]", next_value))
        elif isinstance(next_value, str | int | float) and not isinstance(next_value, bool):
            yield str(next_value)


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

# Tokens whose names or stems are kept: few are in most of the text. Each takes up to half a kilobyte.
_CACHED = 16_384


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


@lru_cache(maxsize=_CACHED)
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


@lru_cache(maxsize=_CACHED)
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
