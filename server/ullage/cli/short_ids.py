"""Shortens ids where there is little room."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from ullage.cli.output import Screen
from ullage.service.ports.store import SessionStore

# Columns from which ids are shown whole.
_ROOMY = 160
# The shortest beginning of an id that is shown. A time of an hour is in it.
_LEAST = 8
# More sessions than a store has. All ids are read.
_MOST = 1_000_000


class ShortIds:
    """Shortens session ids for display: called with an id, it returns the whole id on a wide screen, otherwise a
    beginning of it that no other id in the store has."""

    def __init__(self, store: SessionStore, screen: Screen, more: Iterable[str] = ()) -> None:
        """`more` are ids that are shown and not of the store."""
        self._length = shown_length(sorted({*store.find_ids("", _MOST), *more}), screen)

    def __call__(self, session_id: str) -> str:
        return session_id[: self._length]


def shown_length(ids: Sequence[str], screen: Screen) -> int | None:
    """Returns the smallest number of characters, at least 8, in which all ids differ, or None on a wide screen, which
    shows ids whole. `ids` are in alphabetical order, so only neighbours can be alike."""
    if screen.room >= _ROOMY:
        return None
    shared = (_shared(one, other) for one, other in pairwise(ids))
    return max([_LEAST, *(length + 1 for length in shared)])


def _shared(one: str, other: str) -> int:
    """Returns the number of characters at the beginning that both texts have in common."""
    alike = (place for place, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(alike, min(len(one), len(other)))
