"""Conflicts that a merge left in files, which must be resolved before the work can continue."""

import re
from collections.abc import Iterator, Sequence

from ullage.model.artifacts import Outcome
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.choosing.passages import gone_from
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Seen, Source
from ullage.summary.reading.digest import Digest
from ullage.summary.tuning import TUNING, Tuning

_BEGIN, _END = "<<<<<<< ", ">>>>>>> "
_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")
# Lines. A longer region would take the room of all others.
_LONGEST = 120
# What ends a merge, one way or the other.
_ENDS = re.compile(r"\bgit (?:-\S+ \S+ )?(?:commit|reset|(?:merge|rebase|cherry-pick|revert|am) --\w+)\b")


def conflicts_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields, as items, the lines in conflict that tools showed, newest first, of a file only those of the newest text
    that shows any. Conflicts of which a later edit removed a line are left out, and all before a later command that
    ends a merge; so are those that messages show that stay in the context."""
    after = digest.after
    runs = (*digest.runs, *(after.runs if after else ()))
    ended = max(
        (run.index for run in runs if run.outcome is not Outcome.FAILED and _ENDS.search(run.command)), default=-1
    )
    shown = {(seen.group, lines) for seen in (after.seen if after else ()) for _, lines in _regions(seen)}
    newest: dict[str, int] = {}
    for seen in checked(reversed(digest.seen), check, MANY):
        if seen.source is not Source.RESULT or seen.index <= ended:
            continue
        for start, lines in _regions(seen):
            if newest.setdefault(seen.group, seen.index) != seen.index or (seen.group, lines) in shown:
                continue
            gone = gone_from(digest, seen.group, seen.index)
            said = "\n".join(line for line in lines if not line.startswith(_MARKS))
            if gone is not None and not gone.is_in(said):
                yield _item(seen, start, lines, tuning)


def _regions(seen: Seen) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yields each region in conflict of a text: the place of its first line, and its lines."""
    lines: Sequence[str] = seen.lines.listing.lines
    begun = -1
    for place, line in enumerate(lines):
        if line.startswith(_BEGIN):
            begun = place
        elif line.startswith(_END) and begun >= 0:
            if place - begun < _LONGEST:
                yield begun, tuple(lines[begun : place + 1])
            begun = -1


def _item(seen: Seen, start: int, lines: Sequence[str], tuning: Tuning) -> Item:
    text = "\n".join(lines).replace("```", "'''")
    return Item(
        section=Section.DETAILS,
        text=text,
        index=seen.index,
        order=seen.order + start,
        anchors=find_anchors(text),
        group=seen.group,
        value=tuning.error_value,
        first_line=seen.lines.listing.numbers[start],
    )
