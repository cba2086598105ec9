"""The complement brief: what a compaction left out, in as much room as an agent has for it.

The losses that weigh most for their length are chosen. The same losses and room give the same brief.
"""

import heapq
from collections.abc import Callable, Sequence

from msgspec import Struct

from ullage.lost.loss import ORDER, Loss
from ullage.lost.quotation import frames_of, told_rest, write_loss, write_losses
from ullage.redaction.quoting import RECORD
from ullage.survive.fact import Kind

# The most characters that Claude Code takes from a hook; other agents take as much.
LONGEST = 10_000
HEAD = f"What the summary of the last compaction leaves out. {RECORD} #N is the message that a line comes from."
# Shares of the room that the first kinds may take before all others compete for the rest: rules and failures are worth
# more than they seem by their names, and may still not fill the brief.
_SHARES = (0.3, 0.2)
# What the text of a loss of names is worth besides its names, in names.
_WITHOUT_NAMES = 0.05
# If so many losses in a row have no room, hardly any will.
_PATIENCE = 60
# Passages that share a frame take less room than was reserved for each. After so many fillings hardly any is left.
_REFILLS = 4


class Brief(Struct, frozen=True, kw_only=True):
    """A brief: its text, empty if not one loss has room, and the losses in it."""

    text: str
    given: tuple[Loss, ...]


def characters(text: str) -> int:
    """Returns the length of a text as agents limit it: in UTF-16 units, since they run on JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def write_brief(losses: Sequence[Loss], room: int, size: Callable[[str], int] = characters) -> Brief:
    """Returns a brief of the losses that weigh most for their length, of at most `room` by `size`."""
    if all(loss.in_short for loss in losses):
        return Brief(text="", given=())
    chosen = _Chosen(room - size(HEAD) - size(told_rest(losses)), size)
    for kind, share in zip(ORDER, _SHARES, strict=False):
        chosen.fill([loss for loss in losses if loss.kind is kind], int(room * share))
    chosen.fill(losses, room)
    # The size of a whole differs from the sum of its parts' sizes: what was reserved in excess is filled as well.
    text = _text(losses, chosen)
    for _ in range(_REFILLS):
        kept = len(chosen.losses)
        if not kept or size(text) > room:
            break
        chosen.set_room(room - size(text))
        chosen.fill(losses, room)
        fuller = _text(losses, chosen)
        while len(chosen.losses) > kept and size(fuller) > room:
            chosen.losses.pop()
            fuller = _text(losses, chosen)
        if len(chosen.losses) == kept:
            break
        text = fuller
    if chosen.losses and size(text) <= room:
        return Brief(text=text, given=tuple(chosen.losses))
    while chosen.losses:
        chosen.losses.pop()
        text = _text(losses, chosen)
        if chosen.losses and size(text) <= room:
            return Brief(text=text, given=tuple(chosen.losses))
    return Brief(text="", given=())


class _Chosen:
    """The losses chosen so far. A name counts only once."""

    def __init__(self, room: int, size: Callable[[str], int]) -> None:
        self.losses: list[Loss] = []
        self._room = room
        self._size = size
        self._names = set[str]()
        self._frames = set[object]()

    def set_room(self, room: int) -> None:
        """Sets how much room there is."""
        self._room = room

    def fill(self, losses: Sequence[Loss], share: int) -> None:
        """Adds the losses that weigh most for their length, which may take `share` of the room."""
        floor = max(0, self._room - share)
        chosen = set(map(id, self.losses))
        heap = [(-self._density(loss), place) for place, loss in enumerate(losses) if id(loss) not in chosen]
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
        frames = [(key, text) for key, text in frames_of(loss) if key not in self._frames]
        cost = self._size(write_loss(loss)) + sum(self._size(text) for _, text in frames)
        if self._room - cost < floor:
            return False
        self._room -= cost
        self.losses.append(loss)
        self._names.update(loss.names)
        self._frames.update(key for key, _ in frames)
        return True

    def _density(self, loss: Loss) -> float:
        """Returns a loss's weight per character, without that of names that are there already. Of a loss of names, too,
        hardly anything is left then."""
        if loss.name_weights:
            named = sum(loss.name_weights)
            missing = sum(w for name, w in zip(loss.names, loss.name_weights, strict=True) if name not in self._names)
            worth = loss.weight - named + missing
        else:
            missing = sum(name not in self._names for name in loss.names)
            else_worth = _WITHOUT_NAMES if loss.kind is Kind.NAME else 1
            worth = loss.weight * (else_worth + missing) / (else_worth + len(loss.names))
        frames = sum(len(text) for key, text in frames_of(loss) if key not in self._frames)
        return worth / (len(write_loss(loss)) + frames)


def _text(losses: Sequence[Loss], chosen: _Chosen) -> str:
    given = chosen.losses
    known = set(map(id, given))
    rest = told_rest([loss for loss in losses if id(loss) not in known])
    return "\n\n".join(part for part in (HEAD, *write_losses(given), rest) if part)
