r"""Cuts text where a tokenizer never joins tokens, so that the counts of the pieces sum to the count of the whole.

Byte-level BPE first splits text by a pattern. The patterns of cl100k and o200k (and of llama3, qwen3, glm4, kimi,
deepseek, mistral_v3, gemma) never match across a newline that is followed by neither whitespace nor `/` (in o200k,
punctuation may take following `\r`, `\n` and `/` with it).
"""

import re
from collections import OrderedDict
from collections.abc import Iterator
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

# Cutting costs little compared with counting 1-4 kB; smaller pieces would make the cache larger than it is worth.
TARGET = 2_000
# tiktoken's pattern fails (a Rust panic) on about a million spaces, and one word of a megabyte takes seconds.
LONGEST = 32_000
# About 190 bytes per entry: 12 MB for 130 MB of text, several times the largest sessions seen.
CACHE_ENTRIES = 65_536

_SAFE_CUT = re.compile(r"\n(?=[^\s/])")


def cut(text: str) -> Iterator[str]:
    """Yields consecutive pieces of a text, each at most `LONGEST` characters (128 kB as UTF-8).

    The tokens of the pieces sum to those of the whole text, except where `LONGEST` characters hold no safe newline: a
    cut there may change the sum by one token. Appending to a text leaves all pieces but the last unchanged.
    """
    start = 0
    while len(text) - start > TARGET:
        found = _SAFE_CUT.search(text, start + TARGET, start + LONGEST)
        end = found.end() if found else start + LONGEST
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def well_formed(text: str) -> str:
    """Returns the text with lone surrogates replaced by U+FFFD, because no tokenizer's UTF-8 can hold them."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class PieceCache(Generic[T]):
    """A cache in memory, from the hash of a piece of text to a value. When full it drops the least recently used value.
    It can be used by several threads."""

    def __init__(self, entries: int = CACHE_ENTRIES) -> None:
        self._entries = entries
        self._known: OrderedDict[int, T] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def clear(self) -> None:
        """Removes all values."""
        with self._lock:
            self._known.clear()

    def get(self, key: int) -> T | None:
        """Returns the value of a key, or None if it was never stored or was dropped."""
        known = self._known
        # Without the lock, because it is called for every entry of a page. Another thread may drop the value meanwhile.
        try:
            known.move_to_end(key)
            return known[key]
        except KeyError:
            return None

    def put(self, key: int, value: T) -> None:
        """Stores a value. When the cache is full, the least recently used value is dropped."""
        with self._lock:
            self._known[key] = value
            if len(self._known) > self._entries:
                self._known.popitem(last=False)


def key_of(piece: str, salt: int) -> int:
    """Returns the key of a piece of text in the cache: its hash and its length, so that the cache holds no text. Texts
    are hashed with a secret of the process (SipHash, PEP 456), so no client can make two texts that share a key.
    `salt` is a hash of what the value depends on besides the text."""
    return (hash(piece) ^ salt) + (len(piece) << 64)
