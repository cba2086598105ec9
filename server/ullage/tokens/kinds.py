"""Kinds of text for which tokenizers differ, recognised by the shares of their bytes."""

from enum import IntEnum
from typing import NamedTuple


class TextKind(IntEnum):
    """The kinds of text for which tokenizers differ. `OUTPUT` is logs, JSON and numbered code, with many signs and
    digits; `LISTING` is the output of `ls -l`, `COLOURED` output with the escape codes of terminals."""

    PROSE = 0
    CODE = 1
    OUTPUT = 2
    CJK = 3
    LISTING = 4
    COLOURED = 5


class KindRatios(NamedTuple):
    """A tokenizer's tokens per token of the encoding that Ullage counts with, by kind of text. 1.0 means equal."""

    prose: float = 1.0
    code: float = 1.0
    output: float = 1.0
    cjk: float = 1.0
    listing: float = 1.0
    coloured: float = 1.0

    @property
    def typical(self) -> float:
        """The mean ratio of prose, code and output, which an agent's context mostly consists of."""
        return (self.prose + self.code + self.output) / 3


_LETTERS_AND_SPACES = b" abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_DIGITS = b"0123456789"
# Lead bytes of U+3000..U+9FFF and of Hangul U+A000..U+DFFF in UTF-8.
_CJK_LEAD = bytes(range(0xE3, 0xEE))


def kind_of(piece: bytes) -> TextKind:
    """Returns the kind of a piece of UTF-8 text, by the share of its bytes in these classes, checked in this order:
    over 3 % escape characters is coloured; over 10 % lead bytes of CJK characters is CJK; under 9 % signs and digits is
    prose; up to 6 % digits is code; over 6 % dashes (of permissions) is a listing; the rest is output.

    Signs and digits make 13-18 % of Python files (the middle half) and 6-9 % of English prose. Coloured output of test
    runners, compilers and git has 6-20 % escape characters, one for each change of colour.
    """
    if not piece:
        return TextKind.PROSE
    if piece.count(b"\x1b") > 0.03 * len(piece):
        return TextKind.COLOURED
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
