"""What contexts hold after an agent's compaction besides the messages in the log, by the agent's recorded compactions.

Of 25 recorded compactions of Claude Code, each predicted from those of the other conversations: see
docs/guide/figure.md. Files that are attached again, listings and notes are in few logs, and differ less between
conversations than the counts of the files that may come back.
"""

from collections.abc import Sequence
from statistics import fmean, median

from ullage.policy.evidence import Compacted
from ullage.tokens.tracker import Ending

# Compactions. The median of fewer may be that of an exception.
_LEAST = 3


def ending(seen: Sequence[Compacted], version: str, model: str) -> Ending | None:
    """Returns what contexts held after these compactions of one agent: of those of the same version and model if three
    are known, else of the same model, else of all. Returns None if fewer than three are known."""
    # Where all that a prompt holds counts as hidden, the hidden part itself was not known before.
    known = [one for one in seen if one.rest > one.hidden]
    same = [one for one in known if one.model == model]
    groups = ([one for one in same if one.version == version], same, known)
    chosen = next((group for group in groups if len(group) >= _LEAST), None)
    if chosen is None:
        return None
    added = [one.rest - one.hidden for one in chosen]
    middle = median(added)
    return Ending(
        hidden=round(median(one.hidden for one in chosen)),
        added=round(middle),
        deviation=round(fmean(abs(each - middle) for each in added)),
    )
