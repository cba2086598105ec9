"""Where aider keeps its chats, and how their titles are found."""

import re
from collections.abc import Sequence

from ullage.agents.machine import Machine, first_line
from ullage.agents.session_facts import Facts
from ullage.model.json_values import JsonObject, as_text

# The line with which the program begins a chat.
STARTED = re.compile(r"^# aider chat started at (\S+ \S+)", re.MULTILINE)


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the paths of aider's chat histories: in the home folder (or `AIDER_CHAT_HISTORY_FILE`), and in the folder
    in which the user works."""
    name = ".aider.chat.history.md"
    own = (f"{machine.cwd}/{name}",) if machine.cwd else ()
    return (machine.folder("AIDER_CHAT_HISTORY_FILE", name), *own)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the first line of the first prompt in the chat history's text, or "" if there is none. Prompts that are
    slash commands are skipped."""
    lines = (line for record in records for line in as_text(record.get("text")).splitlines())
    prompts = (line.lstrip("#").strip() for line in lines if line.startswith("####"))
    return next((first_line(prompt) for prompt in prompts if prompt and not prompt.startswith("/")), "")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a chat history. Its folder is the one in which the file is, and its id is the time at which
    its newest chat began."""
    starts = [start for record in records for start in STARTED.findall(as_text(record.get("text")))]
    return Facts(cwd=path.rpartition("/")[0], session_id=starts[-1] if starts else "")
