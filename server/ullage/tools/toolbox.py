"""All tools, as the service's toolbox port."""

from ullage.model.blocks import ToolUseBlock
from ullage.model.errors import UllageError
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports.models import ToolAbout, ToolOutcome
from ullage.tools.folder_tools import OpenText, folder_tools
from ullage.tools.own_tools import Memories, Recall, memory_tool, recall_tool
from ullage.tools.tool import Call


class LocalToolbox:
    """Finds the tool of a call and runs the call."""

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
        except UllageError as error:
            return ToolOutcome(text=str(error), is_error=True)
