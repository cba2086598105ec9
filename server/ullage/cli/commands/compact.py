"""`ullage compact`: the older part of a context replaced by a summary."""

import asyncio
from argparse import Namespace
from pathlib import Path

from msgspec import Struct

from ullage.api.values import UsageResult, usage_result
from ullage.cli.draw.compaction_box import compaction_box
from ullage.cli.draw.context_box import context_box
from ullage.cli.files import write_text
from ullage.cli.options import CompactOptions, read_options
from ullage.cli.result import result_object
from ullage.cli.source import Source, open_source
from ullage.cli.terminal import print_json, print_lines, terminal_glyphs, to_json, working
from ullage.model.blocks import CompactionBlock
from ullage.model.edits import compaction_block
from ullage.model.errors import InputError, NothingToCompact
from ullage.model.words import nothing_to_compact
from ullage.service.contexts import compact_by_hand
from ullage.service.fitting import fit_budget


class _Outcome(Struct, frozen=True, kw_only=True):
    result: dict[str, object]
    compaction: CompactionBlock | None
    other_edits: tuple[str, ...]
    usage: UsageResult
    now: int


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
    if options.summarizer != "offline":
        raise InputError(f"summarizer {options.summarizer!r} is not there yet; the only one now is: offline")
    source = Path(options.target)
    if options.output is not None and options.output.exists() and source.exists() and options.output.samefile(source):
        raise InputError(f"{options.output} is the transcript itself, which is never written to; name another file")


async def _compact(options: CompactOptions) -> _Outcome:
    async with open_source(options, reports=False) as source:
        before = source.session.transcript.edits_in_force
        block = await _block(source, options)
        session = source.workspace.session(source.session.id)
        made = [edit.kind for edit in session.transcript.edits_in_force if edit not in before]
        return _Outcome(
            result=await result_object(source, options.provider, block),
            compaction=block,
            other_edits=tuple(kind for kind in made if kind != "compaction"),
            usage=usage_result(source.workspace, session),
            now=source.workspace.ports.clock.now(),
        )


async def _block(source: Source, options: CompactOptions) -> CompactionBlock | None:
    if options.budget is not None:
        edit = await fit_budget(source.workspace, source.session, options.budget, options.focus)
        return compaction_block(edit) if edit else None
    try:
        return compaction_block(await compact_by_hand(source.workspace, source.session.id, options.focus))
    except NothingToCompact:
        return None


def _print(outcome: _Outcome, *, ascii_only: bool) -> None:
    glyphs = terminal_glyphs(ascii_only=ascii_only)
    if outcome.compaction is not None:
        print_lines([*compaction_box(outcome.compaction, glyphs), "", outcome.compaction.summary.strip(), ""])
    elif not outcome.other_edits:
        print_lines([nothing_to_compact(outcome.usage.meta.ullage.messages_active, outcome.usage.used)])
    if outcome.other_edits:
        print_lines([f"To fit, messages or blocks were also cut or left out: {', '.join(outcome.other_edits)}."])
    print_lines(context_box(outcome.usage, outcome.now, glyphs))
