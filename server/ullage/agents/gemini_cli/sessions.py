"""Where Gemini CLI keeps its conversations, and how their titles are found."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Gemini CLI's conversations: per project, those of sub-agents one folder deeper, and
    saved checkpoints."""
    projects = f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/tmp/*"
    return (f"{projects}/chats/session-*.json*", f"{projects}/chats/*/*.jsonl", f"{projects}/checkpoint-*.json")


def fact_files(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the conversation's folder, of the file that contains the folder of its project."""
    return ("../.project_root",) if "/chats/" in path else (".project_root",)


def is_sub_agent(path: str) -> bool:
    """Returns whether a file is a sub-agent's: it is in a folder of its own in `chats`, named after the main
    conversation."""
    return PurePosixPath(path).parent.parent.name == "chats"


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a conversation. Its folder is in the file `.project_root`, or in the first record of the
    conversation."""
    roots = (as_text(record.get("text")).strip() for record in records if record.get("file") == ".project_root")
    heads = (as_list(as_object(record.get("$set", record)).get("directories")) for record in records)
    folders = (as_text(folder) for folders in heads for folder in folders)
    facts = common_facts(path, records)
    if is_sub_agent(path):
        file = PurePosixPath(path)
        facts = side_of(facts, facts.session_id or file.stem, file.parent.name)
    return replace(
        facts,
        cwd=next(roots, "") or next(folders, ""),
        is_side=facts.is_side or any(record.get("kind") == "subagent" for record in records),
    )


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a conversation's title from these of its records, or else the first line of its first prompt. Empty if
    they have neither."""
    facts = [as_object(record.get("$set", record)) for record in records]
    # A resumed conversation begins with all of its messages in one record.
    said = [message for fact in facts for message in (fact, *as_objects(fact.get("messages")))]
    prompts = (message.get("content") for message in said if message.get("type") == "user")
    return last_text(facts, "summary") or first_prompt(prompts)
