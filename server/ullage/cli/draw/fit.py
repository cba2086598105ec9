"""Text from anywhere, made to take a known number of terminal cells."""

import unicodedata

from rich.cells import cell_len, set_cell_size

from ullage.cli.draw.glyphs import Glyphs

# Characters whose width terminals do not agree on, or that move what stands beside them: controls, zero-width
# joiners and direction marks (Cf), lone surrogates, private use, unassigned; and what only modifies an emoji.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MODIFIERS = {*map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0x1F3FB, 0x1F400)), "\u20e3"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
# Keeps a terminal that reorders right-to-left text from reordering the line around it (Unicode UAX 9, isolates).
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def clean(text: str, glyphs: Glyphs) -> str:
    """One line of it, without characters of uncertain width; only ASCII where the glyphs are."""
    kept = "".join(map(_safe, text))
    return kept.encode("ascii", "replace").decode() if glyphs.ascii else kept


def fit(text: str, width: int, glyphs: Glyphs, *, right: bool = False) -> str:
    """The text in exactly `width` cells: padded (on the left with `right`), or cut with an ellipsis."""
    text = clean(text, glyphs)
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)).rstrip() + glyphs.ellipsis if width > 0 else ""
    padding = " " * (width - cell_len(text))
    text = _isolated(text)
    return padding + text if right else text + padding


def _safe(character: str) -> str:
    if character.isspace():
        return " "
    if character in _MODIFIERS:
        return ""
    category = unicodedata.category(character)
    if category in _UNSAFE:
        return "" if category in {"Cf", "Cc"} else "?"
    return character


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{_ISOLATE}{text}{_END_ISOLATE}"
    return text
