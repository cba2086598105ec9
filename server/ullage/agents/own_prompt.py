"""The user's files that an agent adds to each request and that its log does not contain: files with instructions, and
skills, of which it adds the name and the description.

Which files those are is said here; they are read elsewhere. Seen in requests of Gemini CLI 0.61.0, Qwen Code 0.24.4,
opencode 1.18.33 and Claude Code 2.1.332 to a model that was played. Read in the programs of Cline 3.0.65 and Kilo Code
7.7.9, and in the sources of Crush and goose. Droid 0.225.2 adds both in a message of the user's role, which its log
has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject, as_list, as_object, as_text

Exists = Callable[[str], bool]
# How the path of a file begins that no folder is named before.
ABSOLUTE = re.compile("/|[A-Za-z]:/")


class Instructions(Struct, frozen=True, kw_only=True):
    """A file of the user's that an agent adds to each request: its path, the text that is added, and when the file was
    changed, in Unix milliseconds."""

    path: str
    text: str
    changed_at: int
    is_skill: bool = False


class OwnPrompt(Struct, frozen=True, kw_only=True):
    """Which of the user's files an agent adds to each request.

    - `files`: returns glob patterns for the files with instructions, for `machine.cwd`, the folder of a conversation,
      and the contents of the agent's settings files. Its last argument says whether a file or folder is there. Not all
      of the files need to be.
    - `skills`: returns glob patterns for the files of skills.
    """

    files: Callable[[Machine, Sequence[JsonObject], Exists], Iterable[str]] = lambda _machine, _settings, _exists: ()
    skills: Callable[[Machine, Exists], Iterable[str]] = lambda _machine, _exists: ()


def folders_up(folder: str) -> Iterator[str]:
    """Yields a folder and those above it, the nearest first. The root is left out."""
    while folder.strip("/"):
        yield folder
        folder = folder.rpartition("/")[0]


def in_repository(machine: Machine, exists: Exists) -> list[str]:
    """Returns the folder of a conversation and those above it in its repository, the nearest first. Without a
    repository, returns the folder alone."""
    folders = [*folders_up(machine.cwd)]
    root = next((at for at, folder in enumerate(folders) if exists(f"{folder}/.git")), 0)
    return folders[: root + 1]


def chosen_paths(machine: Machine, folders: Sequence[str], listed: Iterable[Any]) -> Iterator[str]:
    """Yields the paths of the files that settings list: whole ones, those in the home folder (`~/`), and others in each
    of the folders. Addresses on the web are left out."""
    for path in filter(None, map(as_text, listed)):
        if path.startswith("~/"):
            yield machine.folder("", path.removeprefix("~/"))
        elif ABSOLUTE.match(path):
            yield path
        elif "://" not in path:
            yield from (f"{folder}/{path}" for folder in folders)


def chosen_names(settings: Sequence[JsonObject], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of the files with instructions that the setting `context.fileName` chooses, a text or a list
    of them, or the usual ones."""
    values = (as_object(file.get("context")).get("fileName") for file in reversed(settings))
    named = next((value for value in values if value), None)
    return tuple(filter(None, map(as_text, as_list(named) or [named]))) or usual
