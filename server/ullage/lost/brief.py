"""The complement brief: what a compaction left out, as a page for the agent. The same entries and room give the same
brief."""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ullage.ledger.ledger_entry import Entry, Kind, Ledger, Life
from ullage.ledger.ledger_page import QUOTED, Page, standing, write_page
from ullage.redaction.quoting import RECORD

# The most characters that Claude Code takes from a hook; other agents take as much.
LONGEST = 10_000
HEAD = f"What the last compaction left out. {RECORD} #N is the message that a line comes from."

_GUIDE_HEAD = (
    "The summary must keep what follows, read from the record of this conversation: what the user said, word for word, "
    "with its message's number; tasks and problems with their state; checks, commits and files as they stand. What the "
    'record contradicts must not be in the summary. Lines that begin with "> " are quoted from the record.'
)


def characters(text: str) -> int:
    """Returns the length of a text as agents limit it: in UTF-16 units, since they run on JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def write_brief(entries: Sequence[Entry], room: int, size: Callable[[str], int] = characters, *, cwd: str = "") -> Page:
    """Returns a brief of what was left out, of at most `room` by `size`. Its text is empty if nothing was left out, or
    if there is no room for a line. Paths under the folder `cwd` are written without it."""
    return write_page(entries, room, size, cwd=cwd, style=replace(QUOTED, above=HEAD))


def write_guide(ledger: Ledger, room: int, *, cwd: str = "") -> Page:
    """Returns what a summary that is about to be written must keep, in at most `room` UTF-16 units: what the
    user said, open tasks and problems, checks and commits, changed files and what still runs. Its text is empty if
    there is nothing."""
    keeps = {Kind.SAID, Kind.TASK, Kind.PROBLEM, Kind.CHECK, Kind.COMMIT, Kind.FILE, Kind.JOB}
    entries = [
        entry
        for entry in standing(ledger)
        if entry.kind in keeps and entry.life not in (Life.DONE, Life.MENDED, Life.ENDED)
    ]
    return write_page(entries, room, characters, cwd=cwd, style=replace(QUOTED, above=_GUIDE_HEAD))
