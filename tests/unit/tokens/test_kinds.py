"""Kinds of text, for which tokenizers differ."""

import pytest

from ullage.tokens.counter import get_counter
from ullage.tokens.families import TextKind, kind_of

DOTS = "\x1b[32m.\x1b[0m" * 60 + "\x1b[32m [ 16%]\n\x1b[0m"
WARNINGS = "\x1b[0m\x1b[1m\x1b[33mwarning\x1b[0m\x1b[0m\x1b[1m: unused variable: `row`\x1b[0m\n" * 20


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", TextKind.PROSE),
        ("The pilot boards off the bell, and no sooner than the ebb has begun to run.", TextKind.PROSE),
        ("def area(self) -> float:\n    return self.width * self.height\n", TextKind.CODE),
        ('{"id": 4711, "at": "2026-11-22T01:02:03Z", "used": 93210}\n' * 5, TextKind.OUTPUT),
        ("-rw-r--r--  1 root root  4096 Jan  1 00:00 setup-all.cfg\n" * 5, TextKind.LISTING),
        ("引き潮が始まるまで水先人は乗りません。", TextKind.CJK),
        (DOTS, TextKind.COLOURED),
        (WARNINGS, TextKind.COLOURED),
        # A single coloured word does not make a log coloured output.
        ("\x1b[31merror\x1b[0m" + " the file is missing" * 20, TextKind.PROSE),
    ],
)
def test_a_text_has_a_kind(text: str, kind: TextKind) -> None:
    assert kind_of(text.encode()) is kind


def test_escape_codes_cost_gemini_no_more_than_openai() -> None:
    # Gemma's vocabulary, which is public: 0.89 tokens for a coloured dot's token of o200k, 0.90 for a compiler's line.
    exact = get_counter("gpt-4o")
    for text in (DOTS, WARNINGS):
        assert get_counter("gemini-2.5-pro").count(text) == pytest.approx(0.98 * exact.count(text), abs=1)
