"""The boxes of `ullage context` and `ullage compact`.

They show the size of a context and what it consists of, its biggest messages, and the result of a compaction.
"""

from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from ullage.api.wire import UsageResult
from ullage.cli.draw.parts import Box, bar, level_style
from ullage.cli.draw.text import Glyphs, clock, fit, percent, plural, source_words
from ullage.model.blocks import CompactionBlock
from ullage.model.figure import KnownThreshold
from ullage.model.message import number_of
from ullage.model.updates import UsageMeta
from ullage.model.words import good_moment, hidden_rows, idles, last_miss, next_prompt, rate_limits, short, shrinking

# Cells of a part's label, its tokens and its share; of the tokens of a message; and of the share next to the bar.
_LABEL, _TOKENS, _SHARE, _SHORT, _BESIDE = 21, 9, 6, 5, 6
# A larger share says only that a figure is wrong, and would not fit its column. One up to the least says nothing.
_LARGEST_SHARE, _LEAST_SHARE = 999, 1
_PROMPT, _ADDED = "System prompt, tools", "Added by the agent"
_NOT_USED = ("For the answer", "Free")
# A bar of fewer cells says nothing.
_LEAST_BAR = 6


class Big(Struct, frozen=True, kw_only=True):
    """One of the biggest messages of a context: its index in the transcript, one line about it, and its tokens. A
    compaction's marker has no index, because no command takes it by a number."""

    index: int | None
    opening: str
    tokens: int


def context_box(usage: UsageResult, now: int, glyphs: Glyphs, width: int, biggest: Sequence[Big] = ()) -> list[Text]:
    """Returns the lines of the box of `ullage context`, `width` columns wide. `now` is Unix milliseconds. `biggest` are
    the messages to list; if it is empty, that section is left out. Parts and messages of one per cent of the window or
    less are left out."""
    meta = usage.meta.ullage
    box = Box(glyphs, width)
    box.title("Context", ", ".join(filter(None, (meta.agent, meta.model))))
    _fullness(box, usage, glyphs)
    box.blank()
    _facts(box, usage, now, glyphs)
    if parts := [part for part in _parts(usage) if _is_shown(part[1], usage)]:
        box.head("What it holds")
        for label, tokens in parts:
            _row(box, label, tokens, usage, glyphs)
            if label in (_ADDED, _PROMPT):
                for name, count in hidden_rows(meta.hidden.parts):
                    _row(box, f"  {name}", count, usage, glyphs)
    if shown := [big for big in biggest if _is_shown(big.tokens, usage)]:
        box.head("Its biggest messages")
        for big in shown:
            _item(box, big, usage, glyphs)
    return box.lines()


def _facts(box: Box, usage: UsageResult, now: int, glyphs: Glyphs) -> None:
    meta = usage.meta.ullage
    box.fact("Now", f"{usage.used:,} tokens, {source_words(meta, now)}", level_style(usage.used, meta))
    if usage.size is None:
        box.fact("Window", "unknown: set it with --window")
    else:
        box.fact("Window", f"{usage.size:,}{_why(meta.window.basis if meta.window else '')}")
    if meta.threshold:
        left = "" if meta.left is None else f", {meta.left:,} left{_in_calls(meta)}" if meta.left else ", due now"
        place = f"{glyphs.mark} at {meta.threshold.tokens:,}{left}"
        box.fact("Compacts", f"{place}{_why(meta.threshold.basis + _seen(meta.threshold))}")
    _clock(box, usage, now)
    for remark in meta.remarks:
        box.fact("Note", remark.text)
    if not meta.threshold and meta.left:
        box.fact("Full", f"in {meta.left:,} tokens{_in_calls(meta)}")
    total = meta.messages_active + meta.messages_archived
    times = f", compacted {plural(meta.compactions, 'time')}" if meta.compactions else ""
    of = f"{meta.messages_active:,} of {total:,}" if meta.messages_archived else f"{total:,}"
    box.fact("Messages", f"{of}{times}")
    if usage.cost:
        box.fact("Cost", f"${usage.cost.amount:,.2f} by list prices")


def _clock(box: Box, usage: UsageResult, now: int) -> None:
    """Adds what happens by itself as time passes, and whether now is a good moment for something else."""
    meta = usage.meta.ullage
    if meta.idle and meta.idle.at > now:
        box.fact("Idle", f"{meta.agent} {idles(clock(meta.idle.at), meta.idle.setting)}")
    if meta.cache:
        missed = f"; {last_miss(meta.cache.miss)}" if meta.cache.miss else ""
        box.fact("Cache", f"{next_prompt(meta.cache, clock(meta.cache.until), now)}{missed}")
    if limits := rate_limits(meta.rate_limits, now):
        box.fact("Limits", f"{limits} of what your subscription allows")
    if meta.moment:
        box.fact("Moment", good_moment(meta.moment, usage.used, meta.cache, now))


def _in_calls(meta: UsageMeta) -> str:
    """Returns the number of calls that is likely, and the least: the most is far above both and says nothing."""
    left = meta.calls_left
    if left is None:
        return ""
    return f", about {plural(left.mean, 'call')}{f', at least {left.low:,}' if left.low else ''}"


def _seen(threshold: KnownThreshold) -> str:
    """Returns how often compactions have confirmed the threshold, unless its basis says so."""
    if not threshold.times or "compacted" in threshold.basis:
        return ""
    return f", seen {plural(threshold.times, 'time')}"


def _why(basis: str) -> str:
    return f" ({basis})" if basis else ""


def _fullness(box: Box, usage: UsageResult, glyphs: Glyphs) -> None:
    meta = usage.meta.ullage
    style = level_style(usage.used, meta)
    if usage.size is None:
        box.line(f"{short(usage.used)} tokens, limit unknown", style)
        return
    share = percent(usage.used, usage.size)
    shown = f"  {share}%".ljust(_BESIDE)
    cells = box.inner - len(glyphs.brackets) - len(shown)
    box.line(f"{bar(usage.used, usage.size, meta.compact_at, cells, glyphs)}{shown}", style)


def _parts(usage: UsageResult) -> list[tuple[str, int]]:
    """Returns the kinds of content in the window with their tokens, the largest first, then the reserve and the free
    tokens."""
    meta = usage.meta.ullage
    parts = meta.breakdown
    held = [
        ("System prompt", parts.system_prompt),
        ("Tools", parts.tools),
        ("Messages", parts.messages),
        ("Tool results", parts.tool_results),
        ("Summary", parts.summary),
        ("Memory", parts.memory),
        # Of an agent's conversation, nothing else is known of them.
        (_ADDED if parts.system_prompt or parts.tools else _PROMPT, parts.overhead),
    ]
    held.sort(key=lambda part: -part[1])
    if usage.size is not None and meta.usable is not None:
        held += [(_NOT_USED[0], usage.size - meta.usable), (_NOT_USED[1], max(0, meta.usable - usage.used))]
    return held


def _is_shown(tokens: int, usage: UsageResult) -> bool:
    return percent(tokens, _whole(usage)) > _LEAST_SHARE


def _row(box: Box, label: str, tokens: int, usage: UsageResult, glyphs: Glyphs) -> None:
    whole = _whole(usage)
    figure = f"{tokens:,}" if len(f"{tokens:,}") <= _TOKENS else short(tokens)
    room = min(_LABEL, box.inner - _TOKENS - _SHARE - 2)
    text = f"{fit(label, room, glyphs)}{fit(figure, _TOKENS, glyphs, right=True)}"
    text += fit(_share(tokens, whole), _SHARE, glyphs, right=True)
    cells = box.inner - room - _TOKENS - _SHARE - 2
    cell = glyphs.empty if label in _NOT_USED else glyphs.full
    drawn = cell * round(cells * min(1, tokens / whole)) if cells >= _LEAST_BAR else ""
    box.row((text, ""), ("  ", ""), (drawn, "dim"))


def _share(tokens: int, whole: int) -> str:
    share = percent(tokens, whole)
    return f">{_LARGEST_SHARE}%" if share > _LARGEST_SHARE else f"{share}%"


def _whole(usage: UsageResult) -> int:
    """Returns the tokens that are 100 per cent: the window, or the context while no window is known."""
    return max(usage.size or usage.used, 1)


def _item(box: Box, big: Big, usage: UsageResult, glyphs: Glyphs) -> None:
    figure = fit(short(big.tokens), _SHORT, glyphs, right=True)
    figure += fit(_share(big.tokens, _whole(usage)), _SHARE, glyphs, right=True)
    name = big.opening if big.index is None else f"#{number_of(big.index)} {big.opening}"
    box.row((fit(name, box.inner - len(figure), glyphs), ""), (figure, ""))


class Shrunk(Struct, frozen=True, kw_only=True):
    """The sizes of a context before and after a compaction, in tokens.

    `before` and `after` include `hidden`, the tokens that the agent adds to every request, which are not in the session
    and which no compaction removes; `hidden_name` names them. `budget` is the limit that the user gave for the
    messages, or None, and `counted` is how many tokens the session's own content has.
    """

    before: int
    after: int
    hidden: int = 0
    hidden_name: str = ""
    budget: int | None = None
    counted: int = 0


def compaction_box(block: CompactionBlock, sizes: Shrunk, undo: str, glyphs: Glyphs, width: int) -> list[Text]:
    """Returns the lines of the box of `ullage compact`, without the summary itself. `undo` is the command that undoes
    the compaction, or "" if no stored session was changed."""
    box = Box(glyphs, width)
    box.title(f"Compacted #{block.compaction_number}", f"{block.summarizer} summary")
    box.fact("Removed", f"{plural(block.messages_archived, 'message')}, all kept")
    saved = sizes.before - sizes.after
    box.fact("Saved", f"{saved:,} tokens ({percent(saved, sizes.before)}%)", "green")
    box.fact("Context", f"{sizes.before:,} {glyphs.arrow} {sizes.after:,} tokens")
    if sizes.hidden:
        box.fact("", f"with {sizes.hidden:,} that stay: {sizes.hidden_name}")
    if sizes.budget is not None:
        box.fact("Budget", f"{sizes.counted:,} of {sizes.budget:,} tokens used")
    ledger = block.ledger
    box.fact("Ledger", f"{plural(len(ledger.files), 'file')}, {plural(len(ledger.commands), 'command')}")
    if undo:
        box.fact("Undo", undo)
    return box.lines()


def sizes_of(before: int, after: int) -> str:
    """Returns the size of the context before and after an edit: `164K → 31K`, or `164K → ?` if `after` is 0, which
    means unknown."""
    return shrinking(before, after) if after else f"{short(before)} → ?"
