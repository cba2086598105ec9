"""The characters that are drawn on a terminal."""

import pytest

from ullage.cli.draw.glyphs import ASCII, UNICODE, choose_glyphs


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", None, "no-such-encoding"])
def test_encoding_without_the_characters_gets_ascii(encoding: str | None) -> None:
    assert choose_glyphs(encoding, {}) is ASCII


def test_utf8_gets_unicode_unless_asked_otherwise() -> None:
    assert choose_glyphs("utf-8", {}) is UNICODE
    assert choose_glyphs("utf-8", {}, ascii_only=True) is ASCII
    assert choose_glyphs("utf-8", {"TERM": "dumb"}) is ASCII
