"""What a pure function makes of texts, remembered for the texts it was asked about last."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

# Characters of text: the largest windows hold a million tokens.
ROOM = 4_000_000
# What an entry takes beside its text, in characters.
_ENTRY = 200
# A text of more than this share of the room is not worth what it would push out.
_LARGEST = 0.125


class Remembered(Generic[T]):
    """`read`, each text read once. Two generations of at most `room` characters each: a full one pushes out the one
    before it, and what is asked for again moves to the younger.

    Threads may share it without a lock: nothing is ever taken out of a generation, so the worst that can happen is that
    a text is read twice.
    """

    def __init__(self, read: Callable[[str], T], room: int = ROOM) -> None:
        self._read = read
        self._room = room
        self._used = 0
        self._young: dict[str, T] = {}
        self._old: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        """What `read` says of the text."""
        young, old = self._young, self._old
        if text in young:
            return young[text]
        known = old[text] if text in old else self._read(text)
        if len(text) <= self._room * _LARGEST:
            self._keep(text, known)
        return known

    def _keep(self, text: str, known: T) -> None:
        size = len(text) + _ENTRY
        if self._used + size > self._room:
            self._young, self._old, self._used = {}, self._young, 0
        self._young[text] = known
        self._used += size
