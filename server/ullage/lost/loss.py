"""A loss: one thing that a compaction left out."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.survive.fact import Kind

# The order of the kinds: what a successor must obey first, then what the work has come to, then where
# things are. Names come last because there are most of them.
ORDER = (Kind.CONSTRAINT, Kind.ERROR, Kind.DECISION, Kind.PATH, Kind.COMMAND, Kind.NUMBER, Kind.NAME)


class Under(StrEnum):
    """A heading in a brief for losses of which the kind says too little: the plan's open entries, and work that
    continues by itself."""

    PLAN = "plan"
    BEGUN = "begun"


class Loss(Struct, frozen=True, kw_only=True):
    """One thing that the agent no longer has.

    - `text`: the thing as it was written, cleaned, on one line: a sentence, a path, a failed command and what became of
      it.
    - `detail`: what else is known of it, for example what was done to a file; may be empty.
    - `index`: the message that it was in, the last one if there are several.
    - `names`: the names in it that the agent's context does not have.
    - `name_weights`: the part of the weight that each of them makes up; may be empty, and then they have equal parts.
    - `path`: the whole path, if it is a file; else empty.
    - `in_short`: whether it is a file that the agent's context does name, but not by its whole path. It is not lost; a
      brief has it because the agent's tools want whole paths.
    - `lines`: the lines of code or output, if it is a passage; `text` is then where they were seen. `place` is the file
      or the command, and `first_line` the number of the first line in it, 0 if unknown.
    - `under`: the heading of its own that it has in a brief; None if it has that of its kind.
    - `weight`: how likely it is needed; comparable only between losses.
    """

    kind: Kind
    text: str
    detail: str = ""
    index: int
    names: tuple[str, ...] = ()
    name_weights: tuple[float, ...] = ()
    path: str = ""
    in_short: bool = False
    lines: tuple[str, ...] = ()
    place: str = ""
    first_line: int = 0
    under: Under | None = None
    weight: float


def noun_of(kind: Kind, count: int) -> str:
    """Returns a number of losses of a kind in words: `1 file`, `12 names`."""
    noun = "file" if kind is Kind.PATH else kind.value
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def ranked(losses: Sequence[Loss]) -> tuple[Loss, ...]:
    """Returns the losses by kind, and those of one kind by weight. Of equal weights the later message comes first."""
    place = {kind: number for number, kind in enumerate(ORDER)}
    return tuple(sorted(losses, key=lambda loss: (place[loss.kind], -loss.weight, -loss.index, loss.text)))
