"""Where the Grok CLI keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.model.json_values import JsonObject


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for Grok's chat histories: in a folder per project, and in it one per session."""
    return (f"{machine.folder('', '.grok')}/sessions/*/*/chat_history.jsonl",)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from `summary.json`, or else the first line of the first prompt in these records.
    Returns "" if they contain neither."""
    named = last_text(records, "generated_title") or last_text(records, "session_summary")
    typed = (record for record in records if record.get("type") == "user" and "synthetic_reason" not in record)
    return named or first_prompt(record.get("content") for record in typed)
