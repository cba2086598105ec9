"""What a terminal shows: colours, foreign text and long text. Imports no code that draws: `--help` must be fast, and
errors need it everywhere."""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from textwrap import fill

_OPTION = "--color"
# As git sets them if LESS is unset: end at once if the text fits, pass colours on, leave the text on the screen. The
# prompt says what its bare `:` does not: that this is a pager, and how to leave it.
_LESS_OPTIONS = r"FRX-Ps?e(end):(more below). Space, arrows\: scroll; q\: leave$"
# The cells that an error has at least.
_LEAST = 20
# SGR sequences (ECMA-48): bold, cyan, and the end of both.
_BOLD, _CYAN, _END = "\x1b[1m", "\x1b[36m", "\x1b[0m"
_HEADING = re.compile(r"^(usage:|[a-z][a-z ]*:$)", re.MULTILINE)
# An option wherever it is named, a command in the list of commands, and a name in the lists of the epilog.
_NAME = re.compile(
    r"(?<![\w\-'])--?[a-z][\w-]*|^    (?:ullage)?(?: ?[a-z]+)?(?= |$)|^  (?:[A-Z_|]{2,}(?:, )?)+", re.MULTILINE
)


def wants_color(choice: str, environment: Mapping[str, str], *, on_terminal: bool) -> bool:
    """Returns whether to print in colour.

    `choice` is the value of `--color`, which decides unless it is `auto`. For `auto`, these variables of the
    environment decide, in this order: NO_COLOR (https://no-color.org), FORCE_COLOR and CLICOLOR_FORCE, CLICOLOR
    (https://bixense.com/clicolors). Without them, only a terminal gets colours.
    """
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if any(environment.get(name, "0") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE")):
        return True
    return on_terminal and environment.get("CLICOLOR") != "0" and environment.get("TERM") != "dumb"


def asked_color(argv: Sequence[str]) -> str:
    """Returns the value of `--color`, or `auto`. Help is printed before the parsed value is known."""
    for place, word in enumerate(argv):
        if word == _OPTION:
            return argv[place + 1] if place + 1 < len(argv) else "auto"
        if word.startswith(f"{_OPTION}="):
            return word.removeprefix(f"{_OPTION}=")
    return "auto"


def color_help(text: str) -> str:
    """Returns the text of a help with headings in bold and names in cyan. Its layout stays the same."""
    text = _NAME.sub(lambda found: f"{_CYAN}{found[0]}{_END}", text)
    return _HEADING.sub(lambda found: f"{_BOLD}{found[0]}{_END}", text)


def visible(text: str) -> str:
    r"""Returns the text with an escape such as `\x1b` for each character that a terminal would obey or hide."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def broken(text: str) -> str:
    """Returns a line with breaks between its words where a terminal on standard error would break it inside one."""
    if not sys.stderr.isatty():
        return text
    return fill(text, max(_LEAST, shutil.get_terminal_size().columns), break_long_words=False, break_on_hyphens=False)


def at_home(path: str) -> str:
    """Returns a path with `~` in place of the user's home folder."""
    home = os.path.expanduser("~")  # noqa: PTH111  (`pathlib` takes 5 ms to import)
    return f"~{path.removeprefix(home)}" if path.startswith(home + os.sep) else path


def show_long(text: str, environment: Mapping[str, str]) -> bool:
    """Shows the text in the pager if it does not fit on the terminal. Returns whether it was shown."""
    return text.count("\n") >= shutil.get_terminal_size().lines and show_in_pager(text, environment)


def show_in_pager(text: str, environment: Mapping[str, str]) -> bool:
    """Shows the text in the pager: the command in the variable PAGER, or `less` if it is unset. Returns True once the
    user has left the pager.

    Returns False, and shows nothing, if there is no pager: PAGER is empty or `cat`, the command can't be started, or
    the terminal is `dumb`.
    """
    # Imported on use: short commands need it not.
    import subprocess  # noqa: PLC0415

    command = _pager_command(environment)
    if not command:
        return False
    less = {} if "LESS" in environment else {"LESS": _LESS_OPTIONS}
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env={**environment, **less})
    except OSError:
        return False
    try:
        pager.communicate(text.encode(errors="replace"))
    except BrokenPipeError:
        # The user has left before the end.
        pass
    except KeyboardInterrupt:
        # The pager gets Ctrl-C as well, and means "stop searching" by it.
        pass
    while pager.poll() is None:
        try:
            pager.wait()
        except KeyboardInterrupt:
            continue
    return True


def _pager_command(environment: Mapping[str, str]) -> list[str]:
    if environment.get("TERM") == "dumb":
        return []
    asked = environment.get("PAGER")
    if asked is None:
        return ["less"] if shutil.which("less", path=environment.get("PATH", os.defpath)) else []
    words = shlex.split(asked)
    return [] if words == ["cat"] else words
