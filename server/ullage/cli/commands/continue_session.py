"""`ullage continue`: writes a new session that an agent can resume."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

from ullage.app.scratch import examples_of
from ullage.cli.continue_report import ContinueReport
from ullage.cli.draw.text import percent, plain, plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.session_source import read_source, throwaway_copy
from ullage.cli.typed_arguments import ContinueOptions, read_options
from ullage.cli.visible import visible
from ullage.service.continuing.prepare import Prepared, prepare_continuation
from ullage.service.continuing.wanted import BUDGET, WantedContext
from ullage.system.created_files import create_file
from ullage.watch.finder import machine_of_paths


def run(args: Namespace) -> int:
    """Writes the session and prints its figure and the command that resumes it, or with `--json` a `ContinueReport`.
    With `--preview` nothing is written. Returns 0. Raises `InputError` if the agent's sessions can't be written."""
    options = read_options(args, ContinueOptions)
    screen = Screen.of(args)
    with working("Reading"):
        source = read_source(options)
        with throwaway_copy(source.transcript, options) as scratch:
            wanted, machine, cwd = _wanted(options), machine_of_paths(), str(Path.cwd())
            examples = examples_of(wanted.agent, source.transcript.cwd or cwd)
            prepared = asyncio.run(
                prepare_continuation(scratch, source.transcript, wanted, machine, cwd, examples=examples)
            )
    report = _report(prepared, source.name, written=not options.preview)
    if not options.preview:
        create_file(prepared.continuation.path, prepared.continuation.data)
    if options.json:
        print_json(report)
    else:
        screen.print(_lines(report, screen))
    return 0


def _wanted(options: ContinueOptions) -> WantedContext:
    return WantedContext(
        agent=options.agent,
        before_compaction=options.before_compaction,
        from_message=options.from_message,
        compacted=options.is_compacted,
        budget=options.budget or BUDGET,
        focus=options.focus,
    )


def _report(prepared: Prepared, source: str, *, written: bool) -> ContinueReport:
    planned = prepared.continuation
    return ContinueReport(
        agent=planned.agent,
        session_id=planned.session.id,
        source=source,
        path=planned.path,
        cwd=planned.session.cwd,
        command=planned.command,
        shell=planned.shell_command,
        written=written,
        messages=prepared.messages,
        left_out=prepared.left_out,
        used=prepared.used,
        hidden=prepared.hidden,
        before=prepared.before,
        size=prepared.size,
        compacts_at=prepared.compacts_at,
        fits=prepared.fits,
        notes=prepared.notes,
    )


def _lines(report: ContinueReport, screen: Screen) -> Iterator[str]:
    share = f" of {report.size:,} ({percent(report.used, report.size)}%)" if report.size else ""
    before = f", {report.before:,} before" if report.before is not None else ""
    kept = f"{plural(report.messages, 'message')}, {report.left_out:,} left out"
    what = f"{report.agent}: {report.used:,} tokens{share}{before}; {kept}."
    yield from screen.prose(plain(what, screen.glyphs))
    for note in report.notes:
        yield from screen.prose(plain(note, screen.glyphs))
    if report.written:
        yield f"New session: {visible(report.path)}"
        yield "Resume it with:"
        yield f"  {visible(report.shell)}"
    else:
        yield "Nothing was written."
