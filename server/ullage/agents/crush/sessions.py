"""Where Crush keeps its sessions, and how their titles are found."""

import glob
from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.machine import Machine, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the path of Crush's list of projects. Each project has its own database, in `data_dir` or in `.crush`
    under its `path`."""
    folder = machine.folder("LOCALAPPDATA", "AppData/Local") if machine.system == "win32" else machine.data
    return (f"{folder}/crush/projects.json",)


def registry(records: Sequence[JsonObject]) -> tuple[str, ...]:
    """Returns glob patterns for the databases of the projects that are listed in `projects.json`."""
    projects = (project for record in records for project in as_objects(record.get("projects")))
    folders = ((as_text(project.get("path")), as_text(project.get("data_dir"))) for project in projects)
    # The folder of a database may be relative to the project.
    places = (PurePosixPath(_slashed(path)) / _slashed(data or ".crush") for path, data in folders if path or data)
    return tuple(f"{glob.escape(str(place))}/crush.db" for place in places)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its folder is the one that contains `.crush`, the default folder of the database;
    it is "" if the database is in another folder."""
    folder = PurePosixPath(path).parent
    return replace(common_facts(path, records), cwd=str(folder.parent) if folder.name == ".crush" else "")


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the session's title from these rows; empty if they have none."""
    return last_text((as_object(record.get("row", record)) for record in records), "title")
