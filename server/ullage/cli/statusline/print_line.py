"""Runs `ullage statusline`."""

import os
import sys

from ullage.cli.statusline.files import keep, read_live
from ullage.cli.statusline.line import draw
from ullage.cli.statusline.line_figure import figure_of_agent, row_of_session
from ullage.cli.statusline.plain_json import as_object, parse
from ullage.cli.store_choice import local_store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# The options, each with the name of its value; `FLAGS` have no value. `cli/arguments` describes them.
VALUES = {"--store": "store", "--cwd": "cwd", "--pid": "process_id", "--width": "width", "--color": "color"}
FLAGS = {"--tmux": "tmux", "--plain": "plain", "--ascii": "ascii", "--quiet": "quiet", "--no-pager": "pager"}
_UNKNOWN = "?"


def run(words: "Sequence[str]") -> int | None:
    """Prints the line. Returns 0, or None if the arguments are not valid or ask for help; nothing is printed then."""
    place = words.index("--") if "--" in words else len(words)
    options, command = _parse(words[:place]), words[place + 1 :]
    if options is None:
        return None
    given = None if options["tmux"] or options["plain"] else _given()
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
    """Returns the line for the conversation that an agent describes in `given`, or for that of the folder if it is
    None."""
    store, cwd = local_store(str(options["store"] or "")), str(options["cwd"] or os.getcwd())  # noqa: PTH109
    style = "tmux" if options["tmux"] else "plain" if options["plain"] or not _colors(options) else "ansi"
    if given is None:
        from ullage.cli.statusline.choosing import choose  # noqa: PLC0415

        figure = choose(store, cwd, int(str(options["process_id"])) if options["process_id"] else None)
        if figure is None:
            return ""
    else:
        said = as_object(parse(given))
        session_id = str(said.get("session_id", ""))
        keep(store, session_id, given)
        rows, is_followed = read_live(store)
        figure = figure_of_agent(said, row_of_session(rows, session_id), is_followed=is_followed)
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


def _given() -> bytes | None:
    """Returns standard input, or None if a user would have to type it."""
    return None if sys.stdin is None or sys.stdin.isatty() else sys.stdin.buffer.read()


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
