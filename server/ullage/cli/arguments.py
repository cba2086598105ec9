"""The arguments of every command. Fast to import: the commands themselves are in `commands/<name>.py`."""

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

from ullage import __version__

# The default port of debugpy and its clients.
_DEBUGGER_PORT = 5678
_TARGET_HELP = "a transcript's path, or the id of a stored session"


class Command(NamedTuple):
    """A command: its name, one line of help, the function that adds its arguments, and its module in `commands`.

    An empty `module` means a module with the command's name.
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    module: str = ""


class _Parser(ArgumentParser):
    """A parser that reports a wrong command line in one line and exits with status 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def build_parser() -> ArgumentParser:
    """Returns the parser of the whole command line. Its result's `module` names the command's module in `commands`."""
    parser = _Parser(
        prog="ullage",
        description="Shows how full a model's context is, and compacts it without losing a message.",
    )
    parser.add_argument("--version", action="version", version=f"ullage {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        sub = commands.add_parser(command.name, help=command.help, description=command.help)
        sub.add_argument("--store", type=Path, metavar="PATH", help="the session store's file")
        sub.set_defaults(module=command.module or command.name)
        command.add_arguments(sub)
    return parser


def _tokens(text: str) -> int:
    """Parses a positive number, in which `_` or `,` may separate thousands.

    Raises `ArgumentTypeError` for anything else.
    """
    digits = text.replace(",", "").replace("_", "")
    if not digits.isdecimal() or int(digits) == 0:
        raise ArgumentTypeError(f"{text!r} is not a positive whole number")
    return int(digits)


def _lsp(parser: ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="log everything")
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to standard error")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append every message to this file, as JSON lines")
    parser.add_argument(
        "--wait-for-debugger",
        type=_port,
        nargs="?",
        const=_DEBUGGER_PORT,
        metavar="PORT",
        help=f"wait for a debugger at this port of localhost ({_DEBUGGER_PORT}); needs debugpy",
    )


def _port(text: str) -> int:
    """Parses a TCP port. Raises `ArgumentTypeError` for anything else."""
    if not text.isdecimal() or not 0 < int(text) < 1 << 16:
        raise ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def _acp(parser: ArgumentParser) -> None:
    parser.add_argument("--settings", metavar="JSON|FILE", help="settings, as editors send them: JSON, or its file")
    parser.add_argument("--model", metavar="NAME", help="the model of sessions that name none")
    parser.add_argument(
        "agent", nargs="*", metavar="AGENT", help="behind `--`: an agent's command line, to be its proxy"
    )
    parser.add_argument(
        "--window", type=_tokens, metavar="TOKENS", help="the window of an agent that does not tell its own"
    )
    parser.add_argument(
        "--hand-over",
        action="store_true",
        help="compact by a summary in a fresh session, though the agent has a command of its own",
    )


def _file(parser: ArgumentParser) -> None:
    parser.add_argument("--format", metavar="NAME", help="the transcript's format, if it is not detected")
    parser.add_argument("--run", type=_tokens, metavar="N", help="which conversation, if the file holds several")


def _reading(parser: ArgumentParser) -> None:
    _file(parser)
    parser.add_argument("--model", metavar="NAME", help="the model, in place of the one the transcript names")
    parser.add_argument(
        "--window", type=_tokens, metavar="TOKENS", help="the model's window, in place of the known one"
    )


def _target(parser: ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE|SESSION", help=_TARGET_HELP)
    _reading(parser)
    parser.add_argument("--at", type=_tokens, metavar="N", help="only the first N messages")


def _result(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--provider", choices=["anthropic", "openai"], default="anthropic", help="the shape of the messages in --json"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _drawing(parser: ArgumentParser) -> None:
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")


def _context(parser: ArgumentParser) -> None:
    _target(parser)
    _result(parser)
    _drawing(parser)


def _compact(parser: ArgumentParser) -> None:
    _target(parser)
    parser.add_argument("--budget", type=_tokens, metavar="TOKENS", help="the most the resulting context may count")
    parser.add_argument("--from", dest="first", metavar="MESSAGE", help="only from this message on (number or id)")
    parser.add_argument("--up-to", dest="last", metavar="MESSAGE", help="only up to this message (number or id)")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what to keep above all")
    _result(parser)
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="write the JSON object to this file")
    _drawing(parser)


def _history(parser: ArgumentParser) -> None:
    _target(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    _drawing(parser)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="the transcript")
    _file(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _sessions(parser: ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="FOLDER", help="only sessions of this folder")
    parser.add_argument("--limit", type=_tokens, default=20, metavar="N", help="how many, the newest first")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")
    _drawing(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id")
    parser.add_argument(
        "--as",
        dest="shape",
        choices=["ullage", "anthropic", "openai"],
        default="ullage",
        help="the whole log (default), or the context as a provider's request",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file")


def _inspect(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id")
    parser.add_argument("--json", action="store_true", help="print one JSON object an event, with all its fields")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", metavar="QUERY", help="words, names or a question; archived messages count")
    parser.add_argument("--session", metavar="SESSION", help="only in this session")
    parser.add_argument("--limit", type=_tokens, default=10, metavar="N", help="how many, the best first")
    parser.add_argument("--show", metavar="ID", help="print this message of the session whole, instead of searching")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="play this transcript, not the sample")
    _file(parser)
    parser.add_argument("--window", type=_tokens, metavar="TOKENS", help="the window to play it in")
    parser.add_argument("--fast", action="store_true", help="as fast as the server answers")
    parser.add_argument("--svg", type=Path, metavar="PATH", help="write the final screen as a picture")
    _drawing(parser)


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="check this provider: anthropic, openai, or one of your own")
    parser.add_argument(
        "--kind",
        choices=["anthropic", "openai", "openai_chat", "scripted", "replay"],
        help="what it speaks; openai_chat unless it is known by name",
    )
    parser.add_argument("--base-url", metavar="URL", help="its address, for example http://localhost:11434/v1")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds its key")
    parser.add_argument("--file", metavar="PATH", help="the script or transcript that it plays")
    parser.add_argument("--model", metavar="NAME", help="a model that it should have")
    parser.add_argument("--json", action="store_true", help="print one JSON object for programs")


def _schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="?", choices=["methods", "settings"], default="methods", help="the protocol, or the settings"
    )


COMMANDS = (
    Command("lsp", "serve the Language Server on standard input and output", _lsp),
    Command("acp", "serve the Agent Client Protocol on standard input and output", _acp),
    Command("context", "show how full a context is, and of what", _context),
    Command("compact", "replace the older part of a context by a summary", _compact),
    Command("history", "list the edits of a context and what each saved", _history),
    Command("import", "read another program's transcript into a stored session", _import, "import_file"),
    Command("sessions", "list stored sessions", _sessions),
    Command("inspect", "print the events of a stored session's log, one a line", _inspect),
    Command("export", "write a stored session out", _export),
    Command("search", "search everything ever said in stored sessions", _search),
    Command("demo", "watch a conversation fill a context and be compacted", _demo),
    Command("doctor", "check the installation and the providers", _doctor),
    Command("schema", "print the JSON Schema of the protocol or the settings", _schema),
)
