"""`ullage compact`: replaces the older part of a context by a summary."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import replace
from rich.text import Text

from ullage.api.protocol import UsageResult, usage_result
from ullage.cli.arguments import ReadingOptions, add_drawing, add_provider, add_target, number, read_options
from ullage.cli.commands.context import ContextReport, context_box, edit_rows, facts_beside
from ullage.cli.drawing import (
    STDOUT,
    Box,
    Glyphs,
    Screen,
    percent,
    plural,
    print_json,
    require_writable,
    to_json,
    working,
    write_output,
)
from ullage.cli.reports import EditRow
from ullage.cli.session_source import STDIN, open_source, unread_words
from ullage.formats.transcripts.builder import SkippedLine
from ullage.model.errors import InputError, NothingToCompact
from ullage.model.events import compaction_block
from ullage.model.message import CompactionBlock
from ullage.model.updates import Meta
from ullage.model.words import nothing_to_compact
from ullage.service.archive.naming import find_message
from ullage.service.compact.by_hand import ManualRequest, compact_by_hand, fit_budget
from ullage.service.conversation.conversation import Conversation


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


class CompactOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage compact`."""

    provider: str
    budget: int | None
    first: str | None
    last: str | None
    focus: str
    output: Path | None


class CompactReport(ContextReport, frozen=True, kw_only=True):
    """What `ullage compact --json` prints: the context after the compaction.

    `messages` can be sent to the provider unchanged, and `used` is their size with system prompt and tools.
    `hidden_kept` is the number of tokens that the agent adds to every request, which no compaction removes; `used` and
    `before`, the size before the compaction, don't include them. `size` is the window. `compaction` is null if no
    summary was written.
    """

    before: int
    hidden_kept: int
    size: int | None
    edits: tuple[EditRow, ...]
    compaction: dict[str, Any] | None


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser, optional=False)
    parser.add_argument("--budget", type=number, metavar="TOKENS", help="the most the resulting context may count")
    parser.add_argument("--from", dest="first", metavar="MESSAGE", help="only from this message on (number or id)")
    parser.add_argument("--up-to", dest="last", metavar="MESSAGE", help="only up to this message (number or id)")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what to keep above all")
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="write the JSON object to this file; `-`: to standard output"
    )


class _Outcome(Struct, frozen=True, kw_only=True):
    """The result of the command. `usage` and `sizes` are of the whole context, with the hidden tokens that the agent
    adds. `note` is a sentence for the user, or ""."""

    report: CompactReport
    compaction: CompactionBlock | None
    other_edits: tuple[str, ...]
    usage: UsageResult
    sizes: Shrunk
    unread: tuple[SkippedLine, ...]
    undo: str
    now: int
    note: str


def run(args: Namespace) -> int:
    """Compacts a conversation and prints what was removed and saved, and the summary. Returns 0."""
    options = read_options(args, CompactOptions)
    screen = Screen.of(args)
    _check(options)
    with working(f"Compacting {options.target}"):
        outcome = asyncio.run(_compact(options))
    if options.output is not None:
        write_output(options.output, to_json(outcome.report))
    elif options.json:
        print_json(outcome.report)
    if not options.json and options.output != STDOUT:
        screen.print(_lines(outcome, screen))
    return 0


def _check(options: CompactOptions) -> None:
    if options.budget is not None and (options.first or options.last):
        raise InputError("--budget chooses the messages by itself; leave it out, or --from and --up-to")
    source = Path(options.target or STDIN)
    if options.output is not None and options.output.exists() and source.exists() and options.output.samefile(source):
        raise InputError(f"{options.output} is the transcript itself, which is never written to; name another file")
    if options.output not in (None, STDOUT):
        require_writable(options.output)


async def _compact(options: CompactOptions) -> _Outcome:
    async with open_source(options, reports=False, writing=True) as source:
        conversation = source.conversation
        edits_before, used_before = conversation.transcript.edits_in_force, conversation.used
        block, note = await _block(conversation, options)
        made = [edit for edit in conversation.transcript.edits_in_force if edit not in edits_before]
        usage = usage_result(conversation)
        whole = with_hidden(usage, source.hidden)
        return _Outcome(
            report=CompactReport.of(
                usage,
                **await facts_beside(source, options.provider),
                before=used_before,
                hidden_kept=source.hidden,
                size=usage.size,
                edits=tuple(edit for edit in edit_rows(source.conversation) if edit.in_force),
                compaction=to_builtins(block),
            ),
            compaction=block,
            other_edits=tuple(edit.kind for edit in made if edit.kind != "compaction"),
            usage=whole,
            sizes=Shrunk(
                before=used_before + source.hidden,
                after=whole.used,
                hidden=whole.meta.ullage.breakdown.overhead,
                hidden_name=whole.meta.ullage.hidden.name,
                budget=options.budget,
                counted=usage.used,
            ),
            unread=source.unread,
            undo="" if source.is_copy or not made else f"ullage undo {source.name}",
            now=conversation.workspace.ports.clock.now(),
            note=note,
        )


async def _block(conversation: Conversation, options: CompactOptions) -> tuple[CompactionBlock | None, str]:
    if options.budget is not None:
        edit = await fit_budget(conversation, options.budget, options.focus)
        return compaction_block(edit) if edit else None, ""
    first, last = (find_message(conversation, name) if name else None for name in (options.first, options.last))
    request = ManualRequest(focus=options.focus, first_id=first, last_id=last)
    try:
        done = await compact_by_hand(conversation, request)
    except NothingToCompact as nothing:
        return None, str(nothing)
    return compaction_block(done.edit), done.planned.note


def _lines(outcome: _Outcome, screen: Screen) -> Iterator[Text | str]:
    glyphs, width = screen.glyphs, screen.width
    if outcome.compaction is not None:
        yield from compaction_box(outcome.compaction, outcome.sizes, outcome.undo, glyphs, width)
        yield ""
        yield from screen.prose(outcome.compaction.summary.strip())
        yield ""
        if outcome.note:
            yield from (*screen.prose(outcome.note), "")
    elif not outcome.other_edits:
        yield outcome.note or nothing_to_compact(outcome.usage.meta.ullage.messages_active, outcome.usage.used)
    if outcome.other_edits:
        yield f"To fit, messages or blocks were also cut or left out: {', '.join(outcome.other_edits)}."
    yield from context_box(outcome.usage, outcome.now, glyphs, width)
    yield from unread_words(outcome.unread, screen)


def with_hidden(usage: UsageResult, hidden: int) -> UsageResult:
    """Returns the figures of a context with `hidden` more tokens in it, which the agent adds to every request."""
    if not hidden:
        return usage
    meta = usage.meta.ullage
    used = usage.used + hidden
    parts = replace(meta.breakdown, overhead=meta.breakdown.overhead + hidden)
    figures = replace(meta, breakdown=parts, percent=percent(used, usage.size) if usage.size else None)
    if figures.left is not None:
        figures = replace(figures, left=max(0, figures.left - hidden))
    return replace(usage, used=used, meta=Meta(ullage=figures))


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
