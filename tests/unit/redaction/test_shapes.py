"""Tokens of every known issuer are redacted by their shape. The tokens are made here, so the repository has none."""

import random
import re
import string

import pytest

from ullage.redaction import REDACTED
from ullage.redaction.issuers import ISSUED
from ullage.redaction.redact_secrets import cut, redact_shapes

CHARS = string.ascii_letters + string.digits + "-_.+/=~"
each_shape = pytest.mark.parametrize("shape", ISSUED, ids=lambda shape: shape[0])
Shape = tuple[str, str, int, int]


def token(shape: Shape, length: int) -> str:
    """Returns a token of the shape with so many characters after its prefix, the same in each run."""
    prefix, chars, _, _ = shape
    alphabet = re.findall(f"[{chars}]", CHARS)
    # Neither end is a separator, which would belong to the text around the token.
    ends = [char for char in alphabet if char.isalnum()]
    drawn = random.Random(prefix)
    inner = "".join(drawn.choice(alphabet) for _ in range(length - 2))
    return prefix + drawn.choice(ends) + inner + drawn.choice(ends)


@each_shape
@pytest.mark.parametrize("around", ["Use {} now.", "key: '{}'", "x={}", '{{"note": "\\n{}\\n"}}'])
def test_shortest_and_longest_token_are_redacted(shape: Shape, around: str) -> None:
    for length in shape[2:]:
        assert redact_shapes(around.format(token(shape, length))) == around.format(REDACTED)


@pytest.mark.parametrize("shape", [shape for shape in ISSUED if len(shape[0]) < 12], ids=lambda shape: shape[0])
def test_prefix_with_a_plain_word_stays(shape: Shape) -> None:
    text = f"Names begin with {shape[0]} here, as in {shape[0]}name."
    assert redact_shapes(text) == text


@each_shape
def test_prefix_inside_a_word_begins_no_token(shape: Shape) -> None:
    text = "9" + token(shape, shape[2])
    assert redact_shapes(text) == text


def test_token_that_grew_longer_or_was_cut_off_is_redacted() -> None:
    shape = next(shape for shape in ISSUED if shape[0] == "ghp_")
    for length in (20, 90):
        assert redact_shapes(f"Use {token(shape, length)} now.") == f"Use {REDACTED} now."


def test_token_that_a_terminal_has_wrapped_is_redacted_whole() -> None:
    shape = next(shape for shape in ISSUED if shape[0] == "ghp_")
    whole = token(shape, 36)
    assert redact_shapes(f"Use {whole[:24]}\n  {whole[24:]} now.") == f"Use {REDACTED} now."


@pytest.mark.parametrize(
    ("spans", "left"),
    [
        ([(3, 9), (0, 5)], f"{REDACTED}9"),
        ([(0, 9), (2, 4)], f"{REDACTED}9"),
        ([(1, 3), (1, 4), (6, 8)], f"0{REDACTED}45{REDACTED}89"),
        ([(0, 5), (5, 9)], f"{REDACTED}{REDACTED}9"),
        ([], "0123456789"),
    ],
)
def test_nothing_of_overlapping_secrets_stays(spans: list[tuple[int, int]], left: str) -> None:
    assert cut("0123456789", spans) == left
