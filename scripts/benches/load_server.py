"""A real server under load: the process that editors start, with the latencies of its answers and its memory."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from benches.report import percentile
from support.lsp_client import LspClient, start_server

# Seconds. No measured request should take this long; one that does is reported as failed.
_PATIENCE = 300.0


class LoadedServer:
    """One server process and the requests about its sessions. `latencies` are in milliseconds, by method."""

    def __init__(self, client: LspClient) -> None:
        self._client = client
        self.latencies: dict[str, list[float]] = {}

    async def ask(self, method: str, **params: Any) -> Any:
        """Requests `ullage/<method>`, keeps the latency and returns the result."""
        began = time.perf_counter()
        answer = await self._client.start(f"ullage/{method}", params)
        result = await asyncio.wait_for(answer, _PATIENCE)
        self.latencies.setdefault(method, []).append(1000 * (time.perf_counter() - began))
        # The server's notifications would otherwise pile up in this process.
        self._client.notifications.clear()
        return result

    async def new_session(self, model: str) -> str:
        """Starts a session and returns its id."""
        return (await self.ask("session/new", model=model))["sessionId"]

    async def append(self, session_id: str, *messages: dict[str, Any]) -> Any:
        """Requests `session/append`."""
        return await self.ask("session/append", sessionId=session_id, messages=list(messages))

    def rss(self) -> int:
        """Returns the process's memory now, in bytes."""
        return self._status("VmRSS")

    def peak_rss(self) -> int:
        """Returns the most memory that the process has held, in bytes."""
        return self._status("VmHWM")

    def _status(self, name: str) -> int:
        lines = Path(f"/proc/{self._client.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


@asynccontextmanager
async def load_server(store: Path, settings: dict[str, Any] | None = None) -> AsyncGenerator[LoadedServer]:
    """Starts a server on a store. The server is stopped when the block ends."""
    command = (sys.executable, "-m", "ullage", "lsp", "--store", str(store))
    async with start_server(command) as client:
        await client.initialize(options=settings or {})
        yield LoadedServer(client)


def text_message(number: int, role: str = "user", lines: int = 5) -> dict[str, Any]:
    """Returns a message of about 18 tokens a line. Each message differs, so that no count comes from the cache."""
    text = "\n".join(
        f"step {number}.{i}: read src/module_{(number * 31 + i) % 997}.py and note what it exports"
        for i in range(lines)
    )
    return {"id": f"m{number}", "role": role, "content": text}


def latency_row(what: str, durations: Sequence[float], runs: str = "") -> dict[str, Any]:
    """Returns a row of the report, in milliseconds."""
    return {
        "what": what,
        "runs": runs or f"{len(durations):,}",
        "p50 ms": percentile(durations, 0.5),
        "p99 ms": percentile(durations, 0.99),
        "max ms": max(durations, default=0.0),
    }
