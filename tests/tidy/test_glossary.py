"""The glossary has one term per idea, and every package it names exists."""

import re
from collections import Counter

from support.documents import ROOT, table_rows

SOURCE = ROOT / "server" / "ullage"
ROWS = table_rows((ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"), "term")


def replaced_words(cell: str) -> set[str]:
    """The words that a row replaces, without those in parentheses, which are wrong in one sense only."""
    words = (word.strip() for word in cell.split(","))
    return {word for word in words if "(" not in word}


def test_each_term_occurs_once() -> None:
    counted = Counter(row["term"].casefold() for row in ROWS)
    assert ROWS
    assert [term for term, times in counted.items() if times > 1] == []


def test_each_row_is_filled_in() -> None:
    assert [row["term"] for row in ROWS if not all(row.values())] == []


def test_each_package_named_exists() -> None:
    named = {(row["term"], package) for row in ROWS for package in re.findall(r"`([^`]+)`", row["where"])}
    assert len({term for term, _ in named}) == len(ROWS)
    assert {(term, package) for term, package in named if not (SOURCE / package / "__init__.py").is_file()} == set()


def test_no_word_is_both_a_term_and_replaced_by_another_term() -> None:
    terms = {row["term"].casefold() for row in ROWS}
    replaced = {word: row["term"] for row in ROWS for word in replaced_words(row["not"])}
    assert {word: term for word, term in replaced.items() if word.casefold() in terms} == {}
