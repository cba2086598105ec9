"""The files of a ledger: what calls did to them, each under one name."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import commonpath

from msgspec.structs import replace

from ullage.model.artifacts import FileAction, FileArtifact
from ullage.summary.checks import Check, checked
from ullage.summary.reading.digest import Digest


def files_of(digest: Digest, check: Check) -> Iterator[FileArtifact]:
    """Yields an entry for each time that a call touched a file, and then, with no count, for each time that one in the
    messages that stay changed one. What those only read, they show."""
    yield from _files(digest, check)
    for file in _files(digest.after, check) if digest.after else ():
        if file.action is not FileAction.READ:
            yield replace(file, times=0)


def _files(digest: Digest, check: Check) -> Iterator[FileArtifact]:
    for call, touches in checked(zip(digest.calls, digest.touches, strict=True), check):
        for path, action in touches:
            # A command may have read files before a later part of it failed, and may pass though one is not there.
            if (call.failed and not call.command) or (call.command and f"{path}: No such file" in call.result):
                continue
            shown = path.removeprefix("./")
            yield FileArtifact(path=shown, action=action, last_index=call.index)


def join_files(old: FileArtifact, new: FileArtifact) -> FileArtifact:
    """Returns two entries for one file as one: the later entry with the counts of both, and what both did to it."""
    created = old.action is FileAction.CREATED and new.action is not FileAction.DELETED
    stays = old.action if new.action is FileAction.READ or created else new.action
    # What was read after it was deleted is there again, though no call is seen that wrote it.
    if old.action is FileAction.DELETED and new.action is FileAction.READ:
        stays = FileAction.MODIFIED
    # What was there before was not created by being written again.
    if stays is FileAction.CREATED and old.action in (FileAction.READ, FileAction.MODIFIED):
        stays = FileAction.MODIFIED
    return replace(new, action=stays, times=old.times + new.times)


def named_once(files: Iterable[FileArtifact]) -> list[FileArtifact]:
    """Returns the entries with absolute paths in place of relative ones that surely name the same file."""
    listed = list(files)
    same = _absolute_names({file.path for file in listed})
    return [replace(file, path=same[file.path]) if file.path in same else file for file in listed]


def _absolute_names(paths: Collection[str]) -> Mapping[str, str]:
    """Returns, for each relative path that surely names the file of an absolute one, that absolute path.

    Its end must be the relative path, and no other's. A name without a folder is only taken for the file in a folder in
    which other relative paths were found, or that holds all absolute paths: there the agent works.
    """
    absolute = [path for path in paths if path.startswith("/")]
    by_name: defaultdict[str, list[str]] = defaultdict(list)
    for path in absolute:
        by_name[path.rsplit("/", 1)[1]].append(path)
    found: dict[str, str] = {}
    for path in paths:
        if not path.startswith(("/", "~", "..")):
            same = [whole for whole in by_name[path.rsplit("/", 1)[-1]] if whole.endswith(f"/{path}")]
            if len(same) == 1:
                found[path] = same[0]
    folders = {_holding(absolute), *(_folder(path, whole) for path, whole in found.items() if "/" in path)}
    return {path: whole for path, whole in found.items() if "/" in path or _folder(path, whole) in folders}


def _folder(path: str, whole: str) -> str:
    """Returns the folder from which a relative path leads to an absolute one."""
    return whole.removesuffix(f"/{path}")


def _holding(absolute: Sequence[str]) -> str:
    """Returns the deepest folder that holds all these files, empty if there are none."""
    return commonpath([path.rsplit("/", 1)[0] for path in absolute]) if absolute else ""
