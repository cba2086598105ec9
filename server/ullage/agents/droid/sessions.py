"""Where Droid keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Droid's session files: in a folder per project; in early versions without such a
    folder."""
    home = f"{machine.folder('', '.factory')}/sessions"
    return (f"{home}/*/*.jsonl", f"{home}/*.jsonl")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id is in the first record, of type `session_start`."""
    facts = common_facts(path, records)
    head = as_object(next((record for record in records if record.get("type") == "session_start"), None))
    return replace(facts, session_id=as_text(head.get("id")) or facts.session_id)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records, or else the first line of its first prompt. Empty if they
    have neither."""
    messages = [as_object(record.get("message")) for record in records]
    prompts = (message.get("content") for message in messages if message.get("role") == "user")
    return last_text(records, "sessionTitle") or last_text(records, "title") or first_prompt(prompts)
