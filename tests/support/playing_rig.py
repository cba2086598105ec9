"""An agent in process whose model plays a script, also with sessions that have MCP servers."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec

from support.acp_rig import AcpRig
from ullage.app.acp_agent import make_agent
from ullage.model.settings import ContextSettings, ModelSettings, ProviderSettings, Settings

MODEL = "gpt-4o"
ALLOW: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
REJECT: dict[str, Any] = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
Given = ParamSpec("Given")
Rig = TypeVar("Rig", bound=AcpRig)


class PlayingRig(AcpRig):
    """A rig whose model plays a script, with its store in a folder. `window` is the model's, if not that of the
    catalog."""

    def __init__(
        self, folder: Path, script: str, context: ContextSettings | None = None, window: int | None = None
    ) -> None:
        (folder / "script.txt").write_text(script)
        provider = ProviderSettings(kind="scripted", file=str(folder / "script.txt"), models=(MODEL,))
        settings = Settings(
            model=MODEL,
            models={MODEL: ModelSettings(window=window)},
            providers={"script": provider},
            context=context or ContextSettings(),
        )
        closing = AsyncExitStack()
        super().__init__(make_agent(closing, folder / "sessions.db", settings), closing)


@asynccontextmanager
async def rigs_by(make: Callable[Given, Rig]) -> AsyncGenerator[Callable[Given, Rig]]:
    """Yields a function that makes rigs as `make` does. At the end of the block they hang up, and every message that
    they sent must have fitted the official schema."""
    rigs: list[Rig] = []

    def made(*args: Given.args, **kwargs: Given.kwargs) -> Rig:
        rigs.append(make(*args, **kwargs))
        return rigs[-1]

    yield made
    for rig in rigs:
        await rig.hang_up()
        assert rig.faults == []


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
