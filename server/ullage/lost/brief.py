"""The complement brief: what a compaction left out, in as much room as an agent has for it.

Everything that comes from the conversation is quoted line by line, with the number of its message. The same losses and
room give the same brief.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from ullage.lost.loss import ORDER, Loss, noun_of
from ullage.model.message import number_of
from ullage.redaction.quoting import QUOTE, RECORD

# The most characters that Claude Code takes from a hook; other agents take as much.
LONGEST = 10_000
HEAD = f"What the summary of the last compaction leaves out. {RECORD} #N is the message that a line comes from."
_HEADINGS = dict(
    zip(
        ORDER,
        (
            "The user's own words on what must be and what must not be",
            "What failed, and what became of it",
            "What was decided or found",
            "Files, with what was last done to them",
            "Commands that ran",
            "Figures",
            "Names, with the text around them",
        ),
        strict=True,
    )
)
# Shares of the room that the first kinds may take before all others compete for the rest: rules and failures are worth
# more than they seem by their names, and may still not fill the brief.
_SHARES = (0.3, 0.2)
# If so many losses in a row have no room, hardly any will.
_PATIENCE = 60


class Brief(Struct, frozen=True, kw_only=True):
    """A brief: its text, empty if not one loss has room, and the losses in it."""

    text: str
    given: tuple[Loss, ...]


def characters(text: str) -> int:
    """Returns the length of a text as agents limit it: in UTF-16 units, since they run on JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def write_brief(losses: Sequence[Loss], room: int, size: Callable[[str], int] = characters) -> Brief:
    """Returns a brief of the losses that weigh most for their length, of at most `room` by `size`."""
    chosen = _Chosen(room - size(HEAD) - size(_rest(losses)), size)
    for kind, share in zip(ORDER, _SHARES, strict=False):
        chosen.fill([loss for loss in losses if loss.kind is kind], int(room * share))
    chosen.fill(losses, room)
    given = chosen.losses
    while given:
        text = _text(given, [loss for loss in losses if loss not in given])
        # The size of a whole may differ from the sum of its parts' sizes.
        if size(text) <= room:
            return Brief(text=text, given=tuple(given))
        given.pop()
    return Brief(text="", given=())


class _Chosen:
    """The losses chosen so far. A name counts only once."""

    def __init__(self, room: int, size: Callable[[str], int]) -> None:
        self.losses: list[Loss] = []
        self._room = room
        self._size = size
        self._names = set[str]()
        self._kinds = set[object]()

    def fill(self, losses: Sequence[Loss], share: int) -> None:
        """Adds the losses that weigh most for their length, which may take `share` of the room."""
        floor = max(0, self._room - share)
        heap = [(-self._density(loss), place) for place, loss in enumerate(losses) if loss not in self.losses]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < _PATIENCE:
            before, place = heapq.heappop(heap)
            now = -self._density(losses[place])
            if heap and now > before and now > heap[0][0]:
                heapq.heappush(heap, (now, place))
            elif now < 0:
                misses = 0 if self._add(losses[place], floor) else misses + 1

    def _add(self, loss: Loss, floor: int) -> bool:
        cost = self._size(f"{_line(loss)}\n")
        cost += 0 if loss.kind in self._kinds else self._size(f"\n\n{_HEADINGS[loss.kind]}:\n")
        if self._room - cost < floor:
            return False
        self._room -= cost
        self.losses.append(loss)
        self._names.update(loss.names)
        self._kinds.add(loss.kind)
        return True

    def _density(self, loss: Loss) -> float:
        """Returns a loss's weight per character, less by the share of its names that are there already."""
        missing = sum(name not in self._names for name in loss.names)
        return loss.weight * (1 + missing) / (1 + len(loss.names)) / len(_line(loss))


def _text(given: Sequence[Loss], others: Sequence[Loss]) -> str:
    return "\n\n".join(part for part in (HEAD, *_sections(given), _rest(others)) if part)


def _sections(given: Sequence[Loss]) -> Iterator[str]:
    """Yields the text of each kind, in the order of the conversation."""
    for kind in ORDER:
        losses = sorted((loss for loss in given if loss.kind is kind), key=lambda loss: (loss.index, loss.text))
        if losses:
            yield "\n".join([f"{_HEADINGS[kind]}:", *map(_line, losses)])


def _line(loss: Loss) -> str:
    detail = f" ({loss.detail})" if loss.detail else ""
    return f"{QUOTE}#{number_of(loss.index)} {loss.text}{detail}"


def _rest(others: Iterable[Loss]) -> str:
    """Returns a line with what has no room here; empty if there is nothing."""
    counts = Counter(loss.kind for loss in others)
    told = ", ".join(noun_of(kind, counts[kind]) for kind in ORDER if counts[kind])
    return f"Not given here: {told}." if told else ""
