"""Where the Grok CLI keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for Grok's chat histories: in a folder per project, and in it one per session."""
    return (f"{machine.folder('', '.grok')}/sessions/*/*/chat_history.jsonl",)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from `summary.json`, or else the first line of the first prompt in these records.
    Returns "" if they contain neither."""
    named = last_text(records, "generated_title") or last_text(records, "session_summary")
    typed = (record for record in records if record.get("type") == "user" and "synthetic_reason" not in record)
    return named or first_prompt(record.get("content") for record in typed)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id, and whether it is a sub-agent's, says `summary.json`, which does not say
    which session started it."""
    summary = as_object(next((record for record in records if "info" in record), None))
    session_id = as_text(as_object(summary.get("info")).get("id"))
    facts = replace(common_facts(path, records), session_id=session_id)
    return side_of(facts, session_id, "") if is_of_sub_agent(summary) else facts


def is_of_sub_agent(summary: JsonObject) -> bool:
    """Returns whether a session is a sub-agent's, according to its `summary.json`. The user's own has no kind."""
    return summary.get("session_kind") == "subagent"
