"""An agent in process whose sessions have MCP servers, and whose model plays a script."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from support.playing_rig import PlayingRig


class ToolsRig(PlayingRig):
    """A rig that asks for sessions with MCP servers, and answers what the user is asked."""

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(folder, script)
        self.asked: list[Any] = []

    async def open(self, capabilities: Any = None, servers: Any = (), version: int = 1) -> str:
        """Returns the id of a new session with these MCP servers."""
        await (self.initialize(capabilities) if version == 1 else self.initialize_version_2(capabilities))
        opened = await self.ask("session/new", cwd="/project", mcpServers=list(servers))
        return opened["sessionId"]

    async def run(self, session_id: str, text: str) -> str:
        """Runs a turn in the version that is spoken, and returns its stop reason."""
        result = await self.prompt(session_id, text)
        if self.version == 1:
            return result["stopReason"]
        idle = await self.until(lambda message: "stopReason" in message.get("params", {}).get("update", {}))
        return idle["params"]["update"]["stopReason"]

    def permit(self, answer: Any) -> None:
        self.answers["session/request_permission"] = lambda params: self.asked.append(params) or answer

    async def offered(self, session_id: str) -> set[str]:
        """Returns the names of the tools that the model was offered last."""
        lines = (await self.ask("_ullage/session/export", sessionId=session_id, format="openai"))["text"]
        return {tool["function"]["name"] for tool in msgspec.json.decode(lines)["tools"]}

    async def results(self, session_id: str) -> list[str]:
        """Returns the texts of the tool results in the transcript."""
        entries = (await self.ask("_ullage/context/messages", sessionId=session_id))["entries"]
        blocks = [block for entry in entries for block in entry["message"]["content"]]
        return [block["content"][0]["text"] for block in blocks if block["type"] == "tool_result"]


MakeToolsRig = Callable[[str], ToolsRig]
