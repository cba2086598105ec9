"""What Ullage knows about Cline: where it keeps its sessions (`messages.py`) and its older tasks (`tasks.py`).

Roo Code keeps its tasks in the same way.
"""

from collections.abc import Sequence

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cline import messages, tasks
from ullage.agents.machine import Machine, first_line, last_text
from ullage.agents.own_context import OwnContext, share
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_object, as_text

_CLINE, _ROO = "saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the files of Cline's sessions (its CLI and newer extensions) and tasks (its classic
    extension)."""
    data = (
        machine.variables.get("CLINE_DATA_DIR", "").replace("\\", "/")
        or f"{machine.folder('CLINE_DIR', '.cline')}/data"
    )
    sessions = machine.variables.get("CLINE_SESSION_DATA_DIR", "").replace("\\", "/") or f"{data}/sessions"
    places = (data, *machine.extension_folders(_CLINE))
    return (f"{sessions}/*/*.messages.json", *(f"{place}/tasks/*/api_conversation_history.json" for place in places))


def roo_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the files of Roo Code's tasks."""
    return tuple(f"{place}/tasks/*/api_conversation_history.json" for place in machine.extension_folders(_ROO))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the title of a session or task from these of its records, or else the first line of its first prompt.
    Empty if they have neither."""
    titles = last_text((as_object(record.get("metadata")) for record in records), "title")
    titles = titles or last_text(records, "prompt")
    task = last_text(records, "task") or next((as_text(item.get("text")) for item in records if item.get("say")), "")
    return titles or first_line(task)


def is_sub_agent(path: str) -> bool:
    """Returns whether a session is a sub-agent's: the name of its file, which is its id, contains two underscores after
    its parent's id."""
    return "__" in path.rpartition("/")[2]


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session or task. The id of a sub-agent's session begins with its parent's."""
    facts = common_facts(path, records)
    if not is_sub_agent(path):
        return facts
    session_id = path.rpartition("/")[2].removesuffix(".messages.json")
    return side_of(facts, session_id, session_id.partition("__")[0])


def companions(path: str) -> tuple[str, ...]:
    """Returns the names of the files next to a session's messages or a task's history that belong to it. Empty for
    other files."""
    name = path.rpartition("/")[2]
    if name == "api_conversation_history.json":
        return ("ui_messages.json", "task_metadata.json", "history_item.json")
    stem = name.removesuffix(".messages.json")
    return (f"{stem}.json", f"{stem}.compaction.json") if stem != name else ()


AGENT = Agent(
    name="Cline",
    formats=(messages.FORMAT, tasks.FORMAT),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions, is_sub_agent=is_sub_agent
    ),
    # Read in its source: nine tenths of the largest prompt, which is nine tenths of the window. It compares its own
    # estimate.
    own_context=OwnContext(threshold=share(0.81)),
    inserted=Inserted(tags=("environment_details", "hook_context"), typed_tags=("user_input",)),
)
