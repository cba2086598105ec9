"""Tokens of pictures and PDF documents, by the formulas that the providers publish. Sizes in pixels.

OpenAI: "Images and vision" guide (tiles of 512 px, patches of 32 px). Anthropic: "Vision" guide (patches of 28 px).
Google: "Understand and count tokens" (258 per 768-px tile for 2.x) and measured sizes for 3.x.

A size is the one that the sender gives, or is read from the head of the data (PNG, GIF, JPEG, WebP). The package
imagesize (2.0.1) does the same with faults: it gives a GIF wider than 32,767 pixels a negative size, a WebP with
scaling bits a width of 17,024 instead of 640 pixels, and no size for a head that ends right after the size. It takes
four to six times as long (8 against 1.5 microseconds) and imports an HTTP client.

A document has as many tokens as its pages. Anthropic: text and a picture of each page, together 1,500 to 3,000 tokens
("PDF support"). OpenAI: text and a picture of each page ("File inputs"). Google: 258 tokens for a page ("Document
understanding"), 560 with Gemini 3 ("Media resolution"). How much text a page has is not read here, so the figure is an
estimate.
"""

import binascii
import re
import zlib
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from functools import cache
from math import ceil

from ullage.model.message import ImageBlock
from ullage.tokens.families import ImageRule

# Assumed for a picture whose size is not given (a URL, an unknown format): the order of magnitude of a screenshot.
ASSUMED_SIZE = (1024, 1024)

# base and per tile of the tile models
_TILES = {
    ImageRule.OPENAI_TILES: (85, 170),
    ImageRule.OPENAI_TILES_MINI: (2833, 5667),
    ImageRule.OPENAI_TILES_GPT5: (70, 140),
    ImageRule.OPENAI_TILES_O: (75, 150),
}
# tokens per patch and most patches at high detail
_PATCHES = {ImageRule.OPENAI_PATCHES: (1.2, 2_500), ImageRule.OPENAI_PATCHES_MINI: (1.62, 6_144)}
# longest edge and most tokens
_CLAUDE = {ImageRule.CLAUDE: (1_568, 1_568), ImageRule.CLAUDE_LARGE: (2_576, 4_784)}
_GEMINI_3 = 1_100


def count_image(image: ImageBlock, rule: ImageRule) -> int:
    """Returns the tokens of one picture by a rule. A picture of unknown size is taken to be `ASSUMED_SIZE`."""
    width, height = size_of(image) or ASSUMED_SIZE
    if rule in _TILES:
        return _count_tiles(width, height, *_TILES[rule])
    if rule in _PATCHES:
        return _count_patches(width, height, *_PATCHES[rule])
    if rule in _CLAUDE:
        return _count_claude(width, height, *_CLAUDE[rule])
    return _count_gemini_tiles(width, height) if rule is ImageRule.GEMINI_TILES else _GEMINI_3


def _count_tiles(width: int, height: int, base: int, per_tile: int) -> int:
    """Counts tiles of 512 px, after scaling to fit 2,048 px and then the short side to at most 768 px."""
    scale = min(1.0, 2048 / max(width, height), 768 / min(width, height))
    return base + per_tile * _grid(width * scale, height * scale, 512)


def _count_patches(width: int, height: int, per_patch: float, most: int) -> int:
    """Returns the tokens of a picture in patches of 32 px. A larger picture counts as `most` patches."""
    return ceil(min(_grid(width, height, 32), most) * per_patch)


def _count_claude(width: int, height: int, longest_edge: int, most: int) -> int:
    """Returns the tokens of a picture in patches of 28 px, one token each, after scaling it down to the longest edge. A
    larger picture counts as `most` tokens."""
    scale = min(1.0, longest_edge / max(width, height))
    return min(_grid(width * scale, height * scale, 28), most)


def _count_gemini_tiles(width: int, height: int) -> int:
    """Returns the tokens of a picture: 258 for one tile if no side exceeds 384 px, else 258 for each tile of 768 px."""
    return 258 if max(width, height) <= 384 else 258 * _grid(width, height, 768)


def _grid(width: float, height: float, cell: int) -> int:
    # Rounded first, so that 1024 x 0.75 does not become a hair more than 768 and one cell too many.
    return ceil(round(width, 6) / cell) * ceil(round(height, 6) / cell)


# Characters of base64 decoded: JPEG's size may come after a large EXIF thumbnail, the others' is in the first 30 bytes.
_HEAD = 96 * 1024
_SOF_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}

Size = tuple[int, int]


def size_of(image: ImageBlock) -> Size | None:
    """Returns the width and height that the sender gives, else those of the data's head, or None."""
    if image.width and image.height:
        return image.width, image.height
    if not image.data:
        return None
    try:
        size = _size_in(b64decode(image.data[:_HEAD]))
    except (binascii.Error, ValueError):
        return None
    return size if size and min(size) > 0 else None


def _size_in(head: bytes) -> Size | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return _pair(head[16:24], 4, "big")
    if head.startswith((b"GIF87a", b"GIF89a")):
        return _pair(head[6:10], 2, "little")
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp_size(head)
    return None


def _pair(data: bytes, width: int, order: str) -> Size | None:
    if len(data) < 2 * width:
        return None
    if order == "big":
        return int.from_bytes(data[:width], "big"), int.from_bytes(data[width:], "big")
    return int.from_bytes(data[:width], "little"), int.from_bytes(data[width:], "little")


def _jpeg_size(head: bytes) -> Size | None:
    """Returns the width and height of a JPEG from the beginning of its data: goes through the segments to the frame
    header, which holds the height before the width. Returns None if `head` ends before that."""
    at = 2
    while at + 9 <= len(head) and head[at] == 0xFF:
        if head[at + 1] in _SOF_MARKERS:
            size = _pair(head[at + 5 : at + 9], 2, "big")
            return (size[1], size[0]) if size else None
        at += 2 + int.from_bytes(head[at + 2 : at + 4], "big")
    return None


def _webp_size(head: bytes) -> Size | None:
    kind = head[12:16]
    if kind == b"VP8X" and len(head) >= 30:
        return 1 + int.from_bytes(head[24:27], "little"), 1 + int.from_bytes(head[27:30], "little")
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    size = _pair(head[26:30], 2, "little")
    return (size[0] & 0x3FFF, size[1] & 0x3FFF) if kind == b"VP8 " and size else None


# A page in A4 or Letter as a picture; with the text, one page counts 2,168 or 2,376 tokens for Claude.
_PAGE = ImageBlock(width=1_024, height=1_325)
# A page of prose has 500 to 700 tokens.
_PAGE_TEXT = 600
_GEMINI = {ImageRule.GEMINI_TILES: 258, ImageRule.GEMINI: 560}
# Assumed of a document whose pages cannot be found, because it is encrypted or damaged.
_BYTES_OF_PAGE = 100_000
# A page's object; `/Type /Pages` is a node above pages.
_PAGE_OBJECT = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
# A compressed stream of objects, which since PDF 1.5 may be pages.
_OBJECT_STREAM = re.compile(rb"/Type\s*/ObjStm\b[^\0]{0,400}?>>\s*stream\r?\n", re.DOTALL)
# A document with more or larger streams of objects is read up to here, so that a small file cannot cost much.
_MOST_STREAMS, _MOST_INFLATED = 5_000, 1 << 20


@cache
def count_page(rule: ImageRule) -> int:
    """Returns the tokens of one page for models that count pictures by this rule."""
    return _GEMINI.get(rule) or _PAGE_TEXT + count_image(_PAGE, rule)


def count_pages(data: str) -> int:
    """Returns the pages of a PDF in base64, at least 1. An earlier version of a page, which an edited document may
    still contain, counts as well."""
    try:
        document = b64decode(data)
    except (Error, ValueError):
        document = b""
    pages = sum(len(_PAGE_OBJECT.findall(part)) for part in (document, *_object_streams(document)))
    return pages or ceil(max(1, len(document)) / _BYTES_OF_PAGE)


def _object_streams(document: bytes) -> Iterator[bytes]:
    for number, found in enumerate(_OBJECT_STREAM.finditer(document)):
        if number == _MOST_STREAMS:
            return
        try:
            yield zlib.decompressobj().decompress(document[found.end() : found.end() + _MOST_INFLATED], _MOST_INFLATED)
        except zlib.error:
            # Encrypted, or compressed in another way.
            continue
