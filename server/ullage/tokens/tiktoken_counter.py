"""The exact counter for OpenAI's encodings, and the base of estimates for tokenizers that are not public."""

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from ullage.tokens.families import Family
from ullage.tokens.kinds import KindRatios, TextKind, kind_of
from ullage.tokens.message_counter import MessageCounter
from ullage.tokens.pieces import PieceCache, cut, key_of, well_formed
from ullage.tokens.vocabulary import load_encoding

if TYPE_CHECKING:
    from tiktoken import Encoding


class PieceCount(NamedTuple):
    """The cached facts about a piece."""

    tokens: int
    kind: TextKind


# One cache for all counters: the keys include the encoding.
_cache: PieceCache[PieceCount] = PieceCache()


def forget_pieces() -> None:
    """Empties the cache, so that a measurement starts like a new process."""
    _cache.clear()


class TiktokenCounter(MessageCounter):
    """Counts with a packed vocabulary. Counts are exact for OpenAI's models, and scaled by kind of text for other
    families.

    Raises `OSError`, `lzma.LZMAError` or `ImportError` when the vocabulary cannot be loaded. Text with more than 32,000
    characters and no safe newline is cut, which may change the count by one token per cut.
    """

    def __init__(self, family: Family) -> None:
        super().__init__(family)
        self._encoding = load_encoding(family.encoding)
        self._salt = self._encoding.name.encode()

    @property
    def name(self) -> str:
        """The encoding and the typical ratio by which it is scaled: `o200k_base`, `o200k_base×1.18`."""
        ratios = self.family.ratios
        return self._encoding.name if ratios == KindRatios() else f"{self._encoding.name}×{ratios.typical:.2f}"

    @property
    def error_share(self) -> float:
        """The family's mean error; 0.0 if the encoding is the model's own."""
        return self.family.error_share

    def count(self, text: str) -> int:
        """Returns the tokens of a text. Special tokens written out in the text count as ordinary text."""
        try:
            text.encode()
        except UnicodeEncodeError:
            text = well_formed(text)
        ratios = self.family.ratios
        return ceil(sum(piece.tokens * ratios[piece.kind] for piece in map(self._count_piece, cut(text))) - 1e-6)

    def _count_piece(self, piece: str) -> PieceCount:
        data = piece.encode()
        key = key_of(self._salt + data)
        known = _cache.get(key)
        if known is None:
            known = PieceCount(count_piece(self._encoding, piece), kind_of(data))
            _cache.put(key, known)
        return known


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
