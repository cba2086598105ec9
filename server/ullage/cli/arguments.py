"""The table of commands and their arguments. Fast to import: the commands themselves are in `commands/<name>.py`."""

from argparse import SUPPRESS, ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ullage.cli.argument_values import days, number, port, size
from ullage.cli.shared_arguments import add_drawing, add_file, add_json, add_provider, add_target

# The default port of debugpy and its clients.
_DEBUGGER_PORT = 5678


class Command(NamedTuple):
    """A command of `ullage`: its name, one line of help, the function that adds its arguments to a parser, and its
    module in `commands`.

    An empty `module` means that the module has the command's name.
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    module: str = ""


def add_shared(parser: ArgumentParser, *, set_defaults: bool) -> None:
    """Adds the options that every command has (`--store`, `--color`, `--no-pager`) to a parser.

    The options may be given before or after the command's name. `set_defaults` must be false for the parser of a
    command, because its defaults would replace the values given before the name.
    """
    store, color = (None, "auto") if set_defaults else (SUPPRESS, SUPPRESS)
    group = parser if set_defaults else parser.add_argument_group("options of every command")
    group.add_argument(
        "--store",
        type=Path,
        metavar="PATH",
        default=store,
        help="the session store's file; `doctor` names the usual one",
    )
    group.add_argument(
        "--color", choices=["auto", "always", "never"], default=color, help="colours; auto: on a terminal"
    )
    group.add_argument(
        "--no-pager", action="store_true", default=False if set_defaults else SUPPRESS, help="print long output at once"
    )


def _lsp(parser: ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="log everything")
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to standard error")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append every message to this file, as JSON lines")
    parser.add_argument(
        "--wait-for-debugger",
        type=port,
        nargs="?",
        const=_DEBUGGER_PORT,
        metavar="PORT",
        help=f"wait for a debugger at this port of localhost ({_DEBUGGER_PORT}); needs debugpy",
    )


def _acp(parser: ArgumentParser) -> None:
    parser.add_argument("--settings", metavar="JSON|FILE", help="settings, as editors send them: JSON, or its file")
    parser.add_argument("--model", metavar="NAME", help="the model of sessions that name none")
    parser.add_argument(
        "agent", nargs="*", metavar="AGENT", help="behind `--`: an agent's command line, to be its proxy"
    )
    parser.add_argument(
        "--window", type=number, metavar="TOKENS", help="the window of an agent that does not tell its own"
    )
    parser.add_argument(
        "--hand-over",
        action="store_true",
        help="compact by a summary in a fresh session, though the agent has a command of its own",
    )
    parser.add_argument(
        "--no-mcp",
        action="store_true",
        help="forward every message byte for byte: do not offer the agent Ullage's tools for looking up its history",
    )


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--session", metavar="SESSION", help="the conversation, if not the starting agent's")


def _here(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many, the newest")
    add_drawing(parser)


def _watch(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--since", type=number, default=3600, metavar="SECONDS", help="which: those that changed in this time"
    )
    add_drawing(parser)


def _statusline(parser: ArgumentParser) -> None:
    parser.add_argument("--tmux", action="store_true", help="for tmux: with its colours, nothing on standard input")
    parser.add_argument(
        "--plain", action="store_true", help="for a shell's prompt: no colours, nothing on standard input"
    )
    parser.add_argument("--pid", type=number, metavar="PID", help="show the agent that runs under this process")
    parser.add_argument("--cwd", metavar="FOLDER", help="show the live conversation of this folder; the working folder")
    parser.add_argument("--width", type=number, metavar="COLUMNS", help="the most columns; COLUMNS of the environment")
    parser.add_argument("--quiet", action="store_true", help="print nothing until a compaction is two calls away")
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")
    parser.add_argument(
        "command",
        nargs="*",
        metavar="COMMAND",
        help="behind `--`: the command that made the status line before; its line comes after Ullage's",
    )


def _context(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument("--messages", action="store_true", help="with --json: the messages, too")


def _messages(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--context", action="store_true", help="only messages in the context, not archived ones")
    parser.add_argument("--biggest", action="store_true", help="the biggest first")
    parser.add_argument("--limit", type=number, metavar="N", help="how many, the last (or the biggest)")
    add_drawing(parser)


def _compact(parser: ArgumentParser) -> None:
    add_target(parser, optional=False)
    parser.add_argument("--budget", type=number, metavar="TOKENS", help="the most the resulting context may count")
    parser.add_argument("--from", dest="first", metavar="MESSAGE", help="only from this message on (number or id)")
    parser.add_argument("--up-to", dest="last", metavar="MESSAGE", help="only up to this message (number or id)")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what to keep above all")
    add_drawing(parser)
    add_provider(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="OUT", help="write the JSON object to this file; `-`: to standard output"
    )


def _continue(parser: ArgumentParser) -> None:
    add_target(parser)
    what = parser.add_mutually_exclusive_group()
    parser.add_argument("--in", dest="agent", default="", metavar="AGENT", help="the agent that resumes it; its own")
    what.add_argument("--before-compaction", action="store_true", help="as it was before the agent's last compaction")
    what.add_argument("--from", dest="from_message", type=number, metavar="N", help="as it was after message N")
    parser.add_argument("--compacted", action="store_true", help="compact it; the default without the two above")
    parser.add_argument("--budget", type=number, metavar="TOKENS", help="compact its messages to at most so many; 20k")
    parser.add_argument("--focus", default="", metavar="TEXT", help="what the summary must keep above all")
    parser.add_argument("--preview", action="store_true", help="write nothing, only show the figure")
    add_drawing(parser)


def _undo(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument("edit", nargs="?", metavar="EDIT", help="the edit's id (see history); without it, the last one")
    parser.add_argument("--dry-run", action="store_true", help="only say what would come back")
    add_drawing(parser)


def _history(parser: ArgumentParser) -> None:
    add_target(parser)
    add_drawing(parser)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the transcript, or `-` for standard input")
    add_file(parser)
    add_drawing(parser)


def _sessions(parser: ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="FOLDER", help="only sessions of this folder")
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many, the newest first")
    parser.add_argument("--ids", action="store_true", help="print the ids alone, one a line")
    add_drawing(parser)


def _delete(parser: ArgumentParser) -> None:
    parser.add_argument("sessions", nargs="+", metavar="SESSION", help="ids, or beginnings of ids")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument(
        "--original",
        action="store_true",
        help="the agent's own file, byte for byte as it was: from the archive, or from its place. With a folder as "
        "--output, the files that belong to it, too",
    )
    parser.add_argument(
        "--version", type=number, metavar="N", help="with --original: which version of a file that was rewritten"
    )
    parser.add_argument(
        "--as",
        dest="shape",
        choices=["ullage", "anthropic", "openai"],
        default="ullage",
        help="the whole log (default), or the context as a provider's request",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="OUT", help="write to this file, not to standard output")


def _archive(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["prune"],
        help="prune: remove conversations; asks first. Without it: list agents",
    )
    parser.add_argument(
        "--older-than", type=days, metavar="AGE", help="with prune: those that have not changed for so long: 90d, 12w"
    )
    parser.add_argument(
        "--to", type=size, metavar="SIZE", help="with prune: the oldest, until the archive is this small: 2GB, 500MB"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(parser)


def _inspect(parser: ArgumentParser) -> None:
    parser.add_argument("session", metavar="SESSION", help="the session's id, or the beginning of it")
    parser.add_argument("--json", action="store_true", help="print one JSON object an event, with all its fields")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="?", metavar="QUERY", help="words, names or a question; archived messages count")
    parser.add_argument("--session", metavar="SESSION", help="only in this session")
    parser.add_argument("--limit", type=number, default=10, metavar="N", help="how many, the best first")
    parser.add_argument(
        "--show", metavar="MESSAGE", help="print this message of the session whole (number or id), instead of searching"
    )
    add_drawing(parser)


def _lost(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument(
        "--limit", type=number, metavar="N", help="how many of each kind, those that weigh most; 10, with --json all"
    )
    add_drawing(parser)


def _brief(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument(
        "--chars",
        type=number,
        default=10_000,
        metavar="N",
        help="the most characters of the brief; 10,000, as many as an agent takes from a hook",
    )
    add_json(parser)


def _hook(parser: ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help="the agent that runs the hook, as `ullage wire` names it")
    mark = "what the summaries in the agent's file begin with, for an agent that runs no hook after a compaction"
    parser.add_argument("--mark", metavar="TEXT", help=mark)
    wired = (
        "do nothing if the agent's settings, a file of this name, have a hook of Ullage's: for the hooks of a plugin"
    )
    parser.add_argument("--unless-wired-in", metavar="NAME", help=wired)
    _fill_notes(parser, "give the agent's model a note of how full its context is, once at each mark")


def _fill_notes(parser: ArgumentParser, help: str) -> None:  # noqa: A002
    parser.add_argument("--fill-notes", action="store_true", help=help)


def _unwire(parser: ArgumentParser) -> None:
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="the agents; without any, all that are known here")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def _wire(parser: ArgumentParser) -> None:
    _unwire(parser)
    line = "set the status line, too; the line of the command of before comes after Ullage's"
    parser.add_argument("--statusline", action="store_true", help=line)
    _fill_notes(parser, "give the agent's model notes of how full its context is: at 70 %%, 85 %% and two calls left")
    server = "do not add the MCP server, with which an agent searches its own history"
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help=server)


def _survive(parser: ArgumentParser) -> None:
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="transcripts, or folders with some; without any, the agents' newest conversations on this machine",
    )
    add_file(parser)
    size = "how much may be carried where the agent never compacted; 3k. Elsewhere it is what the agent carried"
    parser.add_argument("--size", type=number, default=3_000, metavar="TOKENS", help=size)
    parser.add_argument("--recorded", action="store_true", help="only where an agent compacted by itself")
    parser.add_argument(
        "--limit", type=number, default=50, metavar="N", help="without FILE: how many conversations, the newest; 50"
    )
    add_drawing(parser)


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="play this transcript, not the sample")
    add_file(parser)
    parser.add_argument("--window", type=number, metavar="TOKENS", help="the window to play it in")
    parser.add_argument("--fast", action="store_true", help="as fast as the server answers")
    parser.add_argument("--svg", type=Path, metavar="PATH", help="write the final screen as a picture")
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")


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
    add_json(parser)


def _schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        choices=["methods", "settings", "output"],
        default="methods",
        help="the protocol, the settings, or what --json prints",
    )


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=["bash", "zsh", "fish"], help='the shell; for bash: eval "$(ullage completion bash)"'
    )


def _help(parser: ArgumentParser) -> None:
    names = [command.name for command in COMMANDS]
    parser.add_argument("command", nargs="?", choices=names, metavar="COMMAND", help="the command; without it, all")


def _nothing(parser: ArgumentParser) -> None:
    del parser


# `help` is answered by `command_line.py`. It is in the table so that it is listed, and completed.
COMMANDS = (
    Command("here", "show this folder's conversations, the fullest first (the default)", _here),
    Command("watch", "show the conversations that go on on this machine, live", _watch),
    Command("statusline", "print one line for an agent's status line, tmux or a prompt", _statusline),
    Command("context", "show how full a context is, and of what", _context),
    Command("messages", "list the messages of a conversation, with their numbers", _messages),
    Command("compact", "replace the older part of a context by a summary", _compact),
    Command("continue", "write a new session that the agent can resume", _continue, "continue_session"),
    Command("undo", "undo an edit of a stored session, such as a compaction", _undo),
    Command("history", "list the edits of a context and what each saved", _history),
    Command("import", "read another program's transcript into a stored session", _import, "import_file"),
    Command("sessions", "list stored sessions", _sessions),
    Command("search", "search all messages of stored sessions", _search),
    Command("export", "write a stored session out", _export),
    Command("archive", "show or prune what is kept of agents' own files", _archive),
    Command("delete", "delete stored sessions", _delete),
    Command("inspect", "print the events of a stored session's log, one a line", _inspect),
    Command("lost", "list what an agent's last compaction left out", _lost),
    Command("brief", "write what an agent's last compaction left out as a brief for it", _brief),
    Command("wire", "have agents run Ullage: what a compaction left out is given back", _wire),
    Command("unwire", "take what `wire` added out of agents' settings again", _unwire),
    Command("hook", "answer a hook of an agent; `wire` adds it", _hook),
    Command("survive", "measure what compactions leave an agent able to do", _survive),
    Command("demo", "watch a conversation fill a context and be compacted", _demo),
    Command("doctor", "check the installation and the providers", _doctor),
    Command("lsp", "serve the Language Server on standard input and output", _lsp),
    Command("acp", "serve the Agent Client Protocol on standard input and output", _acp),
    Command("mcp", "serve the Model Context Protocol: an agent looks up its own conversation", _mcp),
    Command("schema", "print the JSON Schema of the protocol, the settings or the output", _schema),
    Command("completion", "print the completion script for a shell", _completion),
    Command("man", "show the manual page", _nothing),
    Command("help", "show the help of a command", _help),
)
