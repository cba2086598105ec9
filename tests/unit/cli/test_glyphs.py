"""The characters that are drawn on a terminal."""

import pytest

from ullage.cli.draw.text import ASCII, UNICODE, Glyphs, choose_glyphs, clean


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", None, "no-such-encoding"])
def test_encoding_without_the_characters_gets_ascii(encoding: str | None) -> None:
    assert choose_glyphs(encoding, {}) is ASCII


def test_utf8_gets_unicode_unless_asked_otherwise() -> None:
    assert choose_glyphs("utf-8", {}) is UNICODE
    assert choose_glyphs("utf-8", {}, ascii_only=True) is ASCII
    assert choose_glyphs("utf-8", {"TERM": "dumb"}) is ASCII


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LC_ALL": "C", "LANG": "en_GB.UTF-8"}, ASCII),
        ({"LANG": "POSIX"}, ASCII),
        ({"LC_ALL": "", "LC_CTYPE": "C.UTF-8", "LANG": "C"}, UNICODE),
        ({"LC_ALL": "C.UTF-8"}, UNICODE),
    ],
)
def test_the_c_locale_gets_ascii_although_python_prints_utf8_in_it(
    environment: dict[str, str], expected: Glyphs
) -> None:
    assert choose_glyphs("utf-8", environment) is expected


@pytest.mark.parametrize(
    "text",
    [
        "Kept \x1b[1mOpus\x1b[22m",
        "Kept \x1b[38;5;208mOpus\x1b[0m",
        "Kept \x1b]8;;https://example.org\x1b\\Opus\x1b]8;;\x1b\\",
        "Kept \x1b]0;a title\x07Opus",
        "Kept \x9b31mOpus",
        "Kept \x1b(BOpus",
    ],
)
def test_escape_sequences_leave_nothing_behind(text: str) -> None:
    assert clean(text, UNICODE) == "Kept Opus"
