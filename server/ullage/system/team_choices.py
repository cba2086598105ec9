"""Which folders the user of this machine shares with a team, in a file that only the user may read."""

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.store_address import is_address
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
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False) / "team.json"


def archive_of(given: str | None, choices: TeamChoices) -> str:
    """Returns the address of the team's archive: the given one, else that of the environment, else the one that was
    chosen before. Raises `InvalidRequest` if there is none."""
    archive = given or os.environ.get(_VARIABLE) or choices.archive
    if not is_address(archive):
        raise InvalidRequest(
            "which team's archive? Name it: --archive postgresql://HOST/DATABASE, the setting search.teamArchive, or "
            "ULLAGE_TEAM"
        )
    return archive


def read_choices(path: Path) -> TeamChoices:
    """Returns the choices in a file, none if there is no file. Raises `InvalidRequest` if it can't be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=TeamChoices)
    except FileNotFoundError:
        return TeamChoices()
    except msgspec.MsgspecError as error:
        raise InvalidRequest(f"{path} can't be read ({error}): mend it, or delete it and share again") from error


def write_choices(path: Path, choices: TeamChoices) -> None:
    """Replaces the choices in a file. Raises `StoreUnavailable`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, msgspec.json.format(msgspec.json.encode(choices)))
