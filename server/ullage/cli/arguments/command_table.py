"""The table of commands, as they are listed."""

from argparse import ArgumentParser

from ullage.cli.arguments.agent_arguments import AGENT_COMMANDS
from ullage.cli.arguments.command import Command
from ullage.cli.arguments.program_arguments import PROGRAM_COMMANDS
from ullage.cli.arguments.server_arguments import SERVER_COMMANDS
from ullage.cli.arguments.session_arguments import SESSION_COMMANDS


def _help(parser: ArgumentParser) -> None:
    names = [command.name for command in COMMANDS]
    parser.add_argument("command", nargs="?", choices=names, metavar="COMMAND", help="the command; without it, all")


def _nothing(parser: ArgumentParser) -> None:
    del parser


# `help` is answered by `command_line.py`. It is in the table so that it is listed, and completed.
COMMANDS = (
    *AGENT_COMMANDS,
    *SESSION_COMMANDS,
    *SERVER_COMMANDS,
    *PROGRAM_COMMANDS,
    Command("man", "show the manual page", _nothing),
    Command("help", "show the help of a command", _help),
)
