"""`ullage import`: reads another program's transcript into a stored session."""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import asdict

from ullage.api.values import UsageResult, usage_result
from ullage.app.compose import open_workspace
from ullage.cli.draw.text import plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reported_figures import figures_of
from ullage.cli.reports import ImportReport, UnreadLine
from ullage.cli.session_source import STDIN, read_transcript
from ullage.cli.typed_arguments import ImportOptions, read_options
from ullage.cli.unread import unread_words
from ullage.formats.transcripts.imported import ImportedTranscript, SkippedLine
from ullage.model.words import context_line
from ullage.service.archive.indexing import index_session
from ullage.service.conversation.environment import beside_the_log
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import Imported, ImportOutcome, import_or_continue

_NEXT = "What fills it: ullage context "


def run(args: Namespace) -> int:
    """Imports a transcript as a stored session, or continues the session that was imported from it before. Prints the
    session's id and size, what was added, and how many lines of the file were not read, or with `--json` an
    `ImportReport`. Returns 0."""
    options, screen = read_options(args, ImportOptions), Screen.of(args)
    with working(f"Importing {options.file}") as tell:
        transcript = read_transcript(options.file, options.format, options.run)
        with open_workspace(options.store) as workspace:
            imported, usage = asyncio.run(_import(workspace, transcript, options.file, tell))
    if options.json:
        print_json(_report(imported, usage, transcript))
    else:
        lines = (line for text in _words(imported, usage, transcript) for line in screen.prose(text))
        screen.print(
            [*lines, *unread_words(_unread(transcript), screen), *screen.prose(_NEXT + imported.conversation.id)]
        )
    return 0


async def _import(
    workspace: Workspace, transcript: ImportedTranscript, file: str, tell: Callable[[str], None]
) -> tuple[Imported, UsageResult]:
    own = "" if file == STDIN else workspace.own_files.path_of(str(Path(file).expanduser()))
    imported = await import_or_continue(workspace, transcript, "", own)
    # A context over its window is compacted at once, and the process must not end before that.
    await imported.conversation.settled()
    # Here the user waits for a file to be read anyway; the first search would make them wait again.
    with beside_the_log():
        await index_session(
            workspace, imported.conversation.id, lambda left: tell(f"Indexing {plural(left, 'record')} for the search")
        )
    return imported, usage_result(imported.conversation)


def _report(imported: Imported, usage: UsageResult, transcript: ImportedTranscript) -> ImportReport:
    unread = tuple(UnreadLine(line=line.line, reason=line.reason) for line in _unread(transcript))
    conversation = imported.conversation
    return ImportReport(
        **asdict(figures_of(usage)),
        session_id=conversation.id,
        title=conversation.transcript.title,
        format=transcript.format,
        outcome=imported.outcome.value,
        messages=conversation.transcript.messages,
        added=imported.added,
        diverged_from=imported.diverged_from,
        unread_lines=unread,
        passed_over=len(transcript.skipped) - len(unread),
    )


def _words(imported: Imported, usage: UsageResult, transcript: ImportedTranscript) -> Iterator[str]:
    conversation = imported.conversation
    yield f"{conversation.id}  {plural(conversation.transcript.messages, 'message')}, {transcript.format}"
    match imported.outcome:
        case ImportOutcome.NEW:
            pass
        case ImportOutcome.UNCHANGED:
            yield "Imported before: nothing new in it."
        case ImportOutcome.GROWN:
            yield f"Imported before: {plural(imported.added, 'message')} added."
        case ImportOutcome.DIVERGED:
            yield f"It begins as {imported.diverged_from} does and goes another way: this is a new session."
    yield context_line(usage.used, usage.size, usage.meta.ullage.source)
    if passed_over := len(transcript.skipped) - len(_unread(transcript)):
        yield f"{plural(passed_over, 'line')} of the file {'holds' if passed_over == 1 else 'hold'} no message."


def _unread(transcript: ImportedTranscript) -> list[SkippedLine]:
    return [line for line in transcript.skipped if not line.expected]
