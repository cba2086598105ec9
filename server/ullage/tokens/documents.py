"""Tokens of PDF documents: as many as their pages have.

Anthropic: text and a picture of each page, together 1,500 to 3,000 tokens ("PDF support"). OpenAI: text and a picture
of each page ("File inputs"). Google: 258 tokens for a page ("Document understanding"), 560 with Gemini 3 ("Media
resolution"). How much text a page has is not read here, so the figure is an estimate.
"""

import re
import zlib
from base64 import b64decode
from binascii import Error
from collections.abc import Iterator
from functools import cache
from math import ceil

from ullage.model.blocks import ImageBlock
from ullage.tokens.families import ImageRule
from ullage.tokens.images import count_image

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
