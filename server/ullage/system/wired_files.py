"""Writes an agent's settings with Ullage in them, keeps a receipt of it next to the store, and restores them."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.wire.added import add, names_only_schema, take_out
from ullage.wire.plan import Added


class WiredFile(Struct, frozen=True, kw_only=True):
    """What was done to a settings file at `path`: what was `added`, and the file `before` and `after`. `before` is None
    if there was no file. `folder_made` says that its folder was not there, either."""

    path: str
    added: Added
    before: bytes | None
    after: bytes
    folder_made: bool = False


class Receipt(Struct, frozen=True, kw_only=True):
    """What was added to an agent of this name: the files."""

    agent: str
    files: tuple[WiredFile, ...]

    def file(self, path: Path) -> WiredFile | None:
        """Returns what was done to the file at `path`, or None if nothing was."""
        return next((file for file in self.files if file.path == str(path)), None)


class Change(Struct, frozen=True, kw_only=True):
    """A change of a file that is not made yet. `before` and `after` are None where there is no file."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing would change."""
        return self.before == self.after


def receipt_path(store: Path, word: str) -> Path:
    """Returns the place of the receipt for an agent, for the store at `store`."""
    return store.with_name(f"{store.name}.wired") / f"{word}.json"


def read_receipt(store: Path, word: str) -> Receipt | None:
    """Returns what was added to an agent, or None if nothing was. Raises `InvalidRequest` for a damaged receipt."""
    path = receipt_path(store, word)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Receipt)
    except FileNotFoundError:
        return None
    except (msgspec.MsgspecError, OSError) as error:
        raise InvalidRequest(f"{path}: not a receipt that can be read ({error})") from error


def plan_adding(path: Path, added: Added, wired: WiredFile | None) -> tuple[Change, WiredFile | None]:
    """Returns the change that adds something to the settings at `path`, in place of what was added before, and what it
    does. This is None if there is nothing to add, or the user has added it already. Raises `InvalidRequest` if the
    settings can't be changed."""
    now, before = read_settings(path), settings_without(path, wired)
    after = None if added.is_empty else _convert(path, before, lambda text: add(text, added))
    if after is None or after == before:
        return Change(path=path, before=now, after=before), None
    made = (wired is not None and wired.folder_made) or not path.parent.exists()
    done = WiredFile(path=str(path), added=added, before=before, after=after, folder_made=made)
    return Change(path=path, before=now, after=after), done


def plan_removing(wired: WiredFile) -> Change:
    """Returns the change that takes out what was added. Raises `InvalidRequest` if the settings can't be changed."""
    now = read_settings(Path(wired.path))
    return Change(path=Path(wired.path), before=now, after=_without(now, wired))


def apply(change: Change) -> None:
    """Makes a change. A symbolic link stays one, the file keeps its mode, and its folder is made. Raises
    `InvalidRequest` if the file has changed since it was read, or can't be written."""
    if read_settings(change.path) != change.before:
        raise InvalidRequest(f"{change.path} has changed in the meantime; run the command again")
    target = Path(os.path.realpath(change.path))
    try:
        if change.after is None:
            target.unlink(missing_ok=True)
        elif not change.is_empty:
            target.parent.mkdir(exist_ok=True)
            _replace(target, change.after, target.stat().st_mode & 0o7777 if target.exists() else 0o600)
    except OSError as error:
        raise InvalidRequest(f"cannot write {change.path}: {error.strerror or error}") from error


def remove_folder(wired: WiredFile) -> None:
    """Removes the folder of a file that was taken out, if it was made for the file and is empty now."""
    if wired.folder_made:
        with suppress(OSError):
            Path(wired.path).parent.rmdir()


def keep_receipt(store: Path, word: str, receipt: Receipt | None) -> None:
    """Keeps a receipt, or removes it if it is None. Raises `InvalidRequest` if that fails."""
    path = receipt_path(store, word)
    try:
        if receipt is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _replace(path, msgspec.json.encode(receipt), 0o600)
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error.strerror or error}") from error


def settings_without(path: Path, wired: WiredFile | None) -> bytes | None:
    """Returns the bytes of a settings file without what was added; None if there is no file. Raises
    `InvalidRequest`."""
    now = read_settings(path)
    return _without(now, wired) if wired else now


def read_settings(path: Path) -> bytes | None:
    """Returns the bytes of a settings file, or None if there is none. Raises `InvalidRequest`."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error


def _without(now: bytes | None, wired: WiredFile) -> bytes | None:
    """Returns a file without what was added: as it was before, unless it has changed since."""
    if now is None or now == wired.after:
        return None if now is None else wired.before
    before = (wired.before or b"").decode()
    left = _convert(Path(wired.path), now, lambda text: take_out(text, wired.added, before))
    return None if wired.before is None and names_only_schema(left.decode(), wired.added) else left


def _convert(path: Path, data: bytes | None, change: Callable[[str], str]) -> bytes:
    try:
        return change((data or b"").decode()).encode()
    except UnicodeError as error:
        raise InvalidRequest(f"{path}: not UTF-8; nothing was changed") from error
    except InvalidRequest as error:
        raise InvalidRequest(f"{path}: {error}; nothing was changed") from error


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Writes a file as a whole or not at all. Raises `OSError`."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
