"""What an edit of a text takes out and puts in, whatever else the text says."""

import difflib
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate


def edit_pieces(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """Returns the pieces that an edit takes out and those that it puts in their places, in their order.

    The same edit of a text that says something else elsewhere has the same pieces, also if the line before it is
    another one: of a line that gets a comma, only the comma is a piece.
    """
    return tuple(_piece(old, new, rest) for old, new, rest in _changed_lines(before, after))


def _changed_lines(before: str, after: str) -> Iterator[tuple[str, str, str]]:
    """Yields the lines that differ, before and after, and what follows them in both texts."""
    # Only what lies between the first and the last change is compared: such a file may have some megabytes.
    start = before.rfind("\n", 0, _shared(before, after)) + 1
    old, new = before[start:], after[start:]
    same = _shared(old[::-1], new[::-1])
    # The end that both have begins where a line begins.
    line = old.find("\n", len(old) - same)
    rest = len(old) - line - 1 if same and line >= 0 else 0
    olds, news = old[: len(old) - rest].splitlines(keepends=True), new[: len(new) - rest].splitlines(keepends=True)
    places = [*accumulate(map(len, olds), initial=0)]
    for kind, first, stop, new_first, new_stop in difflib.SequenceMatcher(None, olds, news).get_opcodes():
        if kind != "equal":
            yield "".join(olds[first:stop]), "".join(news[new_first:new_stop]), old[places[stop] :]


def _piece(old: str, new: str, rest: str) -> tuple[str, str]:
    start = _shared(old, new)
    old, new = old[start:], new[start:]
    end = _shared(old[::-1], new[::-1])
    old, new, rest = old[: len(old) - end], new[: len(new) - end], old[len(old) - end :] + rest
    # What is only put in may begin at several places: `[1]` becomes `[1, 1]` by `1, ` or by `, 1`. It is taken as if it
    # began at the last of them, which does not depend on what is before it.
    if not old:
        return "", _at_last_place(new, rest)
    return (_at_last_place(old, rest), "") if not new else (old, new)


def _at_last_place(piece: str, rest: str) -> str:
    at = _shared(rest, piece + rest)
    return (piece + rest)[at : at + len(piece)]


def _shared(one: str, other: str) -> int:
    """Returns how many characters two texts have in common at their beginnings."""
    most = min(len(one), len(other))
    return bisect_left(range(most), True, key=lambda length: one[: length + 1] != other[: length + 1])
