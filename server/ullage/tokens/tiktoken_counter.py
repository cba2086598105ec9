"""The exact counter for OpenAI's encodings, and the base of estimates for tokenizers that are not public."""

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from ullage.tokens.families import Family
from ullage.tokens.kinds import KindRatios, TextKind, kind_of
from ullage.tokens.message_counter import MessageCounter
from ullage.tokens.pieces import TARGET, PieceCache, cut, key_of, well_formed
from ullage.tokens.vocabulary import load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


class PieceCount(NamedTuple):
    """What the cache holds of a piece of text: its tokens in the encoding, unscaled, and its kind."""

    tokens: int
    kind: TextKind


# One cache for all counters: the keys include the encoding.
_cache: PieceCache[PieceCount] = PieceCache()


def forget_pieces() -> None:
    """Empties the cache of counts, so that a measurement starts as in a new process."""
    _cache.clear()


class TiktokenCounter(MessageCounter):
    """Counts with a vocabulary that is packed with Ullage. Counts are exact for OpenAI's models, and scaled by kind of
    text for other families.

    Making one raises `OSError`, `lzma.LZMAError` or `ImportError` if the vocabulary cannot be loaded. A text in which
    32,000 characters hold no safe newline is cut there, which may change the count by one token per cut.
    """

    def __init__(self, family: Family) -> None:
        super().__init__(family)
        self._encoding = load_encoding(family.encoding)
        self._salt = hash(self._encoding.name)
        scaled = "" if family.ratios == KindRatios() else f"×{family.ratios.typical:.2f}"
        self._name = f"{self._encoding.name}{scaled}"

    @property
    def name(self) -> str:
        """The encoding and the typical ratio by which it is scaled: `o200k_base`, `o200k_base×1.18`."""
        return self._name

    @property
    def error_share(self) -> float:
        """The family's mean error as a share of the true count; 0.0 if the encoding is the model's own."""
        return self.family.error_share

    def count(self, text: str) -> int:
        """Returns the tokens of a text. Special tokens written out in the text count as ordinary text."""
        if len(text) <= TARGET:
            tokens = self._count_piece(text) if text else 0.0
        else:
            tokens = sum(map(self._count_piece, cut(text)))
        return ceil(tokens - 1e-6)

    def _count_piece(self, piece: str) -> float:
        """Returns the tokens of a piece, which `cut` would not cut, scaled by its kind."""
        key = key_of(piece, self._salt)
        known = _cache.get(key)
        if known is None:
            try:
                data = piece.encode()
            except UnicodeEncodeError:
                piece = well_formed(piece)
                data = piece.encode()
            known = PieceCount(count_piece(self._encoding, piece), kind_of(data))
            _cache.put(key, known)
        return known.tokens * self.family.ratios[known.kind]


def count_piece(encoding: "Encoding", piece: str) -> int:
    """Returns the tokens of one piece. If tiktoken panics, returns the upper bound: one token per byte."""
    try:
        return len(encoding.encode_ordinary(piece))
    except BaseException as error:
        # PyO3's PanicException cannot be imported and is not an Exception. The known panics need longer pieces than
        # ours.
        if type(error).__name__ != "PanicException":
            raise
        return len(piece.encode())
