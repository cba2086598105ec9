"""Weighs the words and names of a query: the rarer, the more."""

import math
from collections.abc import Mapping

from msgspec import Struct

from ullage.store.search.search_counts import Counts
from ullage.store.search.search_query import Query
from ullage.store.search.search_words import whole_token
from ullage.store.search.word_index import WordIndex

# A whole name counts twice as much as a word; its words count on their own as well.
_NAME_WEIGHT = 2.0
# Rows from which on a beginning is counted as common.
_MOST_COUNTED = 5_000
# The least weight of a word: a word of half of all rows still counts a little.
_MIN_WEIGHT = 1e-6
# Characters of a word's ending that may have been typed after its stem, and the fewest that are left of it.
_LONGEST_ENDING, _SHORTEST = 3, 4


class Term(Struct, frozen=True):
    """A part of a query: an expression of the index that finds its rows, about how many these are, and its weight."""

    expression: str
    rows: int
    weight: float


class Terms(Struct, frozen=True, kw_only=True):
    """The terms of a query: by its stems, its names and its beginnings. `rarest` is the weight of what only one row
    has, and `total` about the number of all rows, at least 1."""

    stems: Mapping[str, Term]
    names: Mapping[str, Term]
    beginnings: Mapping[str, Term]
    rarest: float
    total: int

    def all(self) -> list[Term]:
        """Returns the terms that any row has, the rarest first."""
        every = (*self.stems.values(), *self.names.values(), *self.beginnings.values())
        return sorted((term for term in every if term.rows), key=lambda term: (term.rows, term.expression))


def weigh_terms(connection: WordIndex, query: Query, counts: Counts) -> Terms:
    """Returns the terms of a query with their weights, which are those of BM25."""
    total = connection.rows()
    forms = (form for stem in query.stems for form in (stem, *query.variants.get(stem, ())))
    counts.load((*forms, *map(whole_token, query.names)))
    beginnings = {one: beginning_expression(one) for one in query.beginnings}
    begun = connection.count_matches([*beginnings.values()], _MOST_COUNTED) if beginnings else []

    def weigh(expression: str, rows: int, factor: float = 1.0) -> Term:
        weight = max(math.log((max(total, rows) - rows + 0.5) / (rows + 0.5)), _MIN_WEIGHT)
        return Term(expression, rows, factor * weight)

    def worded(stem: str) -> Term:
        own = counted(stem)
        others = [counted(form) for form in query.variants.get(stem, ())]
        if not others:
            return own
        terms = (own, *others)
        return weigh(" OR ".join(term.expression for term in terms), sum(term.rows for term in terms))

    def counted(token: str, factor: float = 1.0) -> Term:
        return weigh(f'"{token}"', counts.of(token), factor)

    return Terms(
        stems={stem: worded(stem) for stem in query.stems},
        names={name: counted(whole_token(name), _NAME_WEIGHT) for name in query.names},
        beginnings={
            one: weigh(expression, rows) for (one, expression), rows in zip(beginnings.items(), begun, strict=True)
        },
        rarest=weigh("", 1).weight,
        total=max(1, total),
    )


def beginning_expression(beginning: str) -> str:
    """Returns the expression for all words and names with this beginning. It may reach beyond the stem that the index
    has of a word: `annota` is longer than `annot`, the stem of `annotations`."""
    start = whole_token(beginning)[:-1]
    shorter = (start[:-cut] for cut in range(1, _LONGEST_ENDING + 1))
    return " OR ".join((f'"{start}" *', *(f'"{one}"' for one in shorter if one.isalpha() and len(one) >= _SHORTEST)))
