"""Where Qwen Code keeps its conversations, and how their titles are found."""

import glob
from collections.abc import Sequence
from pathlib import PurePosixPath

from ullage.agents.machine import Machine, first_prompt
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Qwen Code's conversations: per project, with those of sub-agents in a folder per
    session."""
    projects = f"{machine.folder('QWEN_HOME', '.qwen')}/projects/*"
    return (f"{projects}/chats/*.jsonl", f"{projects}/subagents/*/agent-*.jsonl")


def is_sub_agent(path: str) -> bool:
    """Returns whether a file is a sub-agent's: its name begins with `agent-`."""
    return path.rpartition("/")[2].startswith("agent-")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session or of a sub-agent's conversation. The name of a sub-agent's file has its id, and
    its folder is named after the session that started it."""
    facts = common_facts(path, records)
    if not is_sub_agent(path):
        return facts
    file = PurePosixPath(path)
    return side_of(facts, file.name.partition(".")[0].removeprefix("agent-"), file.parent.name)


def companions(path: str) -> tuple[str, ...]:
    """Returns a glob pattern, relative to a session file's folder, for the files of the session's sub-agents. Empty for
    other files."""
    file = PurePosixPath(path)
    is_chat = file.parent.name == "chats" and file.suffix == ".jsonl"
    return (f"../subagents/{glob.escape(file.stem)}/agent-*.jsonl",) if is_chat else ()


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a conversation's last title from these of its records, or else the first line of its first prompt. Empty
    if they have neither."""
    payloads = [as_object(record.get("systemPayload")) for record in records]
    titles = [title for payload in payloads if (title := as_text(payload.get("customTitle")))]
    said = [as_object(record.get("message")) for record in records if record.get("type") == "user"]
    return titles[-1] if titles else first_prompt(message.get("parts") for message in said)
