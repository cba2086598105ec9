"""Where pi keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for pi's session files: in a folder per project, a file per session. A folder that the user
    has chosen has the sessions of all projects."""
    default = f"{machine.folder('PI_CODING_AGENT_DIR', '.pi/agent')}/sessions/*/*.jsonl"
    chosen = machine.variables.get("PI_CODING_AGENT_SESSION_DIR")
    return (f"{machine.folder('PI_CODING_AGENT_SESSION_DIR', '')}/*.jsonl", default) if chosen else (default,)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id is in the first record, of type `session`."""
    head = as_object(next((record for record in records if record.get("type") == "session"), None))
    return replace(common_facts(path, records), session_id=as_text(head.get("id")))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records: the name that the user gave it, else the first line of the
    first prompt. Empty if they have neither."""
    messages = [as_object(record.get("message")) for record in records]
    named = last_text((record for record in records if record.get("type") == "session_info"), "name")
    return named or first_prompt(message.get("content") for message in messages if message.get("role") == "user")
