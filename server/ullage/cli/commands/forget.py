"""`ullage forget`: removes conversations from all that Ullage keeps."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from ullage.app.compose import SystemClock, open_originals, open_workspace
from ullage.cli.arguments import StoreOptions, add_json, days, read_options, size
from ullage.cli.drawing import Column, Screen, agreed, in_bytes, plural, print_json, table, working
from ullage.cli.reports import Report
from ullage.cli.session_source import ShortIds
from ullage.cli.terminal import at_home
from ullage.host.side_files import ARCHIVE, beside
from ullage.model.errors import InputError
from ullage.service.archive.forgetting import (
    HeldConversation,
    choose,
    down_to,
    files_left,
    find_named,
    forget,
    forks_of,
    list_known,
    with_facts,
)
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import Originals
from ullage.store.store_place import local_path


class ForgetOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage forget`. `names` are what the user calls conversations. `older_than` is in days, `to` in
    bytes, `folder` a path, and `matching` a pattern with shell wildcards."""

    names: tuple[str, ...]
    older_than: int | None
    folder: Path | None
    matching: str | None
    to: int | None
    yes: bool

    @property
    def chooses(self) -> bool:
        """Whether conversations are chosen by what they are, and not by their names."""
        return any(one is not None for one in (self.older_than, self.folder, self.matching, self.to))


class ForgetReport(Report, frozen=True, kw_only=True):
    """What `ullage forget --json` prints: the ids of the deleted sessions, the paths of the conversations' own files
    that were removed from the archive, how many files these were, and the bytes by which store and archive have shrunk.
    `forks` are the ids of sessions that still have a removed conversation's messages, because they are forks of it.
    `left` are the agents' own files that are still in their place."""

    deleted: tuple[str, ...]
    removed: tuple[str, ...]
    files: int
    freed: int
    forks: tuple[str, ...]
    left: tuple[str, ...]


_NOTHING = ForgetReport(deleted=(), removed=(), files=0, freed=0, forks=(), left=())


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "names",
        nargs="*",
        metavar="WHICH",
        help="ids of conversations, beginnings of ids, or agents' files",
    )
    parser.add_argument("--older-than", type=days, metavar="AGE", help="those not changed for so long: 90d, 12w, 1y")
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="those that began in this folder or one in it")
    parser.add_argument("--matching", metavar="PATTERN", help="those whose title, or agent's file, fits: '*billing*'")
    parser.add_argument(
        "--to", type=size, metavar="SIZE", help="the oldest, until what is kept of agents' files is this small: 2GB"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")
    add_json(parser)


_DAY = 86_400_000
_COLUMNS = (
    Column(name="Id"),
    Column(name="Title", flexible=True),
    Column(name="Changed", rank=1),
    Column(name="Messages", rank=2, right=True),
    Column(name="Files kept", rank=3, right=True),
)
# Conversations that are listed before the user is asked, and agents' files that are named.
_LISTED, _NAMED = 20, 5


def run(args: Namespace) -> int:
    """Removes the named or chosen conversations from the store, the archive and all files next to the store, after
    asking the user on the terminal unless `--yes` is given. Returns 1 if the user declines, otherwise 0.

    Raises `InputError` if the arguments don't say which conversations, or if there is no terminal to ask on, and
    `NotFound` if a name means none. Then nothing is removed.
    """
    options, screen = read_options(args, ForgetOptions), Screen.of(args)
    if bool(options.names) == options.chooses:
        raise InputError("name conversations, or choose them by --older-than, --folder, --matching or --to")
    with open_workspace(options.store) as workspace, open_originals(options.store) as originals:
        found = _chosen_conversations(workspace, originals, options)
        if not found:
            return _report((), _NOTHING, options, screen)
        if not options.yes and not agreed(_question(workspace, originals, found, screen)):
            return 1
        forks = tuple(info.session_id for info in forks_of(found, workspace.ports.store))
        before = _size(options.store)
        with working("Removing") as show:
            asyncio.run(forget(workspace, originals, found, show))
        freed = max(0, before - _size(options.store))
        after = replace(_NOTHING, forks=forks, left=tuple(files_left(workspace, found)), freed=freed)
    return _report(found, after, options, screen)


def _chosen_conversations(
    workspace: Workspace, originals: Originals | None, options: ForgetOptions
) -> list[HeldConversation]:
    known = list_known(workspace, originals)
    if options.names:
        return find_named(known, workspace, options.names)
    before = SystemClock().now() - options.older_than * _DAY if options.older_than is not None else None
    folder = str(options.folder.expanduser().resolve()) if options.folder else ""
    found = choose(known, originals, before, folder, options.matching or "")
    if options.to is None:
        return found
    return down_to(found, originals.size() if originals else 0, options.to)


def _question(
    workspace: Workspace, originals: Originals | None, found: Sequence[HeldConversation], screen: Screen
) -> str:
    """Returns what the user is asked, with the conversations that it is about."""
    names = ShortIds(workspace.ports.store, screen)
    rows = [_cells(with_facts(one, originals), names) for one in found[-_LISTED:]]
    lines = [line.plain for line in table(_COLUMNS, rows, screen.room, screen.glyphs)]
    if len(found) > _LISTED:
        lines.append(f"and {len(found) - _LISTED:,} older ones")
    if alone := sum(not files_left(workspace, [one]) for one in found):
        lines.append(f"{plural(alone, 'conversation')} of these {'is' if alone == 1 else 'are'} nowhere else.")
    lines += (line for text in _left_words(files_left(workspace, found)) for line in screen.prose(text))
    return "\n".join([*lines, f"Forget {plural(len(found), 'conversation')}?"])


def _cells(one: HeldConversation, names: ShortIds) -> Sequence[str]:
    """Returns a conversation's cells, one for each of `_COLUMNS`."""
    day = datetime.fromtimestamp(one.updated_at / 1000, UTC).astimezone().strftime("%Y-%m-%d")
    messages, files = sum(info.messages for info in one.sessions), sum(kept.files for kept in one.kept)
    return (
        names(one.sessions[0].session_id) if one.sessions else one.name,
        one.sessions[0].title if one.sessions else one.title,
        day,
        f"{messages:,}" if messages else "",
        f"{files:,}" if files else "",
    )


def _size(store: str | None) -> int:
    paths = (local_path(store), beside(local_path(store), ARCHIVE))
    return sum(path.stat().st_size for path in paths if path.exists())


def _report(found: Sequence[HeldConversation], after: ForgetReport, options: ForgetOptions, screen: Screen) -> int:
    kept = [kept for one in found for kept in one.kept]
    report = replace(
        after,
        deleted=tuple(info.session_id for one in found for info in one.sessions),
        removed=tuple(one.path for one in kept),
        files=sum(one.files for one in kept),
    )
    if options.json:
        print_json(report)
    elif found:
        screen.print(line for text in _words(found, report) for line in screen.prose(text))
    else:
        screen.print(["No such conversation: nothing was removed."])
    return 0


def _words(found: Sequence[HeldConversation], after: ForgetReport) -> Iterator[str]:
    sessions = len(after.deleted)
    places = f"{plural(sessions, 'conversation')} read into the store, {plural(after.files, 'kept file')}"
    yield f"Forgot {plural(len(found), 'conversation')}: {places}, {in_bytes(after.freed)} freed."
    if after.forks:
        yield f"Its forks begin with the same messages and stay: {', '.join(after.forks)}"
    yield from _left_words(after.left)


def _left_words(left: Sequence[str]) -> Iterator[str]:
    """Yields which files of agents stay, each on a line of its own, and what becomes of them; nothing if none does."""
    if not left:
        return
    is_one = len(left) == 1
    yield "The agent's own file stays:" if is_one else f"The agents' own files stay, {len(left):,} of them:"
    yield from (f"  {at_home(path)}" for path in left[:_NAMED])
    if len(left) > _NAMED:
        folders = {str(Path(path).parent) for path in left[_NAMED:]}
        yield f"  and {len(left) - _NAMED:,} more in {plural(len(folders), 'folder')}"
    yield f"If the agent goes on with {'it' if is_one else 'one'}, Ullage reads all of it again, from message 1."
