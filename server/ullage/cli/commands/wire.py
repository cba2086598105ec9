"""`ullage wire` and `ullage unwire`: add Ullage to agents' settings, and take it out again."""

import difflib
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct
from rich.text import Text

from ullage.app.agent_wiring import AgentWiring, known_words
from ullage.cli.arguments import read_options
from ullage.cli.drawing import Screen, agreed, clean, plural
from ullage.cli.terminal import at_home
from ullage.model.errors import InputError, InvalidRequest
from ullage.system.settings_files import cautions
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
    add_unwire_arguments(parser)
    line = "set the status line, too; the line of the command of before comes after Ullage's"
    parser.add_argument("--statusline", action="store_true", help=line)
    notes = "give the agent's model notes of how full its context is: where it warns, and two calls before a compaction"
    parser.add_argument("--fill-notes", action="store_true", help=notes)
    server = "do not add the MCP server, with which an agent searches its own history"
    parser.add_argument("--no-mcp", dest="mcp", action="store_false", help=server)


def add_unwire_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="the agents; without any, all that are known here")
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def run(args: Namespace) -> int:
    """Says what would be added, asks unless `--yes` is given, and adds it. Returns 1 if the user declines, otherwise
    0. Raises `InputError` if no agent is there, settings can't be changed, or there is no terminal to ask on."""
    options, screen = read_options(args, WireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    plan = partial(wiring.add, status_line=options.statusline, fill_notes=options.fill_notes, mcp_server=options.mcp)
    changes, failed = _planned(plan, options.agents)
    if not changes and not failed:
        raise InputError(f"no agent is here that Ullage can be added to; known: {', '.join(known_words())}")
    for change in changes:
        if change.files:
            screen.print(screen.prose("\n".join([*_told(change), *_cautions(change)])))
            if not options.yes and not agreed("Add this?", details=partial(_show, change, screen)):
                declined = True
                continue
            wiring.make(same_now(change, plan([change.word])))
            screen.print(screen.prose(" ".join([f"Added to {change.agent}.", *_new_notes(change)])))
        else:
            screen.print([f"{change.agent}: already there, in {change.path}"])
            screen.print(line for note in change.notes for line in screen.prose(note))
    if failed:
        raise InputError("; ".join(failed))
    return 1 if declined else 0


def run_unwire(args: Namespace) -> int:
    """Says what would be taken out, asks unless `--yes` is given, and does it. Returns 1 if the user declines,
    otherwise 0. Raises `InputError` if settings can't be changed, or if there is no terminal to ask on."""
    options, screen = read_options(args, UnwireOptions), Screen.of(args)
    wiring, declined = AgentWiring(options.store), False
    changes, failed = _planned(wiring.take_out, options.agents)
    if not options.agents and not failed and not any(change.is_wired for change in changes):
        screen.print(["Nothing to take out: nothing was added to any agent."])
    for change in changes:
        if not change.is_wired:
            if options.agents:
                screen.print([f"{change.agent}: nothing was added"])
            continue
        if change.files and not options.yes:
            loses = f"{change.agent} loses what `ullage wire` has added to"
            screen.print(screen.prose("\n".join([loses, *_places(change), *_cautions(change)])))
            if not agreed("Take it out?", details=partial(_show, change, screen)):
                declined = True
                continue
        wiring.make(same_now(change, wiring.take_out([change.word])))
        screen.print(screen.prose("\n".join([f"Taken out of {change.agent}.", *change.notes])))
    if failed:
        raise InputError("; ".join(failed))
    return 1 if declined else 0


def _planned(
    plan: Callable[[Sequence[str]], Sequence[AgentChange]], words: Sequence[str]
) -> tuple[list[AgentChange], list[str]]:
    """Returns the changes of the agents of these words, or of all, and why others can't be changed."""
    changes, failed = list[AgentChange](), list[str]()
    for asked in [[word] for word in dict.fromkeys(words)] or [[]]:
        try:
            found = plan(asked)
        except InvalidRequest as error:
            failed.append(str(error))
            continue
        changes += [change for change in found if not change.failed]
        failed += [f"{change.agent}: {' '.join(change.notes)}" for change in found if change.failed]
    return changes, failed


def _told(change: AgentChange) -> Iterator[str]:
    """Yields the lines that say what an agent gets, which is what its changed files have more, and which these are."""
    gained = [line for file in change.files for line in _compared(file) if line.startswith("+")]
    hooks = sum(line.count(f"hook {change.word}") for line in gained)
    has_plugin = any(f'"hook", "{change.word}"' in line for line in gained)
    parts = {
        f"gets back what a compaction leaves out ({plural(hooks, 'hook')})": hooks,
        "gets back what a compaction leaves out (a plugin)": has_plugin,
        "can search its own conversations (an MCP server)": any('"mcp"' in line for line in gained),
        "shows the figure in its status line": any("ullage statusline" in line for line in gained),
    }
    told = " and ".join(part for part, is_there in parts.items() if is_there) or "gets other lines"
    yield f"{change.agent} {told}. `ullage unwire` undoes it. This changes"
    yield from _places(change)


def _places(change: AgentChange) -> Iterator[str]:
    """Yields the paths of the files that change, each as a line of its own."""
    yield from (f"  {at_home(file.path)}" for file in change.files)


def _cautions(change: AgentChange) -> list[str]:
    return [caution for file in change.files for caution in cautions(Path(file.path))]


def _new_notes(change: AgentChange) -> list[str]:
    """Returns the notes that the user has not read in the question."""
    told = {caution for file in change.files for caution in cautions(Path(file.path))}
    return [note for note in change.notes if note not in told]


def _show(change: AgentChange, screen: Screen) -> None:
    for file in change.files:
        screen.print(difference(file, screen))


_STYLES = {"+": "green", "-": "red"}


def difference(change: FileChange, screen: Screen) -> Iterator[Text | str]:
    """Yields the lines of a difference, with the file's name first."""
    yield change.path if change.after is not None else f"{change.path} (removed: it was made by `ullage wire`)"
    for line in _compared(change):
        yield Text(f"  {clean(line, screen.glyphs)}", _STYLES.get(line[:1], ""))


def _compared(change: FileChange) -> list[str]:
    before, after = ((data or b"").decode(errors="replace").splitlines() for data in (change.before, change.after))
    return [*difflib.unified_diff(before, after, lineterm="", n=2)][2:]


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
