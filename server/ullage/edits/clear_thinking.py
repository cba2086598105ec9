"""`clear_thinking`: empties the thinking of older turns.

Name and meaning follow Anthropic's context editing (`clear_thinking_20251015`): the last `keep` turns of the assistant
that hold thinking keep it. A turn is everything that the assistant says between two prompts, so a tool loop that is
still running keeps all its thinking, as Anthropic requires. Emptied thinking has no signature and is not sent to the
provider.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise

from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import ThinkingBlock, is_sealed
from ullage.model.edits import ClearThinkingEdit, Replacement
from ullage.model.message import Message
from ullage.transcript.cut_points import turn_starts


def clear_thinking(
    view: CountedView, keep: int, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearThinkingEdit | None:
    """Returns the edit for a view, or None if only the last `keep` turns (at least 1) hold thinking. Messages with an
    id in `untouched` stay as they are."""
    turns = [found for turn in _turns(view.messages) if (found := list(_thinking(turn)))]
    old = [
        [replacement for replacement in turn if replacement.message_id not in untouched]
        for turn in turns[: max(0, len(turns) - max(1, keep))]
    ]
    replacements = tuple(replacement for turn in old for replacement in turn)
    if not replacements:
        return None
    draft = ClearThinkingEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        replacements=replacements,
        cleared_thinking_turns=sum(map(bool, old)),
    )
    return view.saving(draft)


def _turns(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    starts = [0, *turn_starts(messages), len(messages)]
    return (messages[start:stop] for start, stop in pairwise(starts))


def _thinking(turn: Sequence[Message]) -> Iterator[Replacement]:
    for message in turn:
        for i, block in enumerate(message.content):
            if isinstance(block, ThinkingBlock) and (block.thinking or block.redacted) and not is_sealed(block):
                yield Replacement(message_id=message.id, block=i, text="")
