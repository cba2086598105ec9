"""All tools, as the service's toolbox port, and the two tools on Ullage's own data: the memory and the conversation's
archive. Those two need no permission, because they reach nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from ullage.memory import memory_tool as memory
from ullage.model.blocks import ToolUseBlock
from ullage.model.errors import UllageError
from ullage.model.json_values import as_text
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.archive import recall
from ullage.service.archive.recall import RecallResult
from ullage.service.memory import run_memory
from ullage.service.ports.models import ToolAbout, ToolOutcome
from ullage.service.ports.store import MemoryFiles
from ullage.tools.folder_tools import OpenText, folder_tools
from ullage.tools.tool import Call, Tool

# Takes a session's folder; gives the folder's memory, or the user's memory for a session without a folder.
Memories = Callable[[str], MemoryFiles]
Recall = Callable[[str, Any], Awaitable[RecallResult]]


def memory_tool(memories: Memories) -> Tool:
    """Returns the tool by which a model keeps notes that outlast the conversation. `memories` returns the memory of a
    folder."""

    async def run(call: Call) -> ToolOutcome:
        answer = await asyncio.to_thread(run_memory, memories(call.cwd), call.input)
        return ToolOutcome(text=answer.text, is_error=answer.is_error)

    return Tool(definition=memory.DEFINITION, about=_about_memory, run=run)


def recall_tool(look_up: Recall) -> Tool:
    """Returns the tool by which the model searches and reads archived messages. `look_up` runs a call: it gets the
    session's id and the call's input."""

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


class LocalToolbox:
    """Ullage's own tools, for the service's toolbox port: finds the tool of a call and runs the call. An unknown tool
    or a failing one gives a result with `is_error`, which the model reads."""

    def __init__(self, memories: Memories, recall: Recall, open_text: OpenText) -> None:
        tools = (*folder_tools(open_text), memory_tool(memories), recall_tool(recall))
        self._tools = {tool.definition.name: tool for tool in tools}

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition for tool in self._tools.values())

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        tool = self._tools.get(use.name)
        return tool.about(use.input) if tool else ToolAbout(title=use.name, kind=ToolKind.OTHER)

    async def run(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        tool = self._tools.get(use.name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolOutcome(text=f"There is no tool {use.name!r}; there are {known}.", is_error=True)
        try:
            return await tool.run(Call(session_id=session_id, cwd=cwd, input=use.input))
        # OSError: what the system refuses has no other reader than the model, and must not end the turn.
        except (UllageError, OSError) as error:
            return ToolOutcome(text=str(error), is_error=True)
