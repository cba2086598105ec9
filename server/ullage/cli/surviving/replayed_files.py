"""The conversations that `ullage survive` replays, read one by one."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from ullage.agents.discovery import Wanted
from ullage.cli.session_source import STDIN, read_transcript
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.errors import InputError, UllageError
from ullage.service.conversation.workspace import Workspace


class File(Struct, frozen=True, kw_only=True):
    """A file that may hold a conversation. `run` is the conversation's number in it. If `named` is false, the file was
    found, and may hold none."""

    name: str
    run: int | None = None
    named: bool = False


def files_in(names: Sequence[str], run: int | None) -> list[File]:
    """Returns the named files, and all files in the named folders. `run` is the number of the conversation in a named
    file. Raises `InputError` if there is no such file."""
    found: list[File] = []
    for name in names:
        path = Path(name).expanduser()
        if name != STDIN and not path.exists():
            raise InputError(f"{name}: there is no such file or folder")
        if name != STDIN and path.is_dir():
            found += [File(name=str(file)) for file in sorted(path.rglob("*")) if file.is_file()]
        else:
            found.append(File(name=name, run=run, named=True))
    return found


def files_found(workspace: Workspace, limit: int) -> list[File]:
    """Returns the files of agents' newest conversations on this machine. Raises `InputError` if none is found."""
    found = workspace.ports.transcripts.find(Wanted(limit=limit)).conversations
    if not found:
        raise InputError("no conversation of an agent was found on this machine; name a transcript or a folder")
    return [File(name=one.path, run=one.run) for one in found]


def read_all(files: Sequence[File], format_name: str | None) -> Iterator[tuple[File, ImportedTranscript | None]]:
    """Yields each file with its conversation; None if it holds none, or one that an earlier file held. Raises
    `InputError` if a named file can't be read."""
    met = set[tuple[str, str]]()
    for file in files:
        try:
            transcript = read_transcript(file.name, format_name, file.run)
        except UllageError:
            if file.named:
                raise
            yield file, None
            continue
        known = (transcript.format, transcript.session_id)
        yield file, None if transcript.session_id and known in met else transcript
        met.add(known)
