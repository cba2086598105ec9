"""Tokens of images. Expected figures are the providers' own examples if they give some."""

import struct
from base64 import b64encode

import pytest

from ullage.model.message import ImageBlock
from ullage.tokens.families import ImageRule
from ullage.tokens.images import count_image, size_of


@pytest.mark.parametrize(
    ("rule", "width", "height", "tokens"),
    [
        (ImageRule.OPENAI_TILES, 1024, 1024, 765),
        (ImageRule.OPENAI_TILES, 2048, 4096, 1105),
        (ImageRule.OPENAI_TILES_MINI, 512, 512, 8_500),
        (ImageRule.OPENAI_TILES_GPT5, 1024, 1024, 630),
        (ImageRule.OPENAI_TILES_O, 512, 512, 225),
        (ImageRule.OPENAI_PATCHES, 1024, 1024, 1_229),
        (ImageRule.OPENAI_PATCHES, 1920, 1080, 2_448),
        (ImageRule.OPENAI_PATCHES, 8000, 8000, 3_000),
        (ImageRule.OPENAI_PATCHES_MINI, 1024, 1024, 1_659),
        (ImageRule.CLAUDE, 512, 512, 361),
        (ImageRule.CLAUDE, 1024, 1024, 1_369),
        (ImageRule.CLAUDE, 4000, 4000, 1_568),
        (ImageRule.CLAUDE_LARGE, 4000, 4000, 4_784),
        (ImageRule.GEMINI, 1024, 1024, 1_100),
        (ImageRule.GEMINI_TILES, 384, 384, 258),
        (ImageRule.GEMINI_TILES, 1024, 768, 516),
    ],
)
def test_picture_counts(rule: ImageRule, width: int, height: int, tokens: int) -> None:
    assert count_image(ImageBlock(width=width, height=height), rule) == tokens


def test_every_rule_counts_a_picture_of_unknown_size() -> None:
    assert all(count_image(ImageBlock(url="https://example.org/a.png"), rule) > 0 for rule in ImageRule)


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480),
        b"GIF89a" + struct.pack("<HH", 640, 480),
        b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08" + struct.pack(">HH", 480, 640),
        b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little"),
        b"RIFF\0\0\0\0WEBPVP8L" + b"\0" * 5 + (639 | 479 << 14).to_bytes(4, "little"),
        b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640, 480),
    ],
    ids=["png", "gif", "jpeg", "webp extended", "webp lossless", "webp"],
)
def test_size_is_read_from_the_head_of_the_data(head: bytes) -> None:
    assert size_of(ImageBlock(data=b64encode(head).decode())) == (640, 480)


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (b"GIF89a" + struct.pack("<HH", 40_000, 480), (40_000, 480)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 640 | 1 << 14, 480 | 1 << 14), (640, 480)),
    ],
    ids=["wide gif", "webp with scaling bits"],
)
def test_a_size_is_read_from_all_its_bits_and_no_others(head: bytes, size: tuple[int, int]) -> None:
    assert size_of(ImageBlock(data=b64encode(head).decode())) == size


@pytest.mark.parametrize("data", ["", "not base64!", "AAAA", b64encode(b"\x89PNG\r\n\x1a\n").decode(), "é"])
def test_unreadable_data_has_no_size(data: str) -> None:
    assert size_of(ImageBlock(data=data)) is None
