"""Commands on agents' own conversations, and those that agents run, with their arguments."""

from argparse import ArgumentParser

from ullage.cli.arguments.shared_arguments import Command, add_drawing, add_json, add_target, number


def _here(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many of each list")
    parser.add_argument("--all", action="store_true", help="all of each list")
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


def _lost(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument(
        "--limit",
        type=number,
        metavar="N",
        help="how many of each kind, contradicted and open ones first, then the newest; 10, with --json all",
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


def _wire(parser: ArgumentParser) -> None:
    _unwire(parser)
    line = "set the status line, too; the line of the command of before comes after Ullage's"
    parser.add_argument("--statusline", action="store_true", help=line)
    _fill_notes(parser, "give the agent's model notes of how full its context is: at 70 %%, 85 %% and two calls left")
    server = "do not add the MCP server, with which an agent searches its own history"
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help=server)


def _unwire(parser: ArgumentParser) -> None:
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="the agents; without any, all that are known here")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


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


AGENT_COMMANDS = (
    Command("here", "show this folder's conversations, the fullest first (the default)", _here),
    Command("watch", "show the conversations that go on on this machine, live", _watch),
    Command("statusline", "print one line for an agent's status line, tmux or a prompt", _statusline),
    Command("continue", "write a new session that the agent can resume", _continue, "continue_session"),
    Command("lost", "list what an agent's last compaction left out", _lost),
    Command("brief", "write what an agent's last compaction left out as a brief for it", _brief),
    Command("wire", "have agents run Ullage: what a compaction left out is given back", _wire),
    Command("unwire", "take what `wire` added out of agents' settings again", _unwire),
    Command("hook", "answer a hook of an agent; `wire` adds it", _hook),
)
