"""A scanner's rule gives texts that it matches."""

import random
import re

import pytest

from gen_secret_shapes import sample


@pytest.mark.parametrize(
    "rule",
    [
        r"abc_[0-9]{12}",
        r"(?:abc|abd)[a-f0-9]{8}-?x+",
        r"\b(abc[A-Z]{4}\.[\w-]{3,9})(?:[\x60'\"\s;]|$)",
        r"[0-9A-Z]{7}(?:-[0-9A-Z]{7}){3}",
    ],
)
def test_a_sample_is_what_the_first_group_matches_or_the_whole_rule(rule: str) -> None:
    text = sample(rule, random.Random(1))
    found = re.search(rule, text)
    assert found is not None
    assert text in (found[0], *found.groups())


def test_flags_of_letter_case_change_no_sample() -> None:
    assert re.fullmatch(r"abc_[a-z]{30}", sample(r"(?i)abc_(?-i:[a-z]{30})", random.Random(1)))


def test_the_same_chance_gives_the_same_sample() -> None:
    assert sample(r"\w{20}", random.Random(2)) == sample(r"\w{20}", random.Random(2))


def test_a_rule_that_is_no_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="abc"):
        sample("abc(", random.Random(1))
