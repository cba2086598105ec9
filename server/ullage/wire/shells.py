"""Command lines for the shells by which agents run hooks: silent, never failing also where the program is gone, and as
short as they can be, because agents show them and some have their model read them.

On Windows Gemini CLI 0.54 runs a hook by PowerShell, Qwen Code 0.19 by the shell that the hook names, and Claude Code
by the Bash that it needs there (their packages on npm; the first two read, Claude Code's by its documents). Codex
gives the line to `cmd /C`, as one argument (read in its source, 2026). (Its hooks may have a `commandWindows` besides,
but a line is for one machine.)
"""

import shlex
from collections.abc import Sequence

from ullage.agents.wiring import Shell
from ullage.model.expressions import expression

# What is around the words of a program.
_AROUND: dict[Shell, tuple[str, str]] = {
    "sh": ("", " 2>/dev/null ||:"),
    "powershell": ("try { & ", " 2>$null } catch { }; exit 0"),
    "cmd": ("", " 2>nul || exit /b 0"),
}
# How the shells begin that run a line.
_RUN: dict[Shell, tuple[str, ...]] = {
    "sh": ("/bin/sh", "-c"),
    "powershell": ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command"),
    "cmd": ("cmd.exe", "/d", "/c"),
}
# Before the folder of a program whose path has blanks, for `cmd`; then signs that would part the line there.
_ENTERED = "2>nul cd /d "
_SIGN, _ESCAPED = expression(r"[&^]"), expression(r"\^([&^])")
_PLAIN = expression(r"[\w.:/\\=@+,-]+")
_QUOTED = expression(r"'((?:[^']|'')*)'|\"([^\"]*)\"|(\S+)")


def silent(words: Sequence[str], shell: Shell = "sh") -> str:
    """Returns the line that runs a program silently and never fails. `cmd` may expand a percent sign in a path."""
    before, after = _AROUND[shell]
    return before + joined(words, shell) + after


def joined(words: Sequence[str], shell: Shell = "sh") -> str:
    """Returns a program and its arguments, quoted for a shell."""
    match shell:
        case "sh":
            return shlex.join(words)
        case "powershell":
            # Nothing but the quote itself has a meaning between single quotes.
            return " ".join("'" + word.replace("'", "''") + "'" for word in words)
        case "cmd":
            # Only there is a slash in a program's path an option.
            program = words[0].replace("/", "\\")
            rest = "".join(f" {word}" if _PLAIN.fullmatch(word) else f' "{word}"' for word in words[1:])
            if _PLAIN.fullmatch(program):
                return program + rest
            # Codex gives the line to `cmd` with a backslash before each quote, and no program is found then. `cd` takes
            # a path with blanks as it is.
            folder, _, name = program.rpartition("\\")
            return _ENTERED + _SIGN.sub(r"^\g<0>", folder) + f"&& {name}{rest}"


def loud(line: str) -> str:
    """Returns a line of `silent` with its errors."""
    before, after = _AROUND[shell_of(line)]
    return line.removeprefix(before).removesuffix(after)


def words_in(line: str) -> list[str]:
    """Returns the words of a line after the question whether its program is there, or the way to its folder."""
    shell = shell_of(line)
    if shell == "sh":
        words = shlex.split(loud(line))
        return words[words.index("&&") + 1 :] if "&&" in words else words
    shown = loud(line)
    if shown.startswith(_ENTERED):
        folder, _, shown = shown.removeprefix(_ENTERED).partition("&& ")
        name, _, rest = shown.partition(" ")
        path = _ESCAPED.sub(r"\g<1>", folder)
        shown = f'"{path}\\{name}" {rest}'
    found = _QUOTED.findall(shown)
    return [single.replace("''", "'") or double or plain for single, double, plain in found]


def shell_of(line: str) -> Shell:
    """Returns the shell that a line was written for."""
    if line.startswith(_AROUND["powershell"][0]):
        return "powershell"
    return "cmd" if line.endswith(_AROUND["cmd"][1]) else "sh"


def to_run(line: str, *, has_sh: bool) -> list[str]:
    """Returns the program that runs a line. Without a POSIX shell, its line is run as the program in it."""
    shell, shown = shell_of(line), loud(line)
    if shell == "sh" and not has_sh:
        return words_in(line)
    return [*_RUN[shell], f"& {shown}" if shell == "powershell" else shown]
