"""Where opencode keeps its sessions, and Kilo Code's CLI, which is built on it; how their titles are found."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.formats.transcripts.several import parsed
from ullage.model.json_values import JsonObject, as_object, as_text

_ABSOLUTE = re.compile("/|[A-Za-z]:/")
_MADE_OF_TIME = re.compile(r"(New|Child) session - \d{4}-\d{2}-\d{2}T[\d:.]+Z")


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for opencode's databases (a test version has one of its own), and for the session files of
    older versions. They are the same on every operating system. `OPENCODE_DB` names another database, by a path that
    may be relative to the folder of the usual one."""
    folder = f"{machine.data}/opencode"
    named = machine.variables.get("OPENCODE_DB", "").replace("\\", "/")
    if named and not _ABSOLUTE.match(named):
        named = f"{folder}/{named}"
    databases = (named,) if named else (f"{folder}/opencode.db", f"{folder}/opencode-*.db")
    return (*databases, f"{folder}/storage/session/*/*.json")


def kilo_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the path of the database of Kilo Code's CLI."""
    return (f"{machine.data}/kilo/kilo.db",)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session: from its row in the database, in which the model is JSON, or from its file."""
    facts = common_facts(path, records)
    ids = (as_text(record.get("id")) for record in records if "projectID" in record)
    model = as_text(as_object(parsed(facts.model)).get("id")) or facts.model
    return replace(facts, model=model, session_id=facts.session_id or next(ids, ""))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the session's title from these rows of the database or the session's file; empty if they have none."""
    return given_title(last_text((as_object(record.get("row", record)) for record in records), "title"))


def given_title(title: str) -> str:
    """Returns a session's title, or "" for the one that opencode makes of the time until a model has written
    another."""
    return "" if _MADE_OF_TIME.fullmatch(title) else title


def companions(path: str) -> tuple[str, ...]:
    """Returns glob patterns, relative to the folder of a session's file in `storage/session/PROJECT/`, for the files of
    its messages and their parts. Empty for other files."""
    folder, _, name = path.rpartition("/")
    if not folder.rpartition("/")[0].endswith("storage/session") or not name.endswith(".json"):
        return ()
    return (f"../../message/{name.removesuffix('.json')}/*.json", "../../part/*/*.json")
