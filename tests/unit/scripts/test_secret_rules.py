"""A scanner's rule is read as prefixes, alphabets and lengths, or refused."""

import string

import pytest

from gen_secret_shapes import NoShape, Shape, merged, shapes_of

DIGITS, LOWER, LETTERS = string.digits, string.ascii_lowercase, string.ascii_uppercase + string.ascii_lowercase
END = r"""(?:[\x60'"\s;]|\\[nr]|$)"""


@pytest.mark.parametrize(
    ("rule", "shapes"),
    [
        (r"abc_[0-9]{12}", [Shape("abc_", DIGITS, 12, 12)]),
        (rf"\b(abc_[a-z]{{10,20}}){END}", [Shape("abc_", LOWER, 10, 20)]),
        (r"(?i)abc_[a-z]{10}", [Shape("abc_", LETTERS, 10, 10)]),
        (r"abc_(?i:[a-z]{10})", [Shape("abc_", LETTERS, 10, 10)]),
        (r"(?:abc|abd)_\d{10}", [Shape("abc_", DIGITS, 10, 10), Shape("abd_", DIGITS, 10, 10)]),
        (r"abc[de]_\d{10}", [Shape("abcd_", DIGITS, 10, 10), Shape("abce_", DIGITS, 10, 10)]),
        (r"abc_\d{10}-?", [Shape("abc_", "-" + DIGITS, 10, 11)]),
        (r"abc_\d{10,}", [Shape("abc_", DIGITS, 10, 400)]),
        (r"abc_(?:\d{5}|[a-z]{6}){2}", [Shape("abc_", DIGITS + LOWER, 10, 12)]),
        (r"ab\.\d{10}|x\d{10}", [Shape("ab.", DIGITS, 10, 10)]),
    ],
)
def test_rule_gives_its_shapes(rule: str, shapes: list[Shape]) -> None:
    assert shapes_of(rule) == shapes


@pytest.mark.parametrize(
    "rule", [r"[a-f0-9]{40}", r"abc_[a-z]{4}", r"abc_.{20}", r"abc_[\s\S]{20}", r"key\s*=\s*([a-z0-9]{20})", "abc_("]
)
def test_rule_without_a_shape_is_refused(rule: str) -> None:
    with pytest.raises(NoShape):
        shapes_of(rule)


def test_shapes_of_one_prefix_become_one() -> None:
    two = [Shape("ab-", "01", 10, 12), Shape("ab-", "12", 20, 20)]
    assert merged(two) == [Shape("ab-", "012", 10, 20)]
