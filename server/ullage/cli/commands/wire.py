"""`ullage wire` and `ullage unwire`: add Ullage to agents' settings, and take it out again."""

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from functools import partial

from msgspec import Struct
from rich.text import Text

from ullage.app.agent_wiring import AgentWiring, known_words
from ullage.cli.arguments import read_options
from ullage.cli.draw.text import clean
from ullage.cli.output import Screen, agreed
from ullage.model.errors import InputError
from ullage.wire.plan import AgentChange, FileChange


class UnwireOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage unwire`. `agents` are the words by which agents are named."""

    store: str | None = None
    agents: tuple[str, ...]
    yes: bool


class WireOptions(UnwireOptions, frozen=True, kw_only=True):
    """The arguments of `ullage wire`."""

    statusline: bool
    fill_notes: bool
    mcp: bool


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    add_unwire_arguments(parser)
    line = "set the status line, too; the line of the command of before comes after Ullage's"
    parser.add_argument("--statusline", action="store_true", help=line)
    notes = "give the agent's model notes of how full its context is: at 70 %%, 85 %% and two calls left"
    parser.add_argument("--fill-notes", action="store_true", help=notes)
    server = "do not add the MCP server, with which an agent searches its own history"
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help=server)


def add_unwire_arguments(parser: ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="the agents; without any, all that are known here")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run(args: Namespace) -> int:
    """Shows what would be added, asks unless `--yes` is given, and adds it. Returns 1 if the user declines, otherwise
    0. Raises `InputError` if no agent is there, settings can't be changed, or there is no terminal to ask on."""
    options, screen = read_options(args, WireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    plan = partial(wiring.add, status_line=options.statusline, fill_notes=options.fill_notes, mcp_server=options.mcp)
    changes = plan(options.agents)
    if not changes:
        raise InputError(f"no agent is here that Ullage can be added to; known: {', '.join(known_words())}")
    for change in possible(changes):
        if change.files:
            for file in change.files:
                screen.print(difference(file, screen))
            if not options.yes and not agreed(f"Add this to {change.agent}?"):
                declined = True
                continue
            wiring.make(same_now(change, plan([change.word])))
            screen.print(screen.prose(f"Added to {change.agent}. `ullage unwire` undoes it."))
        else:
            screen.print([f"{change.agent}: already there, in {change.path}"])
        for note in change.notes:
            screen.print(screen.prose(note))
    raise_failed(changes)
    return 1 if declined else 0


def run_unwire(args: Namespace) -> int:
    """Shows what would be taken out, asks unless `--yes` is given, and does it. Returns 1 if the user declines,
    otherwise 0. Raises `InputError` if settings can't be changed, or if there is no terminal to ask on."""
    options, screen = read_options(args, UnwireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    changes = wiring.take_out(options.agents)
    for change in possible(changes):
        if not change.is_wired:
            screen.print([f"{change.agent}: nothing was added"])
            continue
        for file in change.files:
            screen.print(difference(file, screen))
        if change.files and not options.yes and not agreed(f"Take this out of {change.agent}?"):
            declined = True
            continue
        wiring.make(same_now(change, wiring.take_out([change.word])))
        screen.print(screen.prose(" ".join([f"Taken out of {change.agent}.", *change.notes])))
    raise_failed(changes)
    return 1 if declined else 0


_STYLES = {"+": "green", "-": "red"}


def difference(change: FileChange, screen: Screen) -> Iterator[Text | str]:
    """Yields the lines of a difference, with the file's name first."""
    before, after = _lines(change.before), _lines(change.after)
    yield change.path if change.after is not None else f"{change.path} (removed: it was made by `ullage wire`)"
    for line in [*difflib.unified_diff(before, after, lineterm="", n=2)][2:]:
        yield Text(f"  {clean(line, screen.glyphs)}", _STYLES.get(line[:1], ""))


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
