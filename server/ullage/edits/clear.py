"""Clearing: empties old tool results (`clear_tool_uses`) and old thinking (`clear_thinking`). The most recent stay.

Names and meanings follow Anthropic's context editing. `clear_tool_uses_20250919`: a placeholder replaces each of the
oldest tool results. The last `keep` tool uses stay whole, and so do all uses of `exclude_tools`. With
`clear_tool_inputs` the inputs of cleared tool uses are cleared as well. When that is due, and which edit saves enough,
is decided by `policy/budget.py`.

`clear_thinking_20251015`: the last `keep` turns of the assistant that hold thinking keep it. A turn is everything that
the assistant says between two prompts, so a tool loop that is still running keeps all its thinking, as Anthropic
requires. Emptied thinking has no signature and is not sent to the provider.

Duplicate file reads: a notice replaces lines of a file that a later message shows again.

The last read stays whole. A line counts as shown again if a later read of the same file has it verbatim, with the same
line number or next to the same neighbour. Lines that changed between two reads stay. So only the repetition is lost.

How this edit composes with others: the edit names the messages that its notices point to (`shown_in`), and no edit
cheaper than a compaction touches them. Edits that take the oldest messages first take a notice before the message that
it points to. Messages that stay while older and newer ones go (the first user message, pinned messages) are never given
a notice.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.file_reads import FileRead, Line, file_keys, file_lines, file_reads, only_text
from ullage.agents.results import ToolResult, tool_results
from ullage.edits.counted import CountedView, Stamp
from ullage.model.events import ClearThinkingEdit, ClearToolUsesEdit, DuplicateReadsEdit, RepeatedFile, Replacement
from ullage.model.message import (
    Block,
    Message,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    is_sealed,
)
from ullage.transcript.view import turn_starts

# A model keeps these results on purpose; clearing them would defeat the purpose.
MEMORY_TOOLS = frozenset({"memory", "recall"})
# A shorter result costs hardly more than the placeholder that would replace it.
_MIN_CHARS = 400
_MIN_INPUT_CHARS = 2_000
_CLEARED = "[cleared]"


class ClearOptions(Struct, frozen=True, kw_only=True):
    """Which tool uses may be cleared. The last `keep` tool uses and all uses of `exclude_tools` stay.
    `clear_tool_inputs` says whether inputs are cleared, too; a set names the tools whose inputs are."""

    keep: int = 3
    exclude_tools: frozenset[str] = frozenset()
    clear_tool_inputs: bool | frozenset[str] = False


def clear_tool_uses(
    view: CountedView, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """Returns the edit for a view. Returns None if no tool result is both old and long enough. Messages with an id in
    `untouched` stay as they are."""
    results = list(tool_results(view.messages))
    return _clear_old(view, results[: max(0, len(results) - options.keep)], options, stamp, untouched)


def cleared_elsewhere(
    view: CountedView, count: int, options: ClearOptions, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearToolUsesEdit | None:
    """Returns the edit that repeats in the view the clearing that a provider reports: its oldest `count` tool uses.
    Returns None if the edit would save nothing, for example because they are cleared already. Messages with an id in
    `untouched` stay as they are, although the provider cleared them, too."""
    skipped = MEMORY_TOOLS | options.exclude_tools
    old = [result for result in tool_results(view.messages) if result.tool not in skipped][:count]
    return _clear_old(view, old, options, stamp, untouched)


def _clear_old(
    view: CountedView, old: Sequence[ToolResult], options: ClearOptions, stamp: Stamp, untouched: Collection[str]
) -> ClearToolUsesEdit | None:
    skipped = MEMORY_TOOLS | options.exclude_tools
    cleared = [
        result
        for result in old
        if (len(result.text) >= _MIN_CHARS or result.pictures)
        and result.message_id not in untouched
        and result.tool not in skipped
        and not is_sealed(view.messages[result.position].content[result.block])
    ]
    messages = [message for message in view.messages if message.id not in untouched]
    replacements = [_clear(result) for result in cleared]
    replacements += _clear_inputs(messages, {result.tool_use_id for result in old}, skipped, options.clear_tool_inputs)
    if not replacements:
        return None
    draft = ClearToolUsesEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        replacements=tuple(replacements),
        cleared_tool_uses=len(cleared),
    )
    return view.saving(draft)


def _clear(result: ToolResult) -> Replacement:
    what = "characters and pictures" if result.pictures else "characters"
    return Replacement(
        message_id=result.message_id,
        block=result.block,
        text=f"[Old {result.tool or 'tool'} result cleared to make room: {len(result.text):,} {what}]",
    )


def _clear_inputs(
    messages: Sequence[Message], old: Collection[str], skipped: Collection[str], wanted: bool | frozenset[str]
) -> list[Replacement]:
    if not wanted:
        return []
    return [
        Replacement(message_id=message.id, block=i, input=_short_input(block.input))
        for message in messages
        for i, block in enumerate(message.content)
        if isinstance(block, ToolUseBlock)
        and block.id in old
        and block.name not in skipped
        and not is_sealed(block)
        and (wanted is True or block.name in wanted)
        and any(isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS for value in block.input.values())
    ]


def _short_input(given: dict[str, Any]) -> dict[str, Any]:
    return {
        key: _CLEARED if isinstance(value, str) and len(value) >= _MIN_INPUT_CHARS else value
        for key, value in given.items()
    }


def clear_thinking(
    view: CountedView, keep: int, stamp: Stamp, untouched: Collection[str] = ()
) -> ClearThinkingEdit | None:
    """Returns the edit, or None if only the last `keep` turns (at least 1) hold thinking. `untouched` are ids."""
    starts = pairwise([0, *turn_starts(view.messages), len(view.messages)])
    turns = [found for start, stop in starts if (found := list(_thinking(view.messages[start:stop])))]
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


def _thinking(turn: Sequence[Message]) -> Iterator[Replacement]:
    for message in turn:
        for i, block in enumerate(message.content):
            if isinstance(block, ThinkingBlock) and (block.thinking or block.redacted) and not is_sealed(block):
                yield Replacement(message_id=message.id, block=i, text="")


# A shorter passage would grow by its notice, and many notices make a text hard to read.
_MIN_LINES = 6
_MIN_REPEATED_CHARS = 200
AGAIN = "shown again later in this conversation]"


class _Cut(Struct, frozen=True, kw_only=True):
    """One file read with notices in place of repeated lines: its new text, and the messages that show the lines."""

    read: FileRead
    text: str
    shown_in: frozenset[str]


class _Stretch(NamedTuple):
    start: int
    stop: int


def dedupe_reads(view: CountedView, stamp: Stamp, untouched: Collection[str] = ()) -> DuplicateReadsEdit | None:
    """Returns the edit for a view, or None if no file's lines are shown again or the edit would save nothing. Messages
    with an id in `untouched` and the newest that the user typed are not changed."""
    sealed = {message.id for message in view.messages if any(map(is_sealed, message.content))}
    cuts = _cuts(view.messages, {*untouched, *sealed, *([view.newest.id] if view.newest else [])})
    if not cuts:
        return None
    draft = DuplicateReadsEdit(
        id=stamp.id,
        timestamp=stamp.timestamp,
        trigger=stamp.trigger,
        replacements=tuple(_replacements(view.messages, cuts)),
        shown_in=tuple(sorted({message_id for cut in cuts for message_id in cut.shown_in})),
    )
    edit = view.saving(draft)
    return replace(edit, files=_impact(cuts, edit.tokens_saved)) if edit else None


class _Shown:
    """The lines of one file that messages after a given place show, with the id of the message that shows each."""

    def __init__(self) -> None:
        self._numbered: dict[Line, str] = {}
        self._pairs: dict[tuple[str, str], str] = {}

    def add(self, message_id: str, lines: Sequence[Line]) -> None:
        """Adds consecutive lines of the file that a message shows. A line that is known keeps its message."""
        for line in lines:
            self._numbered.setdefault(line, message_id)
        for before, after in pairwise(lines):
            self._pairs.setdefault((before.text, after.text), message_id)

    def find(self, lines: Sequence[Line], at: int) -> str | None:
        """Returns a message that shows the line `lines[at]` at its number or beside the same neighbour, or None."""
        line = lines[at]
        if line.number is not None and line in self._numbered:
            return self._numbered[line]
        neighbours = pairwise(line.text for line in lines[max(0, at - 1) : at + 2])
        return next((self._pairs[pair] for pair in neighbours if pair in self._pairs), None)


def _cuts(messages: Sequence[Message], untouched: Collection[str]) -> list[_Cut]:
    """Returns the reads that lose lines, oldest first. Reads are looked at from the newest to the oldest, and each is
    compared with the lines that are still shown after it."""
    shown: dict[str, _Shown] = {}
    cuts: list[_Cut] = []
    reads = list(file_reads(messages))
    files = file_keys({read.path for read in reads})
    for read in reversed(reads):
        lines = file_lines(read.text, read.first)
        later = shown.setdefault(files[read.path], _Shown())
        fixed = read.is_input or read.message_id in untouched or AGAIN in read.text
        gone = [] if fixed else _repeated(lines, later)
        if gone:
            cuts.append(_cut(read, lines, gone, later))
        for stretch in _between(gone, len(lines)):
            later.add(read.message_id, lines[stretch.start : stretch.stop])
    return cuts[::-1]


def _repeated(lines: Sequence[Line], later: _Shown) -> list[_Stretch]:
    """Returns the passages (ranges of line indices) that later messages repeat, long enough for a notice."""
    found: list[_Stretch] = []
    again = ((later.find(lines, at) is not None, at) for at in range(len(lines)))
    for repeated, run in groupby(again, key=lambda pair: pair[0]):
        places = [at for _, at in run]
        is_long = len(places) >= _MIN_LINES and sum(len(lines[at].text) for at in places) >= _MIN_REPEATED_CHARS
        if repeated and is_long:
            found.append(_Stretch(places[0], places[-1] + 1))
    return found


def _between(gone: Sequence[_Stretch], length: int) -> Iterator[_Stretch]:
    """Yields the kept passages between the removed ones, as ranges of line indices, of `length` lines."""
    start = 0
    for stretch in (*gone, _Stretch(length, length)):
        if start < stretch.start:
            yield _Stretch(start, stretch.start)
        start = stretch.stop


def _cut(read: FileRead, lines: Sequence[Line], gone: Sequence[_Stretch], later: _Shown) -> _Cut:
    raw = read.text.split("\n")
    kept: list[str] = []
    start = 0
    for stretch in gone:
        kept += [*raw[start : stretch.start], _notice(read, lines, stretch)]
        start = stretch.stop
    places = (at for stretch in gone for at in range(stretch.start, stretch.stop))
    pointed = frozenset(message_id for at in places if (message_id := later.find(lines, at)))
    return _Cut(read=read, text="\n".join([*kept, *raw[start:]]), shown_in=pointed)


def _notice(read: FileRead, lines: Sequence[Line], stretch: _Stretch) -> str:
    if stretch.stop - stretch.start == len(lines):
        return f"[{read.path} is {AGAIN}"
    numbers = [number for line in lines[stretch.start : stretch.stop] if (number := line.number) is not None]
    if numbers:
        return f"[lines {numbers[0]}-{numbers[-1]} of {read.path} are {AGAIN}"
    return f"[{stretch.stop - stretch.start} lines of {read.path} are {AGAIN}"


def _replacements(messages: Sequence[Message], cuts: Sequence[_Cut]) -> Iterator[Replacement]:
    blocks = {(message.id, i): block for message in messages for i, block in enumerate(message.content)}
    for (message_id, block), group in groupby(cuts, key=lambda cut: (cut.read.message_id, cut.read.block)):
        text = _text(blocks[message_id, block])
        for cut in sorted(group, key=lambda cut: cut.read.start, reverse=True):
            text = text[: cut.read.start] + cut.text + text[cut.read.stop :]
        yield Replacement(message_id=message_id, block=block, text=text)


def _text(block: Block) -> str:
    match block:
        case ToolResultBlock():
            return only_text(block)
        case TextBlock(text=text):
            return text
        case ResourceBlock(text=text):
            return text or ""
        case _:
            raise TypeError(f"a {type(block).__name__} shows no file")


def _impact(cuts: Sequence[_Cut], saved: int) -> tuple[RepeatedFile, ...]:
    """Returns what repeated reads of each file cost, most first. `saved`: the tokens that the whole edit saves."""
    chars: dict[str, list[int]] = {}
    for cut in cuts:
        chars.setdefault(cut.read.path, []).append(len(cut.read.text) - len(cut.text))
    total = max(1, sum(map(sum, chars.values())))
    files = (
        RepeatedFile(path=path, occurrences=len(each), tokens_saved=round(saved * sum(each) / total))
        for path, each in chars.items()
    )
    return tuple(sorted(files, key=lambda file: (-file.tokens_saved, file.path)))
