"""Where Copilot CLI keeps its sessions, and how their titles are found."""

from collections.abc import Sequence

from ullage.agents.copilot_cli.agent_runs import read_pairs
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Copilot CLI's event logs: one in a folder per session; in early versions a file per
    session."""
    return (f"{_home(machine)}/*/events.jsonl", f"{_home(machine)}/*.jsonl")


def running_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for the files that exist while a session is open: `inuse.PID.lock` in its folder (seen
    with 1.0.102)."""
    return (f"{_home(machine)}/*/inuse.*.lock",)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Those in `workspace.yaml` are preferred to those in its log, because they follow
    the session if it moves to another folder."""
    return common_facts(path, [*_workspaces(records), *records])


def _workspaces(records: Sequence[JsonObject]) -> list[dict[str, str]]:
    return [read_pairs(as_text(record.get("text")).splitlines()) for record in records if "file" in record]


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records, or else the first line of its first prompt. Empty if they
    have neither."""
    data = [as_object(record.get("data")) for record in records]
    named = next((pairs["name"] for pairs in _workspaces(records) if pairs.get("name")), "")
    prompts = (
        as_object(record.get("data")).get("content") for record in records if record.get("type") == "user.message"
    )
    return last_text(data, "title") or named or first_prompt(prompts)


def _home(machine: Machine) -> str:
    return f"{machine.folder('COPILOT_HOME', '.copilot')}/session-state"
