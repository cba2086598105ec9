"""Which folders the user of this machine shares with a team, in a file that only the user may read."""

from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.system.replaced_files import replace_file


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
