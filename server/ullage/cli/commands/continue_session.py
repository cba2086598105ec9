"""`ullage continue`: writes a new session that an agent can resume."""

import asyncio
import os
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from msgspec import convert
from msgspec.structs import asdict

from ullage.app.compose import examples_of
from ullage.cli.arguments import ReadingOptions, add_drawing, add_target, number, read_options
from ullage.cli.drawing import Screen, agreed, percent, plain, plural, print_json, working
from ullage.cli.reports import Report, filled
from ullage.cli.session_source import read_source, throwaway_copy
from ullage.cli.terminal import at_home, visible
from ullage.service.continuing import BUDGET, WantedContext, prepare_continuation
from ullage.system.shared_files import create_file
from ullage.watch.candidates import machine_of_paths


class ContinueOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage continue`. `from_message` is a message's number, counted from 1,
    and `agent` the name of the agent that resumes it, "" for the conversation's own."""

    agent: str
    compacted: bool
    before_compaction: bool
    from_message: int | None
    budget: int | None
    focus: str
    preview: bool

    @property
    def is_compacted(self) -> bool | None:
        """True if a compacted context is asked for, else None."""
        return self.compacted or self.budget is not None or bool(self.focus) or None


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    what = parser.add_mutually_exclusive_group()
    parser.add_argument("--in", dest="agent", default="", metavar="AGENT", help="the agent that resumes it; its own")
    what.add_argument("--before-compaction", action="store_true", help="as it was before the agent's last compaction")
    what.add_argument("--after", dest="from_message", type=number, metavar="N", help="as it was after message N")
    parser.add_argument("--compacted", action="store_true", help="compact it; the default without the two above")
    parser.add_argument("--budget", type=number, metavar="TOKENS", help="compact its messages to at most so many; 20k")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what the summary must keep above all")
    parser.add_argument("--preview", action="store_true", help="write nothing, only show the figure")
    add_drawing(parser)


class ContinueReport(Report, frozen=True, kw_only=True):
    """What `ullage continue --json` prints: the new session. `written` is false for a preview.

    `source` is the path or id of what it is made from, `path` the new file, and `command` the words that resume it in
    the folder `cwd`; `shell` is the same for a shell. `messages` are those of the new session, `left_out` those of the
    conversation that are not among them. `used` is the size of its context with what the agent adds to every request
    (`hidden`), and `before` the size before Ullage compacted it, null if it did not. `size` is the window and
    `compacts_at` where the agent compacts by itself, null if unknown. `fits` is false if the agent may compact the
    session before it asks the first prompt. `notes` are sentences for the user.
    """

    agent: str
    session_id: str
    source: str
    path: str
    cwd: str
    command: tuple[str, ...]
    shell: str
    written: bool
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    fits: bool
    notes: tuple[str, ...]


def run(args: Namespace) -> int:
    """Writes the session and prints its figure and the command that resumes it, or with `--json` a `ContinueReport`.
    With `--preview` nothing is written. On a terminal the user is then asked whether to go on in it, and the agent runs
    in place of this process. Returns 0, or the agent's status. Raises `InputError` if the agent's sessions can't be
    written."""
    options = read_options(args, ContinueOptions)
    screen = Screen.of(args)
    with working("Reading"):
        source = read_source(options)
        with throwaway_copy(source.transcript, options) as scratch:
            more = {"compacted": options.is_compacted, "budget": options.budget or BUDGET}
            wanted, machine, cwd = filled(WantedContext, (options,), **more), machine_of_paths(), str(Path.cwd())
            examples = examples_of(wanted.agent, source.transcript.cwd or cwd)
            prepared = asyncio.run(
                prepare_continuation(scratch, source.transcript, wanted, machine, cwd, examples=examples)
            )
    # All but three fields have the names that the protocol gives them.
    own = {"session_id": prepared.shown.agent_session_id, "source": source.name, "written": not options.preview}
    report = convert({**asdict(prepared.shown), **own}, ContinueReport)
    if not options.preview:
        create_file(prepared.continuation.path, prepared.continuation.data)
    if options.json:
        print_json(report)
        return 0
    screen.print(_lines(report, screen))
    can_run = report.written and which(report.command[0]) and Path(report.cwd).is_dir()
    if can_run and sys.stdin.isatty() and sys.stdout.isatty() and agreed("Go on in it now?", by_enter=True):
        return _resume(report)
    return 0


def _resume(report: ContinueReport) -> int:
    """Runs the agent in place of this process. Returns its status, only where a process can't be replaced."""
    program = which(report.command[0]) or report.command[0]
    if sys.platform != "win32":
        os.chdir(report.cwd)
        os.execv(program, report.command)
    return subprocess.call([program, *report.command[1:]], cwd=report.cwd)


def _lines(report: ContinueReport, screen: Screen) -> Iterator[str]:
    share = f" of {report.size:,} ({percent(report.used, report.size)}%)" if report.size else ""
    before = f", {report.before:,} before" if report.before is not None else ""
    left_out = f"; {report.left_out:,} left out" if report.left_out else ""
    what = f"The new session has {report.used:,} tokens{share}{before}: {plural(report.messages, 'message')}{left_out}."
    yield from screen.prose(plain(what, screen.glyphs))
    for note in report.notes:
        yield from screen.prose(plain(note, screen.glyphs))
    if report.written:
        yield f"The new session is {visible(at_home(report.path))}"
        yield "Go on in it:"
        yield f"  {visible(report.shell)}"
    else:
        yield "Nothing was written."
