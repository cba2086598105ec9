"""`ullage context`: shows the size and the parts of a context, or with `--edits` what made it smaller."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from heapq import nlargest
from typing import Any, Self

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict
from rich.text import Text

from ullage.api.protocol import UsageResult, usage_result
from ullage.cli.arguments import ReadingOptions, add_drawing, add_provider, add_target, read_options
from ullage.cli.commands.messages import Openings, described
from ullage.cli.drawing import (
    Box,
    Column,
    Glyphs,
    Screen,
    ago,
    bar,
    clock,
    fit,
    level_style,
    percent,
    plain,
    plural,
    print_json,
    source_words,
    table,
    working,
)
from ullage.cli.reports import EditRow, Figures, Report, UnreadLine, figures_of, filled
from ullage.cli.session_source import Shortened, Source, chosen_words, open_source, unread_words
from ullage.model.message import number_of
from ullage.model.updates import UsageMeta
from ullage.model.usage import HiddenKind, KnownThreshold
from ullage.model.words import good_moment, hidden_rows, idles, last_miss, next_prompt, rate_limits, short, shrinking
from ullage.service.archive.export import provider_request
from ullage.service.archive.undo import history
from ullage.service.conversation.conversation import Conversation, view_page


class ContextOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage context`."""

    provider: str
    messages: bool
    edits: bool


class ContextReport(Figures, frozen=True, kw_only=True):
    """What `ullage context --json` prints. `name` is the file's path or the session's id. With `--messages`, `system`
    and `messages` are those of a request to the provider."""

    name: str
    title: str
    cwd: str
    unread_lines: tuple[UnreadLine, ...]
    system: Any | UnsetType = UNSET
    messages: list[Any] | UnsetType = UNSET

    @classmethod
    def of(cls, usage: UsageResult, **beside: Any) -> Self:
        """Returns the report for a context's figures. `beside` are the other fields, by name."""
        return cls(**asdict(figures_of(usage)), **beside)


class HistoryReport(Report, frozen=True, kw_only=True):
    """What `ullage context --edits --json` prints: the edits, oldest first."""

    name: str
    edits: tuple[EditRow, ...]


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument("--messages", action="store_true", help="with --json: the messages, too")
    parser.add_argument("--edits", action="store_true", help="what made it smaller, and how much each saved")


def run(args: Namespace) -> int:
    """Prints the context's size and what it consists of in a box, or with `--json` a `ContextReport`; with `--edits` a
    table of its edits, or a `HistoryReport`. Returns 0."""
    options = read_options(args, ContextOptions)
    asyncio.run((_list_edits if options.edits else _run)(options, Screen.of(args)))
    return 0


async def _run(options: ContextOptions, screen: Screen) -> None:
    with working(f"Counting {options.target or 'the newest conversation of this folder'}"):
        async with open_source(options) as source:
            if options.json:
                print_json(
                    ContextReport.of(
                        usage_result(source.conversation),
                        **await facts_beside(source, options.provider if options.messages else None),
                    )
                )
                return
            now = source.workspace.ports.clock.now()
            conversation = source.conversation
            big = await biggest(conversation)
            lines = [
                *chosen_words(source, screen),
                *context_box(usage_result(conversation), now, screen.glyphs, screen.width, big),
                *unread_words(source.unread, screen),
            ]
    screen.print(lines)


_EDIT_COLUMNS = (
    Column(name="Edit", rank=2, style="dim"),
    Column(name="When", rank=3, style="dim"),
    Column(name="What", flexible=True),
    Column(name="Context"),
    Column(name="By", rank=4, style="dim"),
    Column(name="", rank=1),
)


async def _list_edits(options: ContextOptions, screen: Screen) -> None:
    async with open_source(options) as source:
        edits = edit_rows(source.conversation)
        now = source.workspace.ports.clock.now()
        if options.json:
            print_json(HistoryReport(name=source.name, edits=edits))
            return
        lines = [*chosen_words(source, screen)]
    if edits:
        # Edits that belong to a larger action are indented, and are listed before the line of that action.
        names = Shortened((edit.id for edit in edits), screen.room)
        cells = [
            (
                names(edit.id),
                ago(edit.at, now),
                (f"  {edit.words}" if edit.part_of else edit.words, "" if edit.in_force else "strike dim"),
                _sizes(edit, screen.glyphs),
                edit.trigger,
                _fate(edit, now),
            )
            for edit in edits
        ]
        lines += table(_EDIT_COLUMNS, cells, screen.room, screen.glyphs)
    else:
        lines += map(Text, screen.prose("No edits: the context is the whole conversation."))
    screen.print(lines)


def _sizes(edit: EditRow, glyphs: Glyphs) -> str:
    if edit.before:
        return plain(shrinking(edit.before, edit.after) if edit.after else f"{short(edit.before)} → ?", glyphs)
    return f"-{short(edit.tokens_saved)}" if edit.tokens_saved else "?"


def _fate(edit: EditRow, now: int) -> str:
    if edit.in_force:
        return ""
    return f"undone {ago(edit.undone_at, now)}" if edit.undone_at else "undone"


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
    the messages to list; if there is none, that section is left out. Parts of one per cent of the window or less are
    shown as one, and such messages are left out."""
    meta = usage.meta.ullage
    box = Box(glyphs, width)
    box.title("Context", ", ".join(filter(None, (meta.agent, meta.model))))
    _fullness(box, usage, glyphs)
    box.blank()
    _facts(box, usage, now, glyphs)
    if parts := [part for part in _parts(usage) if part[1]]:
        box.head("What it holds")
        for label, tokens in parts:
            _row(box, label, tokens, usage, glyphs)
            if label in (_ADDED, _PROMPT):
                for name, count in hidden_rows(meta.hidden.parts):
                    _row(box, f"  {name}", count, usage, glyphs)
    if shown := [big for big in biggest if _is_shown(big.tokens, _whole(usage))]:
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
    for servers in [part.name for part in meta.hidden.parts if part.kind is HiddenKind.UNKNOWN and part.name]:
        box.fact("MCP", f"{servers}: their tools are in what the agent adds, and not in the log")
    if usage.cost:
        box.fact("Cost", f"${usage.cost.amount:,.2f} by list prices")


def _clock(box: Box, usage: UsageResult, now: int) -> None:
    """Adds what happens by itself as time passes, and whether now is a good moment for something else."""
    meta = usage.meta.ullage
    if meta.idle and meta.idle.at > now:
        box.fact("Idle", f"{meta.agent}, if it still runs, {idles(clock(meta.idle.at), meta.idle.setting)}")
    if meta.cache:
        said = (next_prompt(meta.cache, clock(meta.cache.until), now), meta.cache.miss and last_miss(meta.cache.miss))
        box.fact("Cache", "; ".join(filter(None, said)))
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
    """Returns the kinds of content in the window with their tokens, the largest first and the small ones together, then
    the reserve and the free tokens. They add up to the window."""
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
    whole = _whole(usage)
    held = sorted((part for part in held if _is_shown(part[1], whole)), key=lambda part: -part[1])
    if small := parts.total - sum(tokens for _, tokens in held):
        held.append(("All else", small))
    if usage.size is not None and meta.usable is not None:
        held += [(_NOT_USED[0], usage.size - meta.usable), (_NOT_USED[1], max(0, meta.usable - usage.used))]
    return held


def _is_shown(tokens: int, whole: int) -> bool:
    return percent(tokens, whole) > _LEAST_SHARE


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
    if tokens and not share:
        return "<1%"
    return f">{_LARGEST_SHARE}%" if share > _LARGEST_SHARE else f"{share}%"


def _whole(usage: UsageResult) -> int:
    """Returns the tokens that are 100 per cent: the window, or the context while no window is known."""
    return max(usage.size or usage.used, 1)


def _item(box: Box, big: Big, usage: UsageResult, glyphs: Glyphs) -> None:
    figure = fit(short(big.tokens), _SHORT, glyphs, right=True)
    figure += fit(_share(big.tokens, _whole(usage)), _SHARE, glyphs, right=True)
    name = big.opening if big.index is None else f"#{number_of(big.index)} {big.opening}"
    box.row((fit(name, box.inner - len(figure), glyphs), ""), (figure, ""))


# Messages that a box lists as the biggest.
_BIGGEST = 8


async def facts_beside(source: Source, provider: str | None) -> dict[str, Any]:
    """Returns the fields of a `ContextReport` that are not figures, by name: the name, title, folder and unread lines,
    and with `provider` the messages and system prompt."""
    transcript = source.conversation.transcript
    facts: dict[str, Any] = {
        "name": source.name,
        "title": transcript.title,
        "cwd": transcript.cwd,
        "unread_lines": tuple(UnreadLine(line=line.line, reason=line.reason) for line in source.unread),
    }
    if provider is not None:
        request = await provider_request(source.conversation, provider)
        facts |= {name: request[name] for name in ("system", "messages") if request.get(name) is not None}
    return facts


def edit_rows(conversation: Conversation) -> tuple[EditRow, ...]:
    """Returns one row for every edit of the conversation, undone ones included, oldest first."""
    return tuple(
        filled(
            EditRow,
            (entry,),
            trigger=entry.trigger.value,
            at=entry.timestamp,
            before=entry.context_size_before,
            after=entry.context_size_after,
            in_force=not entry.reverted,
            undone_at=(entry.reverted_at or 0) if entry.reverted else None,
        )
        for entry in history(conversation)
    )


async def biggest(conversation: Conversation) -> list[Big]:
    """Returns the 8 messages of the context with the most tokens, the biggest first."""
    # A result is named after its call, which may be archived. So the transcript's messages are described, not the
    # view's; the view has the tokens.
    page = await view_page(conversation, 0, None)
    chosen = nlargest(_BIGGEST, page.entries, key=lambda entry: entry.tokens)
    wanted = {entry.message.id for entry in chosen}
    words = {entry.message.id: line for entry, line in described(conversation) if entry.message.id in wanted}
    own = Openings()
    return [
        Big(
            index=None if entry.inserted else entry.index,
            opening=words.get(entry.message.id) or own.describe(entry.message),
            tokens=entry.tokens,
        )
        for entry in chosen
        if entry.tokens
    ]
