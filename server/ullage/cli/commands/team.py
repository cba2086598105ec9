"""`ullage team`: chooses which folders' sessions a team can search, and sends redacted copies of them."""

import os
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ullage.agents.discovery import is_in
from ullage.app.team_sending import open_archive, open_source, send_chosen, sending_alone, sent_path, store_name
from ullage.cli.arguments import StoreOptions, add_json, read_options
from ullage.cli.drawing import Screen, ago, plural, print_json, working
from ullage.cli.reports import Report, filled
from ullage.model.errors import InputError
from ullage.model.settings import ContextSettings
from ullage.store.team.team_archive import is_same_store, remove_folder
from ullage.system.team_choices import (
    SharedFolder,
    TeamChoices,
    archive_of,
    choices_path,
    forget_sent,
    kept_private,
    private_path,
    read_choices,
    read_sent,
    write_choices,
)


class TeamOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage team`."""

    action: Literal["share", "unshare", "send"] | None = None
    folder: str | None = None
    archive: str | None = None
    members: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    by_hand: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=["share", "unshare", "send"],
        help="share: send redacted copies of a folder's conversations, now and at each `send`. unshare: remove them. "
        "send: send what is new of all shared folders. Without it: list these",
    )
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help="with share, unshare: the folder; this one")
    parser.add_argument(
        "--archive",
        metavar="ADDRESS",
        help="the team's archive, postgresql://HOST/DATABASE; by default that of ULLAGE_TEAM, or as before",
    )
    parser.add_argument(
        "--with",
        dest="members",
        action="append",
        default=[],
        metavar="ROLE",
        help="with share: who may read it, a role of the database or a group of roles; may be repeated",
    )
    parser.add_argument(
        "--private",
        action="append",
        default=[],
        metavar="PATTERN",
        help="with share: a regular expression of text that is left out, as secrets are; may be repeated",
    )
    parser.add_argument(
        "--by-hand",
        action="store_true",
        help="with share: what is new is sent by `ullage team send` alone, and not by Ullage's servers",
    )
    add_json(parser)


class TeamFolderRow(Struct, frozen=True, kw_only=True):
    """A shared folder: the roles of the database that may read it, the patterns of private text, and, after something
    was sent or removed, the numbers of its sessions in the archive, of those that were sent and of those removed.
    `by_hand` says that only a command sends them; `sent_at` is when what was new was sent last, in Unix milliseconds,
    and `error` what was wrong with a later try."""

    folder: str
    members: tuple[str, ...]
    private: tuple[str, ...]
    by_hand: bool = False
    sent_at: int | None = None
    error: str = ""
    sessions: int | None = None
    sent: int | None = None
    removed: int | None = None


class EditorPrivateRow(Struct, frozen=True, kw_only=True):
    """What an editor's setting `privatePatterns` says, which is left out of all shared folders, too: the editor's name,
    and the folders that were open in it."""

    editor: str
    folders: tuple[str, ...]
    private: tuple[str, ...]


class TeamReport(Report, frozen=True, kw_only=True):
    """What `ullage team --json` prints: the address of the team's archive, "" if none was chosen, and the folders that
    are shared, or that the action was about, and what the user's editors call private."""

    archive: str
    folders: tuple[TeamFolderRow, ...]
    editors: tuple[EditorPrivateRow, ...] = ()


def run(args: Namespace) -> int:
    """Shares or unshares a folder, or sends what is new of all shared folders, and prints what was done; without an
    action prints which are shared. Returns 0.

    Raises `InputError` if the arguments don't say which archive, which folder or whom to share with, `InvalidRequest`
    if an address can't be used, and `StoreUnavailable` if the archive can't be.
    """
    options, screen = read_options(args, TeamOptions), Screen.of(args)
    choices = read_choices(choices_path())
    match options.action:
        case "share":
            report = _share(options, choices)
        case "unshare":
            report = _unshare(options, choices)
        case "send":
            report = _send(options, choices, tuple(choices.folders))
        case None:
            report = TeamReport(archive=choices.archive, folders=tuple(_row(choices, name) for name in choices.folders))
    rows = (filled(EditorPrivateRow, (kept,), private=kept.patterns) for kept in kept_private(private_path()))
    report = replace(report, editors=tuple(rows))
    if options.json:
        print_json(report)
    else:
        screen.print(line for text in _words(report, options) for line in screen.prose(text))
    return 0


def _share(options: TeamOptions, choices: TeamChoices) -> TeamReport:
    archive, folder = archive_of(options.archive, choices), _folder(options)
    if choices.folders and archive != choices.archive:
        raise InputError(f"folders are shared in {choices.archive}: unshare them before another archive is used")
    others = [name for name in choices.folders if name != folder and (is_in(name, folder) or is_in(folder, name))]
    if others:
        raise InputError(f"{others[0]} is shared, and one of the two is in the other: unshare that one before")
    before = choices.folders.get(folder)
    members = options.members or (before.members if before else ())
    if not members:
        raise InputError("share it with whom? Name a role of the database, or a group of roles: --with ROLE")
    private = options.private or (before.private if before else ())
    try:
        ContextSettings(private_patterns=tuple(private))
    except (ValueError, ValidationError) as error:
        raise InputError(str(error).replace("privatePatterns", "--private")) from error
    chosen = SharedFolder(members=members, private=private, store=store_name(options.store), by_hand=options.by_hand)
    # Before the first session leaves, so that it can be unshared whatever happens.
    new = replace(choices, archive=archive, folders={**choices.folders, folder: chosen})
    with open_archive(archive) as team, open_source(options.store) as store:
        if archive == options.store or is_same_store(store, team):
            raise InputError("the archive is the store itself: name another database, which gets redacted copies")
        write_choices(choices_path(), new)
    return _send(options, new, (folder,))


def _send(options: TeamOptions, choices: TeamChoices, folders: Sequence[str]) -> TeamReport:
    if not folders:
        raise InputError("no folder is shared: share one by `ullage team share`")
    rows: list[TeamFolderRow] = []
    own = store_name(options.store)
    with working("Sending") as tell, sending_alone(), open_source(options.store) as store:
        for folder in folders:
            if (named := choices.folders[folder].store) not in ("", own):
                # Its sessions are not in this store, and what is missing is removed from the archive.
                raise InputError(f"{folder} is shared from another store: send it with --store {named}")
            sent = send_chosen(
                choices, folder, store, lambda done, of: tell(f"Sending: {done:,} of {of:,} conversations")
            )
            row = _row(choices, folder)
            rows.append(replace(row, sessions=sent.sessions, sent=sent.sent, removed=sent.removed))
    return TeamReport(archive=choices.archive, folders=tuple(rows))


def _unshare(options: TeamOptions, choices: TeamChoices) -> TeamReport:
    folder = _folder(options)
    if folder not in choices.folders:
        raise InputError(f"{folder} is not shared: `ullage team` lists what is")
    with sending_alone(), open_archive(choices.archive) as team:
        removed = remove_folder(team, folder)
        forget_sent(sent_path(), folder)
        rest = {name: chosen for name, chosen in choices.folders.items() if name != folder}
        write_choices(choices_path(), replace(choices, folders=rest))
    row = replace(_row(choices, folder), sessions=0, removed=removed)
    return TeamReport(archive=choices.archive, folders=(row,))


def _folder(options: TeamOptions) -> str:
    # Sessions have their folder as it was given to the agent: links are not followed.
    return os.path.abspath(options.folder or Path.cwd())  # noqa: PTH100


def _row(choices: TeamChoices, folder: str) -> TeamFolderRow:
    chosen = choices.folders[folder]
    known = read_sent(sent_path(), folder)
    return TeamFolderRow(
        folder=folder,
        members=chosen.members,
        private=chosen.private,
        by_hand=chosen.by_hand,
        sent_at=known.at or None if known else None,
        error=known.error if known else "",
    )


def _when(row: TeamFolderRow) -> str:
    how = "`ullage team send` sends what is new" if row.by_hand else "Ullage's servers send what is new, while one runs"
    if row.error:
        return f"The last try to send failed: {row.error}"
    last = f"; last sent {ago(row.sent_at, time.time_ns() // 1_000_000)}" if row.sent_at else ""
    return f"{how}{last}."


def _words(report: TeamReport, options: TeamOptions) -> Iterator[str]:
    if not report.folders:
        yield "Nothing is shared. `ullage team share` shares this folder's conversations."
    for row in report.folders:
        if options.action == "unshare":
            yield f"{row.folder}: {plural(row.removed or 0, 'conversation')} removed from {report.archive}."
            continue
        private = f", without {' '.join(row.private)}" if row.private else ""
        yield f"{row.folder}: shared with {', '.join(row.members)} in {report.archive}{private}."
        if row.sessions is not None:
            gone = f", {row.removed:,} removed" if row.removed else ""
            yield f"  {plural(row.sessions, 'conversation')} there, without secrets: {row.sent or 0:,} sent now{gone}."
        yield f"  {_when(row)}"
    for row in report.editors if report.folders and options.action != "unshare" else ():
        whose = f"{row.editor or 'an editor'}{' with ' if row.folders else ''}{', '.join(row.folders)}"
        yield f"Also without what the settings of {whose} call private: {' '.join(row.private)}"
