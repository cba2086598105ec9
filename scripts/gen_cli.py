"""Writes the shells' completions and the manual page from the table of arguments, or with --check names each file that
has drifted. They are installed with Ullage: `ullage completion SHELL`, `ullage man`.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from generators import ROOT, settle
from ullage import __version__
from ullage.cli.arguments import COMMON
from ullage.cli.command_line import build_parser, options_page

shtab = cast("Any", import_module("shtab"))
manpage = cast("Any", import_module("argparse_manpage.manpage"))

DATA = ROOT / "server" / "ullage" / "cli" / "data"
SHELLS = ("bash", "zsh", "fish")
SESSIONS = "ullage --ids --limit 100 2>/dev/null"
# Columns of the usage lines, which argparse otherwise breaks for the terminal that the script runs in.
COLUMNS = 78
# What each placeholder of the help stands for.
COMPLETED = {
    "FILE": shtab.FILE,
    "PATH": shtab.FILE,
    "STORE": shtab.FILE,
    "OUT": shtab.FILE,
    "JSON|FILE": shtab.FILE,
    "FOLDER": shtab.DIRECTORY,
    "WHICH": shtab.FILE,
}
# The arguments that name a conversation by its id alone.
IDS = ("session", "names")


def parser() -> argparse.ArgumentParser:
    """Returns the parser, with what to complete for each placeholder."""
    whole = build_parser()
    for action in actions_of(whole):
        completed = shtab.cmd(SESSIONS) if action.dest in IDS else COMPLETED.get(str(action.metavar))
        if completed is not None:
            cast("Any", action).complete = completed
    return whole


def actions_of(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yields every argument, those of the commands included."""
    yield from cast("Any", parser)._actions
    for command in commands_of(parser):
        yield from actions_of(command)


def commands_of(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yields the parsers of the commands."""
    choices = (action.choices for action in cast("Any", parser)._actions)
    for commands in cast("Iterator[Any]", choices):
        if isinstance(commands, Mapping):
            yield from cast("Mapping[str, argparse.ArgumentParser]", commands).values()


def completion(shell: str) -> str:
    """Returns the completion script for a shell."""
    return as_committed(shtab.complete(parser(), shell=shell))


def manual() -> str:
    """Returns the manual page, in roff."""
    facts = {
        "prog": "ullage",
        "version": __version__,
        "project_name": "ullage",
        "manual_title": "Ullage",
        "description": "how full a model's context is",
    }
    whole = build_parser()
    common = options_page()
    common.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=COLUMNS)
    sections = common.format_help().partition("\n\n")[2].partition("\n\n")[2].split("\n\n")
    for command in commands_of(whole):
        command.formatter_class = partial(argparse.HelpFormatter, width=COLUMNS)
        # The page has the command's line of help before it, and the options of many commands once.
        command.description = command.epilog = None
        for action in actions_of(command):
            if getattr(cast("Any", action).container, "title", "") == COMMON:
                action.help = argparse.SUPPRESS
    page = str(manpage.Manpage(whole, facts, format="single-commands-section"))
    # The date of the page would be that of the day on which it is made.
    page = re.sub(r'^\.TH (\S+) "?1"? "[^"]*"', r'.TH \1 "1" ""', page, flags=re.MULTILINE)
    return as_committed(page + "".join(map(section, sections)))


def section(text: str) -> str:
    """Returns a heading with lines under it, as a section whose lines stay as they are."""
    heading, _, lines = text.partition(":\n")
    kept = lines.replace("\\", "\\e").replace("-", "\\-")
    return f".SH {heading.upper()}\n.nf\n{kept.rstrip()}\n.fi\n"


def as_committed(text: str) -> str:
    """Returns a text without blanks at the ends of lines, and with one newline at its end."""
    return "\n".join(line.rstrip() for line in text.splitlines()).rstrip() + "\n"


def outputs() -> dict[Path, str]:
    """Returns each file's path and text."""
    return {**{DATA / f"ullage.{shell}": completion(shell) for shell in SHELLS}, DATA / "ullage.1": manual()}


def main() -> int:
    """Runs the script and returns its exit status: 1 if --check found drift."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--check", action="store_true", help="write nothing; name what has drifted")
    return settle(outputs(), "gen_cli.py", check=arguments.parse_args().check)


if __name__ == "__main__":
    sys.exit(main())
