"""`ullage statusline`: prints one line with a conversation's figure. It imports almost nothing, because it runs after
each message of an agent."""

import os
import sys
import time

from ullage.bounds import GIVEN, read_most
from ullage.cli.statusline.files import as_object, keep, parse, read_live, read_told
from ullage.cli.statusline.line import Figure, draw, figure_of_agent, figure_of_row, is_known, row_of_session, window_of
from ullage.cli.store_choice import local_store
from ullage.host import this_system

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Sequence
    from typing import Any


def add_arguments(parser: "ArgumentParser") -> None:
    from ullage.cli.arguments import number  # noqa: PLC0415  (imports `argparse`)

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
        help="after `--`: the command that made the status line before; its line comes after Ullage's",
    )


def run(args: "Namespace") -> int:
    """Prints the line. Returns 0."""
    given = {"--store": args.store, "--pid": args.pid, "--cwd": args.cwd, "--width": args.width, "--color": args.color}
    words = [f"{name}={value}" for name, value in given.items() if value is not None]
    words += [f"--{name}" for name in ("tmux", "plain", "quiet", "ascii") if getattr(args, name)]
    return run_words([*words, "--", *args.command] if args.command else words) or 0


# The options, each with the name of its value; `FLAGS` have no value. `add_arguments` describes them.
VALUES = {"--store": "store", "--cwd": "cwd", "--pid": "process_id", "--width": "width", "--color": "color"}
FLAGS = {"--tmux": "tmux", "--plain": "plain", "--ascii": "ascii", "--quiet": "quiet", "--no-pager": "pager"}
_UNKNOWN = "?"


def run_words(words: "Sequence[str]") -> int | None:
    """Prints the line. Returns 0, or None if the arguments are not valid or ask for help; nothing is printed then."""
    place = words.index("--") if "--" in words else len(words)
    options, command = _parse(words[:place]), words[place + 1 :]
    if options is None:
        return None
    given = None if options["tmux"] or options["plain"] else _read_input()
    chained = None
    if command:
        # 10 ms to import, which a line of Ullage's own need not wait for.
        from ullage.cli.statusline.chained import Chained  # noqa: PLC0415

        chained = Chained(command, given or b"")
    try:
        line = _line(options, given)
    except Exception:  # noqa: BLE001  (an agent would show the traceback, or no line at all)
        line = _UNKNOWN
    if chained is not None:
        from ullage.cli.statusline.chained import joined  # noqa: PLC0415

        line = joined(line, chained.wait())
    _print(line)
    return 0


def _line(options: "dict[str, object]", given: bytes | None) -> str:
    """Returns the line for the conversation that an agent describes, or for the folder's if `given` is None."""
    store, cwd = local_store(str(options["store"] or "")), str(options["cwd"] or os.getcwd())  # noqa: PTH109
    style = "tmux" if options["tmux"] else "plain" if options["plain"] or not _colors(options) else "ansi"
    if given is None:
        figure = choose(store, cwd, int(str(options["process_id"])) if options["process_id"] else None)
        if figure is None:
            return ""
    else:
        said = as_object(parse(given))
        session_id = str(said.get("session_id", ""))
        rows, is_followed = read_live(store)
        row = row_of_session(rows, session_id)
        if not (is_followed and row and is_known(row, said)):
            keep(store, session_id, given, window_of(said))
        figure = figure_of_agent(said, row, is_followed=is_followed)
    if options["quiet"] and not figure.warns:
        return ""
    return draw(figure, _width(options), style, ascii_only=bool(options["ascii"]), named=given is None)


def _parse(words: "Sequence[str]") -> "dict[str, object] | None":
    """Returns the options by name, or None if one is not known or has no value."""
    options: dict[str, object] = {name: None for name in (*VALUES.values(), *FLAGS.values())}
    left = iter(words)
    for word in left:
        name, is_given, value = word.partition("=")
        if word in FLAGS:
            options[FLAGS[word]] = True
        elif name in VALUES:
            value = value if is_given else next(left, "")
            if not value or (name in ("--pid", "--width") and not value.isdecimal()):
                return None
            options[VALUES[name]] = value
        else:
            return None
    return options


def _read_input() -> bytes | None:
    """Returns standard input, empty if it is too large, or None if a user would have to type it."""
    try:
        return None if sys.stdin is None or sys.stdin.isatty() else read_most(sys.stdin.buffer, GIVEN)
    except OSError:
        return b""


def _width(options: "dict[str, object]") -> int | None:
    """Returns the columns for the line. An agent names those of its terminal in the environment."""
    width = str(options["width"] or os.environ.get("COLUMNS", ""))
    return int(width) if width.isdecimal() and int(width) > 0 else None


def _colors(options: "dict[str, object]") -> bool:
    return options["color"] == "always" or (options["color"] != "never" and not os.environ.get("NO_COLOR"))


def _print(line: str) -> None:
    """Prints a line, if it isn't empty, in UTF-8: agents and tmux read that, whatever the locale is."""
    if line:
        try:
            sys.stdout.buffer.write(f"{line}\n".encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
        except OSError:
            # The agent no longer waits for it. Python would try again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# Seconds after which what an agent has said is not shown, if no process follows the conversation.
_RECENT = 900


def choose(store: str, cwd: str, process_id: int | None) -> Figure | None:
    """Returns the figure of the conversation whose agent runs under the process `process_id`, such as a terminal's
    shell, or else of the live conversation of the folder `cwd` that changed last. Returns None if there is none."""
    rows, is_followed = read_live(store)
    live = [row for row in rows if row.get("live")] if is_followed else []
    if process_id is not None:
        for row in live:
            if process_id in this_system.ancestors(row.get("process_id")):
                return figure_of_row(row)
    for row in live:
        if _is_in(cwd, str(row.get("cwd", ""))) and (process_id is None or row.get("process_id") is None):
            return figure_of_row(row)
    return None if is_followed else _newest_of_folder(store, cwd, rows)


def _newest_of_folder(store: str, cwd: str, rows: "list[dict[str, Any]]") -> Figure | None:
    """Returns the figure of the folder's conversation whose agent said something last, and not long ago."""
    for at, said in read_told(store):
        if at < time.time() - _RECENT:
            return None
        if _is_in(cwd, str(said.get("cwd", ""))):
            return figure_of_agent(said, row_of_session(rows, str(said.get("session_id"))), is_followed=False)
    return None


def _is_in(folder: str, parent: str) -> bool:
    return bool(parent) and (folder == parent or folder.startswith(parent.rstrip("/\\") + os.sep))
