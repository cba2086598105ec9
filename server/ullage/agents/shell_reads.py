"""Shell commands that show a file and do nothing else: `cat`, `nl`, `head`, `tail`, `sed -n`.

Conservative: a command with anything more in it is no read. What it shows need not be guessed exactly, since a read
stands for another one only where their lines are the same.
"""

import posixpath
import re

from msgspec import Struct

_COMMAND = re.compile(
    r"""\s*(?:cd\s+(?P<folder>[^\s;&|]+)\s*(?:&&|;)\s*)?
    (?:(?P<show>cat|nl)(?:\s+-(?:n|A|b\s?a|ba))?
      |head(?:\s+-n\s?\d+|\s+-\d+)?
      |(?P<tail>tail)(?:\s+-n\s?[+\d]+|\s+-\d+)?
      |sed\s+-n\s+['"]?(?P<first>\d+)(?:,\s?(?:\d+|\$))?p['"]?
    )
    \s+(?P<path>"[^"$`]+"|'[^']+'|[^\s;&|<>*?$`'"()-][^\s;&|<>*?$`'"()]*)
    (?P<filter>\s*\|\s*(?:head|tail|sed\s+-n|cat\s+-n)\b[^|;&<>`$()]*)?
    (?:\s*\|\|\s*true)?\s*""",
    re.VERBOSE,
)


class ShellRead(Struct, frozen=True, kw_only=True):
    """The file that a command shows, and the number of the first line it shows (None if that is not clear)."""

    path: str
    first: int | None


def shell_read(command: str) -> ShellRead | None:
    """What a command reads; None if it does anything else."""
    match = _COMMAND.fullmatch(command)
    if match is None:
        return None
    path = match["path"].strip("\"'")
    folder = (match["folder"] or "").strip("\"'")
    starts = int(match["first"] or 1) if not match["tail"] and not match["filter"] else None
    return ShellRead(path=posixpath.join(folder, path), first=starts)
