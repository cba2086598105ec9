"""`ullage continue`: writes a new session that the agent of a conversation can resume."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from ullage.api.values import usage_result
from ullage.cli.continue_report import ContinueReport
from ullage.cli.draw.text import percent, plain, plural
from ullage.cli.figures import with_hidden
from ullage.cli.output import Screen, print_json, working
from ullage.cli.session_source import Source, first_messages, open_source
from ullage.cli.typed_arguments import ContinueOptions, read_options
from ullage.model.events import Event, MessageAppended
from ullage.service.archive.continuation import (
    Continuation,
    events_before_compaction,
    plan_continuation,
    whole_up_to,
    write_continuation,
)
from ullage.service.compact.to_budget import fit_budget
from ullage.system.created_files import LocalNewFiles
from ullage.watch.finder import machine_of_paths

# Tokens of messages in a compacted session, without what the agent adds. A tenth of the smallest usual window, and five
# times what agents' own compactions leave: 2,200 to 4,200 in recorded conversations.
_BUDGET = 20_000


class _Chosen:
    """The events of which the new session is made. `total` counts the messages of the whole conversation. `notes` are
    sentences about the choice."""

    def __init__(self, options: ContinueOptions) -> None:
        self._options = options
        self.total = 0
        self.notes: list[str] = []

    def __call__(self, events: Sequence[Event]) -> Sequence[Event]:
        self.total = _count(events)
        wanted = self._options.from_message
        if self._options.before_compaction:
            return events_before_compaction(events)
        if wanted is None:
            return events
        last = whole_up_to(events, wanted)
        if last > wanted:
            self.notes.append(f"It ends with message #{last:,}, because what begins with #{wanted:,} must stay whole.")
        return [*first_messages(events, last)]


def run(args: Namespace) -> int:
    """Writes the session and prints its figure and the command that resumes it, or with `--json` a `ContinueReport`.
    With `--preview` nothing is written. Returns 0. Raises `InputError` if the agent's sessions can't be written."""
    options = read_options(args, ContinueOptions)
    screen = Screen.of(args)
    with working("Reading"):
        report = asyncio.run(_run(options))
    if options.json:
        print_json(report)
    else:
        screen.print(_lines(report, screen))
    return 0


async def _run(options: ContinueOptions) -> ContinueReport:
    chosen = _Chosen(options)
    async with open_source(options, reports=False, cut=chosen) as source:
        # An agent whose sessions can't be written is refused before anything is compacted.
        plan_continuation(source.conversation, machine_of_paths(), str(Path.cwd()))
        before = source.conversation.used + source.hidden
        is_compacted = options.is_compacted and await _compact(source, options, chosen.notes)
        planned = plan_continuation(source.conversation, machine_of_paths(), str(Path.cwd()))
        report = _report(source, planned, chosen, before if is_compacted else None, written=not options.preview)
    if not options.preview:
        write_continuation(LocalNewFiles(), planned)
    return report


async def _compact(source: Source, options: ContinueOptions, notes: list[str]) -> bool:
    """Compacts the context to the budget. Returns whether that was needed."""
    conversation, budget = source.conversation, options.budget or _BUDGET
    if conversation.used <= budget:
        notes.append(
            f"The messages count {conversation.used:,} tokens, within the budget of {budget:,}: nothing was compacted."
        )
        return False
    await fit_budget(conversation, budget, options.focus)
    return True


def _report(
    source: Source, planned: Continuation, chosen: _Chosen, before: int | None, *, written: bool
) -> ContinueReport:
    usage = with_hidden(usage_result(source.conversation), source.hidden)
    transcript, meta = source.conversation.transcript, usage.meta.ullage
    compacts_at = meta.threshold.tokens if meta.threshold else None
    notes = list(chosen.notes)
    if compacts_at is not None and usage.used >= compacts_at:
        notes.append(f"{planned.agent} compacts at {compacts_at:,} tokens, so it may compact this session at once.")
    return ContinueReport(
        agent=planned.agent,
        session_id=planned.session.id,
        source=source.name,
        path=planned.path,
        cwd=planned.session.cwd,
        command=planned.command,
        shell=planned.shell_command,
        written=written,
        messages=transcript.active,
        left_out=chosen.total - transcript.active,
        used=usage.used,
        hidden=source.hidden,
        before=before,
        size=usage.size,
        compacts_at=compacts_at,
        notes=tuple(notes),
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
        yield f"New session: {report.path}"
        yield "Resume it with:"
        yield f"  {report.shell}"
    else:
        yield "Nothing was written."


def _count(events: Sequence[Event]) -> int:
    return sum(isinstance(event, MessageAppended) for event in events)
