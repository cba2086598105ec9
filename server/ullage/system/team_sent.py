"""How far the sessions of a shared folder are sent to a team's archive, and what the last sending did: a file for each
folder. It may be deleted at any time; the next sending then reads all sessions."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.service.ports.team import SentMark, digest_of
from ullage.system.shared_files import replace_file


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
        return msgspec.json.decode(_path(place, folder).read_bytes(), type=Sent)
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
