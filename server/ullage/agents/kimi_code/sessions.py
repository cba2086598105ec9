"""Where Kimi Code keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for Kimi Code's logs: in a folder per session, and in it one per agent."""
    return (f"{machine.folder('KIMI_CODE_HOME', '.kimi-code')}/sessions/*/*/agents/*/wire.jsonl",)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from `state.json` or these records of a log, or else the first line of the first
    prompt. Empty if they have neither."""
    prompts = (record.get("input") for record in records if record.get("type") == "turn.prompt")
    return last_text(records, "title") or first_prompt(prompts)


def is_sub_agent(path: str) -> bool:
    """Returns whether a log is a sub-agent's: it is not in the folder `main`, which is that of the user's own agent."""
    return "/agents/main/" not in path


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id is the name of the folder that contains `agents`; that of a sub-agent's
    conversation has the name of its own folder, too."""
    folder, _, place = path.partition("/agents/")
    session_id = folder.rpartition("/")[2]
    facts = replace(common_facts(path, records), session_id=session_id)
    return side_of(facts, f"{session_id}/{place.partition('/')[0]}", session_id) if is_sub_agent(path) else facts


def companions(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the log's folder, of the `state.json` of the session. Empty if the file is not a
    log."""
    return ("../../state.json",) if path.endswith("/wire.jsonl") else ()
