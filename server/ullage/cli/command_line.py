"""Parses the command line. An invalid command line is reported in one line, with the most similar valid word."""

import os
import re
import shutil
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Iterable, Sequence
from functools import partial
from textwrap import fill
from typing import Any, NoReturn

from ullage import __version__
from ullage.cli.arguments.command_table import COMMANDS
from ullage.cli.arguments.shared_arguments import add_shared
from ullage.cli.color import asked_color, color_help, wants_color

_DEFAULT = "here"
_HELP = "help"
_HELP_OPTIONS = ("-h", "--help")
_NAMES = tuple(command.name for command in COMMANDS)
# Longer lines of help are hard to read, however wide the terminal is.
_WIDEST_HELP = 100
# The line with which argparse begins a list of commands. It repeats the usage.
_PLACEHOLDER = re.compile(r"^  COMMAND\n", re.MULTILINE)
_STATUSES = """\
exit status:
  0    done
  1    nothing was found, or `doctor` found something wrong
  2    wrong arguments, or an input, store or output that cannot be used
  130  interrupted (Ctrl-C)
  141  the reader of the output has left

environment:
  NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE, CLICOLOR
               colours; --color overrides them
  PAGER, LESS  the program that shows long output on a terminal
  COLUMNS      the width of drawings, 40 to 200
  ANTHROPIC_API_KEY, OPENAI_API_KEY
               the keys of the providers
  ULLAGE_STORE the session store without --store, as its value
  ULLAGE_LSP_OPTIONS
               more options of `ullage lsp`
"""


class Parser(ArgumentParser):
    """An argument parser that reports an invalid command line in one line and exits with status 2. It prints help in
    colour if `color_choice`, the value of `--color`, allows it."""

    color_choice = "auto"

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # From Python 3.14 on, argparse has colours of its own, which know nothing of `--color`.
        self.color = False

    def format_help(self) -> str:
        return _PLACEHOLDER.sub("", super().format_help())

    def print_help(self, file: Any = None) -> None:
        out, text = file or sys.stdout, self.format_help()
        colored = wants_color(self.color_choice, os.environ, on_terminal=out.isatty())
        self._print_message(color_help(text) if colored else text, out)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")

    @property
    def options(self) -> list[str]:
        """The names of the parser's long options, such as `--store`."""
        return [name for name in self._option_string_actions if name.startswith("--")]


def build_parser(color_choice: str = "auto", only: str | None = None) -> Parser:
    """Returns the parser of the whole command line, or with `only` that of one command. `color_choice` is the value of
    `--color` for the help.

    In what it parses, `module` is the name of the command's module in `commands`, and `parser` is the command's own
    parser.
    """
    width = min(_WIDEST_HELP, shutil.get_terminal_size().columns - 2)
    formatter = partial(RawDescriptionHelpFormatter, width=width)
    parser = Parser(
        prog="ullage",
        description=fill("Shows how full a model's context is, and compacts it without losing a message.", width),
        epilog=_STATUSES,
        formatter_class=formatter,
    )
    parser.color_choice = color_choice
    parser.add_argument("--version", action="version", version=f"ullage {__version__}")
    add_shared(parser, set_defaults=True)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Parser)
    for command in COMMANDS if only is None else (one for one in COMMANDS if one.name == only):
        about = f"{command.help[0].upper()}{command.help[1:]}."
        sub = commands.add_parser(command.name, help=command.help, description=about, formatter_class=formatter)
        sub.color_choice = color_choice
        sub.set_defaults(module=command.module or command.name, parser=sub)
        command.add_arguments(sub)
        add_shared(sub, set_defaults=False)
    return parser


def parse(argv: Sequence[str]) -> Namespace:
    """Returns the parsed arguments. For `--help`, `help`, `--version` and invalid arguments, prints a text and exits
    the program instead."""
    parser = build_parser(asked_color(argv), _asked_alone(argv))
    args, unknown = parser.parse_known_args(_with_command(parser, list(argv)))
    if unknown:
        own: Parser = args.parser
        option = next((word.split("=")[0] for word in unknown if word.startswith("-")), "")
        own.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(option, own.options)}")
    return args


def _asked_alone(argv: Sequence[str]) -> str | None:
    """Returns the command whose parser is enough, or None if there are to be all: making these takes a twentieth of a
    short command's time."""
    command = _find_command(argv)
    if command is None and not {"--version", *_HELP_OPTIONS} & {*argv}:
        return _DEFAULT
    return command if command in _NAMES and command != _HELP else None


def _with_command(parser: Parser, argv: list[str]) -> list[str]:
    """Returns the arguments with a known command first; without a command, `here` is added. `help` becomes `--help`.
    Exits the program if there is no such command."""
    command = _find_command(argv)
    if command == _HELP or (argv and argv[0] in _HELP_OPTIONS):
        asked = _find_command(argv[argv.index(_HELP) + 1 :] if command == _HELP else argv[1:])
        if asked is None or asked == _HELP:
            return ["--help"]
        return [_checked(parser, asked), "--help"]
    if command is None:
        return argv if "--version" in argv or set(_HELP_OPTIONS) & set(argv) else [_DEFAULT, *argv]
    _checked(parser, command)
    return argv


def _find_command(argv: Sequence[str]) -> str | None:
    """Returns the command: the first word that is neither an option nor the value of an option. Returns None if there
    is no such word, or if an option that belongs to a command comes first."""
    words = iter(argv)
    for word in words:
        if word in ("--store", "--color"):
            next(words, None)
        elif not word.startswith("-"):
            return word
        elif word not in ("--no-pager",) and not word.startswith(("--store=", "--color=")):
            # An option of a command: the command was left out.
            return None
    return None


def _checked(parser: Parser, command: str) -> str:
    if command not in _NAMES:
        parser.error(f"there is no command {command!r}{_meant(command, _NAMES)}")
    return command


def _meant(word: str, known: Iterable[str]) -> str:
    # Imported on use: only a wrong word needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(word, list(known), n=1) if word else []
    return f"; did you mean {near[0]}?" if near else ""
