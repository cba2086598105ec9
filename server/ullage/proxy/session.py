"""What the proxy knows of a session that an agent keeps."""

import asyncio
from typing import Any

from msgspec import Struct

from ullage.agents.agent import Occupancy
from ullage.jsonrpc.envelope import RequestId
from ullage.model.edits import EditTrigger
from ullage.model.message import Message
from ullage.proxy.record.turn import Turn


class NativeCompaction(Struct):
    """A compaction of the agent's own that is under way: what it is known to have done. `asked` says that its command
    was given, `fork` is a copy of the session as it was, where the agent makes one."""

    used_before: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    asked: bool = False
    fork: str = ""
    summary: str = ""
    completed: bool = False


class ProxiedSession:
    """A session by the client's id. `agent_id` is the agent's own, which differs once the context was handed over to a
    fresh session. `seed` is what the next prompt begins with, so that the agent knows what was said before. `rounds`
    counts the answers of the present turn: each was a request to the model."""

    def __init__(self, session_id: str, cwd: str, mcp_servers: list[Any]) -> None:
        self.id = session_id
        self.agent_id = session_id
        self.cwd = cwd
        self.mcp_servers = mcp_servers
        self.turn = Turn()
        self.seed = ""
        self.model = ""
        self.tells_model = False
        self.window: int | None = None
        self.commands: list[Any] = []
        self.commands_told = False
        self.config: dict[str, Any] = {}
        self.mode = ""
        self.occupancy: Occupancy | None = None
        self.rounds = 0
        self.tells_usage = False
        self.prompts: set[RequestId | None] = set()
        self.loading = False
        self.replayed: tuple[Message, ...] = ()
        self.native: NativeCompaction | None = None
        self.tried_at = 0
        self.held: list[str] = []
        self.acting: asyncio.Task[None] | None = None
        self.order = asyncio.Lock()

    @property
    def busy(self) -> bool:
        """Whether a prompt turn is under way."""
        return bool(self.prompts)
