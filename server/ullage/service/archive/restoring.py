"""The files of agents in the archive: found by a session or by an agent's id, and read back byte for byte."""

from collections.abc import Iterator
from hashlib import sha256

from ullage.model.errors import NotFound, SessionNotFound, StoreUnavailable
from ullage.service.archive.naming import find_session
from ullage.service.ports.originals import Original, Originals, Version
from ullage.service.ports.store import SessionStore

# Originals that an error lists.
_LISTED = 5


def find_originals(store: SessionStore, originals: Originals, name: str) -> tuple[Original, ...]:
    """Returns the original that `name` means, and after it the files that belong to it. `name` is the id of a session,
    the beginning of one, an agent's own id of a conversation, the beginning of one, or the path of the file.

    Raises `NotFound` if the archive has no such original, or several.
    """
    found = originals.find(path=name) or _of_session(store, originals, name) or originals.find(origin_id=name)
    mains = [one for one in found if not one.source.owner]
    if len(mains) > 1:
        listed = ", ".join(f"{one.source.path} ({one.source.agent})" for one in mains[:_LISTED])
        raise NotFound(f"{name!r} could be any of {len(mains)} files: {listed}; give the path of one")
    return found


def _of_session(store: SessionStore, originals: Originals, name: str) -> tuple[Original, ...]:
    try:
        session_id = find_session(store, name)
    except SessionNotFound:
        return ()
    return originals.find(session_id=session_id)


def choose_version(original: Original, number: int | None = None) -> Version:
    """Returns a version of an original: the one with this number, or the newest that holds anything. Raises `NotFound`
    if there is none."""
    whole = [one for one in original.versions if (one.number == number if number else one.size)]
    if whole:
        return whole[-1]
    known = ", ".join(f"{one.number} ({one.size:,} bytes)" for one in original.versions)
    raise NotFound(f"no version {number} of {original.source.path} is kept; its versions are {known}")


def read_version(originals: Originals, version: Version) -> Iterator[bytes]:
    """Yields the bytes of a version. Raises `StoreUnavailable` at the end if they are not those that were kept."""
    digest = sha256()
    for data in originals.read(version.version_id):
        digest.update(data)
        yield data
    if version.digest and digest.digest() != version.digest:
        raise StoreUnavailable("the archive is damaged: what it holds of this file is not what was kept")
