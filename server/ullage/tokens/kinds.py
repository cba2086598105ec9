"""Kinds of text for which tokenizers differ, recognised by the shares of their bytes."""

from enum import IntEnum
from typing import NamedTuple


class TextKind(IntEnum):
    """The main kind of a piece of text. `OUTPUT` is logs, JSON and numbered code, with many signs and digits;
    `LISTING` is the output of `ls -l`."""

    PROSE = 0
    CODE = 1
    OUTPUT = 2
    CJK = 3
    LISTING = 4


class KindRatios(NamedTuple):
    """A tokenizer's tokens per token of the local encoding, by kind of text."""

    prose: float = 1.0
    code: float = 1.0
    output: float = 1.0
    cjk: float = 1.0
    listing: float = 1.0

    @property
    def typical(self) -> float:
        """The mean over the kinds that an agent's context consists of."""
        return (self.prose + self.code + self.output) / 3


_LETTERS_AND_SPACES = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
# Lead bytes of U+3000..U+9FFF and of Hangul U+A000..U+DFFF in UTF-8.
_CJK_LEAD = bytes(range(0xE3, 0xEE))


def kind_of(piece: bytes) -> TextKind:
    """Returns the kind of a piece of UTF-8 text.

    Thresholds: signs and digits make 13-18 % of Python files (the middle half) and 6-9 % of English prose. Output has
    more than 6 % digits, a listing as many dashes (its permissions), and a tenth of CJK text's bytes are lead bytes.
    """
    if not piece:
        return TextKind.PROSE
    if not piece.isascii() and _share(piece, _CJK_LEAD) > 0.1:
        return TextKind.CJK
    signs = len(piece.translate(None, _LETTERS_AND_SPACES)) / len(piece)
    if signs < 0.09:
        return TextKind.PROSE
    if _share(piece, _DIGITS) <= 0.06:
        return TextKind.CODE
    return TextKind.LISTING if _share(piece, b"-") > 0.06 else TextKind.OUTPUT


def _share(piece: bytes, of: bytes) -> float:
    return 1 - len(piece.translate(None, of)) / len(piece)
