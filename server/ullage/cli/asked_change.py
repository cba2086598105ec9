"""Shows a change of a settings file and asks whether to make it."""

import difflib
import sys
from collections.abc import Iterator, Sequence

from rich.text import Text

from ullage.cli.draw.text import clean
from ullage.cli.output import Screen
from ullage.model.errors import InputError
from ullage.wire.plan import AgentChange, FileChange

_STYLES = {"+": "green", "-": "red"}


def difference(change: FileChange, screen: Screen) -> Iterator[Text | str]:
    """Yields the lines of a difference, with the file's name first."""
    before, after = _lines(change.before), _lines(change.after)
    yield change.path if change.after is not None else f"{change.path} (removed: it was made by `ullage wire`)"
    for line in [*difflib.unified_diff(before, after, lineterm="", n=2)][2:]:
        yield Text(f"  {clean(line, screen.glyphs)}", _STYLES.get(line[:1], ""))


def agreed(question: str, *, by_enter: bool = False) -> bool:
    """Asks the user on the terminal. `by_enter` is what the Enter key alone means. Raises `InputError` if there is no
    terminal."""
    if not sys.stdin.isatty():
        raise InputError(f"{question} There is no terminal to ask on; give --yes")
    sys.stdout.flush()
    sys.stderr.write(f"{question} {'[Y/n]' if by_enter else '[y/N]'} ")
    sys.stderr.flush()
    line = sys.stdin.readline()
    # At the end of the input there is no line end.
    return by_enter if line and not line.strip() else line.strip().lower() in ("y", "yes")


def same_now(shown: AgentChange, now: Sequence[AgentChange]) -> AgentChange:
    """Returns the change of an agent that is to be made now that the user has agreed to the one that was shown: the
    agent may have written to its settings meanwhile. Raises `InputError` if it would do something else."""
    for change in now:
        if change.meaning == shown.meaning:
            return change
    raise InputError(
        f"{shown.agent}: its settings have changed meanwhile, so that another change would be made; "
        "nothing was changed, run the command again"
    )


def possible(changes: Sequence[AgentChange]) -> Sequence[AgentChange]:
    """Returns the changes that can be made. `raise_failed` is for the others, at the end."""
    return [change for change in changes if not change.failed]


def raise_failed(changes: Sequence[AgentChange]) -> None:
    """Raises `InputError` if the settings of an agent can't be changed; the message says why, for each."""
    failed = [f"{change.agent}: {' '.join(change.notes)}" for change in changes if change.failed]
    if failed:
        raise InputError("; ".join(failed))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode(errors="replace").splitlines()
