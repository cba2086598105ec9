"""Where OpenHands keeps its conversations, and how their titles are found."""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for OpenHands' conversations: the file `base_state.json` in a folder for each."""
    return (f"{machine.folder('', '.openhands')}/conversations/*/base_state.json",)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the first line of the first prompt in these events, as the conversation's title; empty if they have
    none."""
    said = [as_object(record.get("llm_message")) for record in records if record.get("source") == "user"]
    return first_prompt(message.get("content") for message in said)


def fact_files(path: str) -> tuple[str, ...]:
    """Returns a glob pattern, relative to the conversation's folder, for its first four events, which contain the first
    prompt."""
    return ("events/event-0000[0-3]-*.json",) if path.endswith("/base_state.json") else ()


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a conversation: folder, model and id, from `base_state.json`."""
    state = as_object(next((record for record in records if "workspace" in record), None))
    model = as_text(as_object(as_object(state.get("agent")).get("llm")).get("model"))
    cwd = as_text(as_object(state.get("workspace")).get("working_dir"))
    return replace(common_facts(path, records), cwd=cwd, model=model, session_id=as_text(state.get("id")))


def companions(path: str) -> tuple[str, ...]:
    """Returns a glob pattern, relative to the folder of a `base_state.json`, for the conversation's events. Empty for
    other files."""
    return ("events/event-*.json",) if path.endswith("/base_state.json") else ()
