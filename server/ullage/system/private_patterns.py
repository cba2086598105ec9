"""What the settings of the user's editors call private, for commands that send texts away without an editor: one file
for each editor and the folders that are open in it, so that two editors never write to one file."""

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.service.ports.team import digest_of


class PrivatePatterns(Struct, frozen=True, kw_only=True):
    """The regular expressions of an editor's setting `privatePatterns` when these folders were open last."""

    editor: str
    folders: tuple[str, ...]
    patterns: tuple[str, ...]


def private_path() -> Path:
    """Returns the folder in which the patterns of the user's editors are kept, in the user's data folder."""
    from platformdirs import user_data_path  # noqa: PLC0415  (a cold import that a given path spares)

    return user_data_path("ullage", appauthor=False) / "team.private"


def keep_private(place: Path, private: PrivatePatterns) -> None:
    """Keeps an editor's patterns in the folder `place`, in place of those that it had before. Without patterns nothing
    is kept. Raises `StoreUnavailable` if that can't be written."""
    path = place / f"{digest_of(private.editor, *private.folders)}.json"
    data = msgspec.json.encode(private)
    if not private.patterns:
        path.unlink(missing_ok=True)
    elif not path.exists() or path.read_bytes() != data:
        from ullage.system.shared_files import replace_file  # noqa: PLC0415  (no start of a server needs it)

        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_file(path, data)


def kept_private(place: Path) -> tuple[PrivatePatterns, ...]:
    """Returns what is kept in a folder. Raises `InvalidRequest` if a file can't be read: what it calls private is then
    not known."""
    return tuple(_read(path) for path in sorted(place.glob("*.json")))


def _read(path: Path) -> PrivatePatterns:
    try:
        return msgspec.json.decode(path.read_bytes(), type=PrivatePatterns)
    except (OSError, msgspec.MsgspecError) as error:
        raise InvalidRequest(f"{path} can't be read ({error}): delete it, and open the editor again") from error


def all_patterns(kept: Sequence[PrivatePatterns]) -> tuple[str, ...]:
    """Returns each pattern once."""
    return tuple(dict.fromkeys(pattern for one in kept for pattern in one.patterns))
