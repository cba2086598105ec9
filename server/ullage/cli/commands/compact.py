"""`ullage compact`: replaces the older part of a context by a summary."""

import asyncio
from argparse import Namespace
from pathlib import Path

from msgspec import Struct

from ullage.api.values import UsageResult, usage_result
from ullage.cli.draw.boxes import compaction_box, context_box
from ullage.cli.options import CompactOptions, read_options
from ullage.cli.output import print_json, print_lines, terminal_glyphs, to_json, working, write_text
from ullage.cli.source import open_source, result_object
from ullage.model.blocks import CompactionBlock
from ullage.model.edits import compaction_block
from ullage.model.errors import InputError, NothingToCompact
from ullage.model.words import nothing_to_compact
from ullage.service.compact.by_hand import ManualRequest, compact_by_hand
from ullage.service.compact.to_budget import fit_budget
from ullage.service.conversation.conversation import Conversation


class _Outcome(Struct, frozen=True, kw_only=True):
    result: dict[str, object]
    compaction: CompactionBlock | None
    other_edits: tuple[str, ...]
    usage: UsageResult
    now: int
    note: str


def run(args: Namespace) -> int:
    """Prints what was removed and saved and the summary, or with `--json` the result object."""
    options = read_options(args, CompactOptions)
    _check(options)
    with working(f"Compacting {options.target}"):
        outcome = asyncio.run(_compact(options))
    if options.output is not None:
        write_text(options.output, to_json(outcome.result))
    elif options.json:
        print_json(outcome.result)
    if not options.json:
        _print(outcome, ascii_only=options.ascii)
    return 0


def _check(options: CompactOptions) -> None:
    if options.budget is not None and (options.first or options.last):
        raise InputError("--budget chooses what goes by itself; leave it out, or --from and --up-to")
    source = Path(options.target)
    if options.output is not None and options.output.exists() and source.exists() and options.output.samefile(source):
        raise InputError(f"{options.output} is the transcript itself, which is never written to; name another file")


async def _compact(options: CompactOptions) -> _Outcome:
    async with open_source(options, reports=False) as source:
        conversation = source.conversation
        before = conversation.transcript.edits_in_force
        block, note = await _block(conversation, options)
        made = [edit.kind for edit in conversation.transcript.edits_in_force if edit not in before]
        return _Outcome(
            result=await result_object(conversation, options.provider, block),
            compaction=block,
            other_edits=tuple(kind for kind in made if kind != "compaction"),
            usage=usage_result(conversation),
            now=conversation.workspace.ports.clock.now(),
            note=note,
        )


async def _block(conversation: Conversation, options: CompactOptions) -> tuple[CompactionBlock | None, str]:
    if options.budget is not None:
        edit = await fit_budget(conversation, options.budget, options.focus)
        return compaction_block(edit) if edit else None, ""
    first, last = (_message_id(conversation, name) for name in (options.first, options.last))
    request = ManualRequest(focus=options.focus, first_id=first, last_id=last)
    try:
        done = await compact_by_hand(conversation, request)
    except NothingToCompact as nothing:
        return None, str(nothing)
    return compaction_block(done.edit), done.note


def _message_id(conversation: Conversation, name: str | None) -> str | None:
    """Returns the id of a message that is given by its number in the transcript, counted from 1, or by its id."""
    items = conversation.transcript.items
    numbered = (item.message.id for item in items if not item.inserted and str(item.index + 1) == name)
    return next(numbered, name)


def _print(outcome: _Outcome, *, ascii_only: bool) -> None:
    glyphs = terminal_glyphs(ascii_only=ascii_only)
    if outcome.compaction is not None:
        print_lines([*compaction_box(outcome.compaction, glyphs), "", outcome.compaction.summary.strip(), ""])
        print_lines([outcome.note, ""] if outcome.note else [])
    elif not outcome.other_edits:
        print_lines([outcome.note or nothing_to_compact(outcome.usage.meta.ullage.messages_active, outcome.usage.used)])
    if outcome.other_edits:
        print_lines([f"To fit, messages or blocks were also cut or left out: {', '.join(outcome.other_edits)}."])
    print_lines(context_box(outcome.usage, outcome.now, glyphs))
