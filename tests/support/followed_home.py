"""A home folder in which an agent keeps a conversation that a server follows."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.log_trees import to_bytes
from support.lsp_client import Json, LspClient, start_server
from support.program import OUR_CLIENT, serve_command
from support.session_log import JsonObject, line, say
from support.steps import PATIENCE

PROJECT, SESSION = "/home/user/project", "11111111-2222-3333-4444-555555555555"
_CHANGED = "ullage/following/changed"


class FollowedHome:
    """A home folder in which Claude Code keeps one conversation. `lines` is what is to be in its file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / ".claude" / "projects" / "-home-user-project" / f"{SESSION}.jsonl"
        self.path.parent.mkdir(parents=True)
        self.path.touch()
        self.lines: list[JsonObject] = []

    def say(self, prompt: str, tokens: int) -> None:
        """Adds a prompt and an answer, after which the context has this size, and writes both to the file."""
        number = len(self.lines)
        now = datetime.now(UTC).isoformat()
        own = {"sessionId": SESSION, "cwd": PROJECT, "timestamp": now}
        usage = {"input_tokens": tokens - 10, "output_tokens": 10}
        more = [
            line("user", f"u{number}", f"u{number - 1}" if number else None, prompt, **own),
            line(
                "assistant", f"u{number + 1}", f"u{number}", [say("Done.")], usage=usage, stop_reason="end_turn", **own
            ),
        ]
        self.lines += more
        with self.path.open("ab") as file:
            file.write(to_bytes(more))

    @asynccontextmanager
    async def server(self, capabilities: Json | None = None, folder: str = "") -> AsyncGenerator[LspClient]:
        """Runs a server of the user who has this home, on the user's store, for an editor of Ullage unless other
        `capabilities` are given. `folder` is open in it."""
        env = {"HOME": str(self.folder), "CLAUDE_CONFIG_DIR": str(self.folder / ".claude")}
        async with start_server(serve_command(self.folder / "store.db"), env) as client:
            root = Path(folder).as_uri() if folder else None
            await client.initialize(OUR_CLIENT if capabilities is None else capabilities, rootUri=root)
            yield client


async def changed(client: LspClient, used: int) -> Any:
    """Waits until the server says that a followed conversation has this size, and returns its row."""

    def fitting(params: Any) -> Sequence[Any]:
        return [row for row in params["rows"] if row["used"] == used]

    return fitting(await client.wait_for(_CHANGED, lambda params: bool(fitting(params))))[0]


async def stored(client: LspClient, session_id: str, used: int) -> Any:
    """Waits until a session has this size, and returns its usage. Its row shows an answer at once, and with it the
    size; the session gets it when the file has been quiet for a second, and with it the parts."""
    async with asyncio.timeout(PATIENCE):
        while True:
            usage = await client.request("ullage/context/get", {"sessionId": session_id})
            if sum(usage["_meta"]["ullage"]["breakdown"].values()) == used == usage["used"]:
                return usage
