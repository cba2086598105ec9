"""The tools on Ullage's own data: the memory and the conversation's archive. They need no permission, because they
reach nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ullage.memory import tool as memory
from ullage.model.json_values import as_text
from ullage.model.updates import ToolKind
from ullage.service.archive import recall
from ullage.service.archive.recall import RecallResult
from ullage.service.memory import run_memory
from ullage.service.ports.models import ToolAbout, ToolOutcome
from ullage.service.ports.store import MemoryFiles
from ullage.tools.tool import Call, Tool

# Takes a session's folder; gives the folder's memory, or the user's memory for a session without a folder.
Memories = Callable[[str], MemoryFiles]
Recall = Callable[[str, Any], Awaitable[RecallResult]]


def memory_tool(memories: Memories) -> Tool:
    """Returns the tool for notes that outlast the conversation."""

    async def run(call: Call) -> ToolOutcome:
        answer = await asyncio.to_thread(run_memory, memories(call.cwd), call.input)
        return ToolOutcome(text=answer.text, is_error=answer.is_error)

    return Tool(definition=memory.DEFINITION, about=_about_memory, run=run)


def recall_tool(look_up: Recall) -> Tool:
    """Returns the tool that looks up earlier parts of the conversation."""

    async def run(call: Call) -> ToolOutcome:
        found = await look_up(call.session_id, call.input)
        return ToolOutcome(text=found.text, is_error=found.is_error)

    return Tool(definition=recall.DEFINITION, about=_about_recall, run=run)


def _about_memory(given: dict[str, Any]) -> ToolAbout:
    command = as_text(given.get("command"))
    path = as_text(given.get("path")) or as_text(given.get("old_path"))
    kind = ToolKind.READ if command == "view" else ToolKind.EDIT
    return ToolAbout(title=" ".join(filter(None, ("Memory:", command, path))), kind=kind)


def _about_recall(given: dict[str, Any]) -> ToolAbout:
    subject = as_text(given.get("query")) or as_text(given.get("message_id"))
    return ToolAbout(title=f"Recall {subject}".strip(), kind=ToolKind.SEARCH)
