"""`ullage` without a command: shows the conversations of this folder, those that run now first, then the fullest first,
and what runs in other folders. If there is neither, shows the conversations of the machine. With `--stored`, lists what
Ullage stores."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

from msgspec.structs import asdict
from rich.text import Text

from ullage.agents.discovery import UnreadFile
from ullage.agents.table import AGENTS
from ullage.agents.transcripts import read_document
from ullage.agents.wiring import Wiring
from ullage.app.agent_wiring import has_plugin, on_this_machine, project_with_plugin, read_receipt
from ullage.app.catalogue import rows_of_sessions
from ullage.app.compose import open_workspace
from ullage.cli.arguments import StoreOptions, add_drawing, number, read_options
from ullage.cli.drawing import (
    Column,
    Screen,
    ago,
    clean,
    clock,
    fit_end,
    plural,
    print_json,
    step_lines,
    table,
    working,
    wrap,
)
from ullage.cli.reports import Report
from ullage.cli.session_source import (
    ConversationRow,
    Here,
    ShortIds,
    ThisFolder,
    calls,
    conversation_table,
    folder_called,
    folder_of,
    forgotten_words,
    limits_of,
    open_listed,
    unread_lines,
)
from ullage.model.errors import UllageError
from ullage.model.usage import FollowedRow, Nearness
from ullage.model.words import good_moment, short
from ullage.service.archive.naming import SubAgents, known_info
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.rows import row_of
from ullage.service.ports.store import SessionInfo, SessionStore
from ullage.store.sqlite.catalogue import Receipts
from ullage.store.store_place import local_path
from ullage.system.growing_files import read_transcript_file


class HereOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage`."""

    limit: int
    all: bool
    stored: bool
    ids: bool
    cwd: str | None


class SessionRow(FollowedRow, frozen=True, kw_only=True):
    """A stored session. `agent` is empty if a client of Ullage has the conversation. `live` and `process_id` are known
    while a process follows an agent's conversation. `created_at` and `updated_at` are the times of the session."""

    created_at: int
    parent_id: str | None


class SessionsReport(Report, frozen=True, kw_only=True):
    """What `ullage --stored --json` prints: the sessions, the last changed first, each followed by those of its
    sub-agents."""

    sessions: tuple[SessionRow, ...]


class HereReport(Report, frozen=True, kw_only=True):
    """What `ullage --json` and `ullage here --json` print: the first of the `count` conversations of `folder`: those
    that run now, then the fullest. `elsewhere` are the first of the `elsewhere_count` that run in other folders; if
    there are none, and none of `folder`, of those of the machine. `unread_files` are agents' files that could not be
    read."""

    count: int
    folder: str
    conversations: tuple[ConversationRow, ...]
    elsewhere_count: int
    elsewhere: tuple[FollowedRow, ...]
    unread_files: tuple[UnreadFile, ...]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--limit", type=number, default=20, metavar="N", help="how many of each list")
    parser.add_argument("--all", action="store_true", help="all of each list")
    parser.add_argument("--cwd", metavar="FOLDER", help="the conversations of this folder, not of the working one")
    parser.add_argument(
        "--stored", action="store_true", help="only those that Ullage keeps, of all folders, newest first"
    )
    parser.add_argument("--ids", action="store_true", help="with --stored: the ids alone, one a line")
    add_drawing(parser)


# Bytes of the longest file that is read for what its last compaction left out: half a second's work.
_LONGEST = 6_000_000
# Kinds of what was left out that are named.
_KINDS = 3
# Cells of the labels below the list, and the fewest beside them.
_LABEL, _LEAST = 17, 20
# Seconds for which files are read before a list is shown: some ten thousand, the last changed first.
_PATIENCE = 5.0
# What to do where there is no conversation yet.
_WIRE = "ullage wire"
_FIRST_STEPS = (
    ("ullage demo", "a conversation that fills and comes back"),
    (_WIRE, "agents get back what compactions lose"),
    ("ullage watch", "live, who compacts next"),
    ("ullage lost", "what a compaction left out"),
    ("ullage continue", "a new session, as before a compaction"),
)


def run(args: Namespace) -> int:
    """Prints a table of this folder's conversations, or a `HereReport`. Returns 0. Raises `InputError`."""
    options, screen = read_options(args, HereOptions), Screen.of(args)
    if options.stored or options.ids:
        _list_stored(options, screen)
        return 0
    folder = None if options.cwd is None else folder_called(options.cwd)
    with working("Counting"), open_workspace(options.store, to_read=True) as workspace:
        seconds = inf if options.all or options.json else _PATIENCE
        here = ThisFolder(workspace, options.store, Path(folder) if folder else None, seconds).look(
            None if options.all else options.limit
        )
        now, shown = workspace.ports.clock.now(), [row.session_id for row in (*here.rows, *here.elsewhere)]
        names = ShortIds(workspace.ports.store, screen, shown)
    if options.json:
        report = HereReport(
            folder=str(here.folder),
            count=here.count,
            conversations=tuple(here.rows),
            elsewhere_count=here.elsewhere_count,
            elsewhere=tuple(here.elsewhere),
            unread_files=here.unread,
        )
        print_json(report)
        return 0
    screen.print(_lines(here, names, now, screen))
    # Reading a conversation takes longer than all of the list, which is there meanwhile.
    screen.print(_answers(here, names, now, screen, local_path(options.store)))
    return 0


def _lines(here: Here, names: ShortIds, now: int, screen: Screen) -> Iterator[Text | str]:
    folder = clean(str(here.folder), screen.glyphs)
    # One table, so that the columns of both lists are the same.
    listed = (*here.rows, *here.elsewhere)
    rows = [
        (row, f"{names(row.session_id)} +{len(row.forks)}" if row.forks else names(row.session_id)) for row in listed
    ]
    heading, *drawn = conversation_table(rows, now, screen.room, screen.glyphs, str(here.folder))
    if here.rows:
        count = f"  {_count(len(here.rows), here.count)}"
        yield Text.assemble((fit_end(folder, screen.room - len(count), screen.glyphs), "bold"), count)
        yield from (heading, *drawn[: len(here.rows)])
    elif here.elsewhere:
        yield from screen.prose(f"No conversation of {folder}.")
    elif not here.forgotten:
        yield from screen.prose("No conversation was found on this machine. Once an agent has one, it is here.")
    if not here.rows and here.forgotten:
        yield from screen.prose(f"{forgotten_words(here.forgotten)}.")
    if here.elsewhere:
        yield ""
        place = "Running in other folders" if any(row.live for row in here.elsewhere) else "In other folders"
        yield Text(f"{place}  {_count(len(here.elsewhere), here.elsewhere_count)}", "bold")
        yield from (*([] if here.rows else [heading]), *drawn[len(here.rows) :])
    if any(row.forks for row in listed):
        yield from screen.prose("+: forks and earlier runs of the same conversation (all: --all)")
    for row in here.rows:
        if row.reason:
            yield f"No figure of {names(row.session_id)}: {clean(row.reason, screen.glyphs)}"
    yield from unread_lines(here.unread, screen)
    if here.left:
        left = plural(here.left, "conversation")
        yield from screen.prose(f"Not read yet: {left}. The next list goes on (all: --all).")


def _count(shown: int, count: int) -> str:
    return plural(count, "conversation") if shown == count else f"{shown} of {count:,} conversations (all: --all)"


def _answers(here: Here, names: ShortIds, now: int, screen: Screen, store: Path) -> Iterator[Text | str]:
    """Yields what a user asks first: which agent compacts next, what the last compaction left out, what to do now."""
    rows = [*here.rows, *here.elsewhere]
    yield ""
    if not rows:
        steps = [step for step in _FIRST_STEPS if step[0] != _WIRE or not _is_all_wired(store)]
        yield from step_lines(steps, screen.room, screen.glyphs)
        return
    running = [row for row in rows if row.live and row.used is not None and (row.compacts_at or row.window)]
    nearest = max(running, key=lambda row: (row.used or 0) / (row.compacts_at or row.window or 1), default=None)
    used, none = [row.used for row in rows if row.live], "none: no agent runs now"
    if used:
        none = "not known: its model's window is unknown" if any(used) else "not known before a model has answered"
    yield from _labelled(screen, "Compacts next", _due(nearest, here, now, names) if nearest else none)
    newest = max(rows, key=lambda row: row.updated_at)
    with working("Reading the last compaction"):
        left, at = _left_by_last(newest, store)
    if left:
        yield from _labelled(
            screen, "Last compaction", f"{names(newest.session_id)}{f', {ago(at, now)}' if at else ''}, {left}"
        )
    chosen = names((newest if left else nearest or newest).session_id)
    for row in rows:
        if row.moment and row.live:
            said = good_moment(row.moment, row.used or 0, row.cache, now)
            yield from _labelled(screen, "Good moment", f"{names(row.session_id)}: {said}")
    if limits := limits_of(rows, now):
        yield from _labelled(screen, "Rate limits", limits)
    steps = [(f"ullage context {chosen}", "what fills it, and until when")]
    if left:
        steps = [
            (f"ullage lost {chosen}", "all that it left out"),
            (f"ullage continue {chosen} --before-compaction", "as before it"),
        ]
    wiring = next((agent.wiring for agent in AGENTS if agent.name == newest.agent), None)
    if wiring is not None and not _is_wired(wiring, store):
        steps.append((f"ullage wire {wiring.word}", "gives back what compactions take"))
    yield Text("What to do", "dim")
    yield from step_lines(steps, screen.room, screen.glyphs)


def _is_all_wired(store: Path) -> bool:
    """Returns whether each agent of this machine that Ullage can be added to has it. False if there is none."""
    here = on_this_machine()
    return bool(here) and all(_is_wired(wiring, store) for _, wiring in here)


def _is_wired(wiring: Wiring, store: Path) -> bool:
    """Returns whether an agent has Ullage, or settings that can't be read: then nothing can be added."""
    try:
        return has_plugin(wiring) or project_with_plugin(wiring) is not None or bool(read_receipt(store, wiring.word))
    except UllageError:
        return True


def _labelled(screen: Screen, label: str, text: str) -> Iterator[Text]:
    """Yields the lines of a text, with a label before the first one."""
    for line in wrap(text, max(_LEAST, screen.room - _LABEL), screen.glyphs):
        yield Text.assemble((f"{label:<{_LABEL}}", "dim"), line)
        label = ""


def _due(row: ConversationRow, here: Here, now: int, names: ShortIds) -> str:
    """Returns how far the conversation that is nearest to its compaction is from it."""
    folder = "" if row.cwd == str(here.folder) else f" in {folder_of(row)}"
    place = f"{names(row.session_id)}, {row.agent}{folder}"
    if row.nearness is Nearness.COMPACTING:
        return f"{place}: it compacts now"
    if row.idle and row.idle.at > now:
        return f"{place}: at {clock(row.idle.at)}, because it idles"
    if not row.compacts_at:
        return f"{place}: it is not known when, the window is {row.percent}% full"
    left = row.compacts_at - (row.used or 0)
    after = f", {number}" if (number := calls(row)) else ""
    due = f"{short(left)} tokens left{after}" if left > 0 else "due now"
    return f"{place}: at {short(row.compacts_at)}, {due}"


def _left_by_last(row: ConversationRow, store: Path) -> tuple[str, int]:
    """Returns in words what the last compaction of a conversation did, and its time in Unix milliseconds, 0 if unknown.
    The words are "" if there is none, or if the agent's file can't be read or is too long for a list."""
    # Reads messages, which the list needs not.
    from ullage.lost.left_out import left_out, left_out_words, records_of  # noqa: PLC0415

    try:
        if not row.path or Path(row.path).stat().st_size > _LONGEST:
            return "", 0
        transcript = read_document(read_transcript_file(Path(row.path), row.run))
        given = [(one.at, one.text) for one in Receipts(store)(row.agent_session_id)]
        found = left_out(records_of(transcript), transcript.cwd, given=given)
    except (OSError, UllageError):
        return "", 0
    if found is None:
        return "", 0
    before = found.compaction.block.context_size_before
    left = f"left out {left_out_words(found, _KINDS)}" if found.entries else "nothing that Ullage knows was left out"
    return f"{f'at {short(before)}: ' if before else ''}{left}", found.compaction.timestamp


_STORED_COLUMNS = (
    Column(name="Id", style="bold"),
    Column(name="Title", flexible=True),
    Column(name="Model", rank=3, style="dim"),
    Column(name="Messages", rank=2, right=True),
    Column(name="Changed", rank=1, style="dim"),
)


def _list_stored(options: HereOptions, screen: Screen) -> None:
    """Prints a table of the stored conversations, with `--ids` the ids alone, or a `SessionsReport`."""
    folder = None if options.cwd is None else folder_called(options.cwd)
    with open_workspace(options.store, to_read=True) as workspace:
        sub_agents = SubAgents.of(workspace.ports.store)
        found = _with_children(workspace.ports.store, sub_agents, folder, options.limit)
        rows = _stored_rows(workspace, found, options.store) if options.json else ()
        now, names = workspace.ports.clock.now(), ShortIds(workspace.ports.store, screen)
    if options.json:
        print_json(SessionsReport(sessions=rows))
    elif options.ids:
        screen.print(info.session_id for info in found)
    elif found:
        screen.print(_stored_table(found, sub_agents, names, now, screen))
    else:
        of = f" of {options.cwd}" if options.cwd else ""
        place = f" in {options.store}" if options.store else ""
        screen.print(screen.prose(f"No conversation{of} is kept{place} yet. To keep one: ullage import FILE"))


def _stored_rows(workspace: Workspace, found: Sequence[SessionInfo], store: str | None) -> tuple[SessionRow, ...]:
    """Returns the sessions, with the figures of the agents' conversations that they were read from."""
    known = rows_of_sessions(workspace, store, {info.session_id for info in found})
    return tuple(
        SessionRow(**asdict(known.get(info.session_id) or row_of(conversation)) | asdict(info))
        for info, conversation in open_listed(workspace, found)
    )


def _with_children(store: SessionStore, sub_agents: SubAgents, cwd: str | None, limit: int) -> tuple[SessionInfo, ...]:
    """Returns at most `limit` sessions, each followed by those of its sub-agents, the last changed first."""
    found: list[SessionInfo] = []
    for info in sub_agents.list_parents(store, cwd, limit):
        children = (known_info(store, child) for child in sub_agents.children(info.session_id))
        found += [info, *sorted(filter(None, children), key=lambda child: -child.updated_at)]
    return tuple(found)


def _stored_table(
    found: Sequence[SessionInfo], sub_agents: SubAgents, names: ShortIds, now: int, screen: Screen
) -> list[Text]:
    rows = [
        (
            names(info.session_id),
            f"{screen.glyphs.corners[2]}{screen.glyphs.across} {info.title}"
            if sub_agents.shown_under(info.session_id)
            else info.title,
            info.model or "unknown model",
            f"{info.messages:,}",
            ago(info.updated_at, now),
        )
        for info in found
    ]
    return table(_STORED_COLUMNS, rows, screen.room, screen.glyphs)
