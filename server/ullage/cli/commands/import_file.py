"""`ullage import`: reads another program's transcript into a stored session."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import asdict

from ullage.agents.discovery import UnreadFile
from ullage.api.protocol import UsageResult, usage_result
from ullage.app.compose import open_workspace
from ullage.cli.arguments import StoreOptions, add_drawing, add_file, read_options
from ullage.cli.drawing import Screen, plural, print_json, working
from ullage.cli.reports import Figures, Report, UnreadLine, figures_of
from ullage.cli.session_source import STDIN, read_transcript, unread_words
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.model.errors import InvalidRequest
from ullage.model.words import context_line
from ullage.service.archive.search import index_session
from ullage.service.conversation.environment import beside_the_log
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import Imported, ImportOutcome, import_or_continue
from ullage.system.growing_files import conversations_in


class ImportOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage import`. `file` may be `-` for standard input."""

    file: str
    format: str | None
    run: int | None


class ImportReport(Figures, frozen=True, kw_only=True):
    """What `ullage import --json` prints.

    `outcome` says whether the session is new, unchanged, grown, or diverged from the session `diverged_from`. `added`
    is the number of messages that were appended. `passed_over` is the number of lines that are not part of the
    conversation.
    """

    session_id: str
    title: str
    format: str
    outcome: str
    messages: int
    added: int
    diverged_from: str | None
    unread_lines: tuple[UnreadLine, ...]
    passed_over: int


class ImportsReport(Report, frozen=True, kw_only=True):
    """What `ullage import --json` prints for a folder with several conversations: a report of each, and the files that
    could not be read."""

    imported: tuple[ImportReport, ...]
    unread_files: tuple[UnreadFile, ...]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the transcript, a folder of them, or `-` for standard input")
    add_file(parser)
    add_drawing(parser)


_NEXT = "What fills it: ullage context "


def run(args: Namespace) -> int:
    """Imports a transcript as a stored session, or continues the session that was imported from it before. Prints the
    session's id and size, what was added, and how many lines of the file were not read, or with `--json` an
    `ImportReport`. Of a folder with several conversations each is imported. Returns 0, or 1 if none of them could be
    read."""
    options, screen = read_options(args, ImportOptions), Screen.of(args)
    folder = Path(options.file).expanduser()
    if options.file != STDIN and options.run is None and folder.is_dir():
        with working(f"Reading {options.file}"):
            files = conversations_in(folder)
        if files:
            return _run_all(files, options, screen)
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


def _run_all(files: Sequence[Path], options: ImportOptions, screen: Screen) -> int:
    """Imports several files, one after another. Prints a line for each, or with `--json` an `ImportsReport`."""
    with working("Importing") as tell, open_workspace(options.store) as workspace:
        report = asyncio.run(_import_all(workspace, files, options, tell))
    if options.json:
        print_json(report)
    else:
        for one in report.imported:
            screen.print([f"{one.session_id}  {plural(one.messages, 'message')}, {one.outcome}  {one.title}"])
        lines = [f"{plural(len(report.imported), 'conversation')} of {len(files):,} imported."]
        lines += [f"{one.path} could not be read: {one.reason}" for one in report.unread_files]
        screen.print([line for text in lines for line in screen.prose(text)])
    return 0 if report.imported else 1


async def _import_all(
    workspace: Workspace, files: Sequence[Path], options: ImportOptions, tell: Callable[[str], None]
) -> ImportsReport:
    imported, unread = list[ImportReport](), list[UnreadFile]()
    for number, file in enumerate(files, start=1):
        tell(f"Importing {number:,} of {len(files):,}: {file.name}")
        try:
            transcript = await asyncio.to_thread(read_transcript, str(file), options.format, None)
            imported.append(_report(*await _import(workspace, transcript, str(file), tell), transcript))
        except InvalidRequest as error:
            unread.append(UnreadFile(path=str(file), reason=str(error)))
    return ImportsReport(imported=tuple(imported), unread_files=tuple(unread))


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
            yield f"It begins as {imported.diverged_from} does and goes another way: this is a new conversation."
    yield context_line(usage.used, usage.size, usage.meta.ullage.source)
    if passed_over := len(transcript.skipped) - len(_unread(transcript)):
        yield f"{plural(passed_over, 'line')} of the file {'holds' if passed_over == 1 else 'hold'} no message."


def _unread(transcript: ImportedTranscript) -> list[SkippedLine]:
    return [line for line in transcript.skipped if not line.expected]
