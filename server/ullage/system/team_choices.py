"""The files with what the user of this machine shares with a team. Only the user may read them.

- `team.json`: which folders are shared, and with whom.
- `team.sent/`: how far the sessions of each shared folder are sent, and what the last sending did. It may be deleted at
  any time; the next sending then reads all sessions.
- `team.private/`: what the settings of the user's editors call private, for commands that send texts without an editor.
  There is one file for each editor and the folders that are open in it, so that two editors never write to one file.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.bounds import OWN_FILE, read_plain
from ullage.host.side_files import TEAM, TEAM_PRIVATE, data_folder
from ullage.model.errors import InvalidRequest
from ullage.model.store_address import is_address
from ullage.service.ports.store import SentMark, digest_of
from ullage.system.shared_files import replace_file

_VARIABLE = "ULLAGE_TEAM"


class SharedFolder(Struct, frozen=True, kw_only=True):
    """A folder that is shared: with which roles of the archive's database, and which text is private in it, as regular
    expressions; and from which store, as `store_name` names it, "" if that is not known. With `by_hand` a command alone
    sends its sessions, never a server by itself."""

    members: tuple[str, ...]
    private: tuple[str, ...] = ()
    store: str = ""
    by_hand: bool = False


class TeamChoices(Struct, frozen=True, kw_only=True):
    """What the user has chosen: the address of the team's archive, and the folders by their paths. Nothing is shared
    until it is chosen."""

    archive: str = ""
    folders: dict[str, SharedFolder] = {}


def choices_path() -> Path:
    """Returns the file with what the user of this machine shares, whatever the store."""
    return data_folder() / TEAM


def archive_of(given: str | None, choices: TeamChoices) -> str:
    """Returns the address of the team's archive: the given one, else the environment's, else the one that was
    chosen before. Raises `InvalidRequest` if there is none."""
    archive = given or os.environ.get(_VARIABLE) or choices.archive
    if not is_address(archive):
        raise InvalidRequest(
            "which team's archive? Name its address (postgresql://HOST/DATABASE) by the setting search.teamArchive or "
            "as ULLAGE_TEAM in the environment",
            in_shell=", or give it as --archive",
        )
    return archive


def read_choices(path: Path) -> TeamChoices:
    """Returns the choices in a file, none if there is no file. Raises `InvalidRequest` if it can't be read."""
    try:
        return msgspec.json.decode(read_plain(path, OWN_FILE), type=TeamChoices)
    except FileNotFoundError:
        return TeamChoices()
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRequest(f"{path} can't be read ({error}): mend it, or delete it and share again") from error


def write_choices(path: Path, choices: TeamChoices) -> None:
    """Replaces the choices in a file. Raises `StoreUnavailable`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, msgspec.json.format(msgspec.json.encode(choices)))


class Sent(Struct, frozen=True, kw_only=True):
    """What the last sending of a folder did, `at` a time in Unix milliseconds: to which archive, by which rules of
    redaction, how far each session is sent, by its id, and what went wrong, "" if all is sent. `by_itself` says that
    no command was given."""

    archive: str
    at: int
    rules: str
    marks: Mapping[str, SentMark]
    error: str = ""
    by_itself: bool = False


def read_sent(place: Path, folder: str) -> Sent | None:
    """Returns what is known of a shared folder, None if nothing is or the file can't be read."""
    try:
        return msgspec.json.decode(read_plain(_path(place, folder), OWN_FILE), type=Sent)
    except (OSError, msgspec.MsgspecError):
        return None


def write_sent(place: Path, folder: str, sent: Sent) -> None:
    """Replaces what is known of a shared folder. Raises `StoreUnavailable`."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(_path(place, folder), msgspec.json.encode(sent))


def forget_sent(place: Path, folder: str) -> None:
    """Deletes what is known of a folder."""
    _path(place, folder).unlink(missing_ok=True)


def _path(place: Path, folder: str) -> Path:
    return place / f"{digest_of(folder)}.json"


class PrivatePatterns(Struct, frozen=True, kw_only=True):
    """The regular expressions of an editor's setting `privatePatterns` when these folders were open last."""

    editor: str
    folders: tuple[str, ...]
    patterns: tuple[str, ...]


def private_path() -> Path:
    """Returns the folder in which the patterns of the user's editors are kept, in the user's data folder."""
    return data_folder() / TEAM_PRIVATE


def keep_private(place: Path, private: PrivatePatterns) -> None:
    """Keeps an editor's patterns in the folder `place`, in place of those that it had before. Without patterns nothing
    is kept. Raises `StoreUnavailable` if that can't be written."""
    path = place / f"{digest_of(private.editor, *private.folders)}.json"
    data = msgspec.json.encode(private)
    if not private.patterns:
        path.unlink(missing_ok=True)
    elif not path.exists() or read_plain(path, OWN_FILE) != data:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data)


def kept_private(place: Path) -> tuple[PrivatePatterns, ...]:
    """Returns what is kept in a folder. Raises `InvalidRequest` if a file, and so its words, can't be read."""
    return tuple(_read_patterns(path) for path in sorted(place.glob("*.json")))


def _read_patterns(path: Path) -> PrivatePatterns:
    try:
        return msgspec.json.decode(read_plain(path, OWN_FILE), type=PrivatePatterns)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRequest(f"{path} can't be read ({error}): delete it, and open the editor again") from error


def all_patterns(kept: Sequence[PrivatePatterns]) -> tuple[str, ...]:
    """Returns each pattern once."""
    return tuple(dict.fromkeys(pattern for one in kept for pattern in one.patterns))
