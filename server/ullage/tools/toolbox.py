"""All tools behind the one port."""

from ullage.model.blocks import ToolUseBlock
from ullage.model.message import ToolDefinition
from ullage.model.updates import ToolKind
from ullage.service.ports import ToolAbout, ToolOutcome


class LocalToolbox:
    """Finds a call's tool and makes the call."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return ()

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        return ToolAbout(title=use.name, kind=ToolKind.OTHER)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=f"There is no tool {use.name!r} here.", is_error=True)
