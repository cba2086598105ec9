"""Where goose keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.formats.transcripts.several import parsed
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the path of goose's database of sessions, and a glob pattern for the session files of older versions."""
    windows = machine.system == "win32"
    folder = f"{machine.settings}/Block/goose/data/sessions" if windows else f"{machine.data}/goose/sessions"
    return (f"{folder}/sessions.db", f"{folder}/*.jsonl")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session: from its row in the database, which also shows a sub-agent's session, or from the
    first line of its file."""
    facts = common_facts(path, records)
    models = (as_object(parsed(as_object(record.get("row")).get("model_config_json"))) for record in records)
    return replace(
        facts,
        model=next((name for model in models if (name := as_text(model.get("model_name")))), facts.model),
        is_side=any(as_object(record.get("row")).get("session_type") == "sub_agent" for record in records),
    )


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the session's name from these rows of the database or records of its file; empty if they have none."""
    heads = [as_object(record.get("row", record)) for record in records]
    return last_text(heads, "name") or last_text(heads, "description")
