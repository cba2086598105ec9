"""The figure of recorded conversations as each surface of Ullage shows it. Every surface is a real program."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from support.agents.launch import Launch
from support.agents.program import program
from support.editors import EDITORS, neovim_environment
from support.lsp_client import Json, LspClient
from support.program import language_server

_EXTENSION = EDITORS / "vscode"
_ESBUILD = _EXTENSION / "node_modules" / ".bin" / "esbuild"
# Seconds, for all files on a busy machine.
_PATIENCE = 600.0
_VSCODE = """
import { readFileSync } from 'node:fs';
import { statusView } from 'SRC/statusText';
import { tooltipMarkdown } from 'SRC/tooltip';
const shown = JSON.parse(readFileSync(0, 'utf8')).map((wire) => {
  const { used, size, cost, _meta } = wire;
  const usage = { sessionId: 's', title: 'A title', used, size, meta: _meta.ullage, cost, at: 0 };
  const health = { kind: 'running' };
  return {
    ...statusView({ health, usage, compaction: undefined, done: undefined }),
    tooltip: tooltipMarkdown(usage, undefined, 0),
  };
});
process.stdout.write(JSON.stringify(shown));
"""
# Messages of one page. Small, so that recordings have several pages.
_PAGE = 50


class Figure(Struct, frozen=True, kw_only=True):
    """What every surface must agree on. Tokens; `percent` is one of the window."""

    used: int
    size: int | None
    percent: int | None
    source: str
    threshold: int | None

    @classmethod
    def of_wire(cls, usage: Json) -> Self:
        """Returns the figure of a usage update, or of a usage in a result."""
        meta = usage["_meta"]["ullage"]
        used = usage["used"] if "used" in usage else sum(meta["breakdown"].values())
        threshold = meta["threshold"] and meta["threshold"]["tokens"]
        assert threshold == meta["compactAt"]
        return cls(
            used=used,
            size=usage.get("size"),
            percent=meta["percent"],
            source=meta["source"],
            threshold=threshold,
        )


class Imported(Struct, frozen=True, kw_only=True):
    """What the Language Server says of one file. `message_ids` are those of the transcript's pages, and `inserted`
    those of markers, which are in no file."""

    session_id: str
    usage: Json
    messages: int
    unread: tuple[Json, ...]
    message_ids: tuple[str, ...]
    inserted: tuple[str, ...]


async def imported(store: Path, paths: Iterable[Path]) -> dict[Path, Imported]:
    """Imports the files by one Language Server."""
    async with language_server(store) as client:
        results = {path: await client.request("ullage/session/import", {"path": str(path)}) for path in paths}
        # Only now, because an import may teach where the agent of another conversation compacts.
        answers = {path: await _imported(client, result) for path, result in results.items()}
        assert await client.shutdown() == 0
        return answers


async def _imported(client: LspClient, result: Json) -> Imported:
    session = result["session"]
    usage = await client.request("ullage/context/get", {"sessionId": session["sessionId"]})
    entries = await _pages(client, session["sessionId"])
    return Imported(
        session_id=session["sessionId"],
        usage=usage,
        messages=result["messages"],
        unread=tuple(result["unread"]),
        message_ids=tuple(entry["message"]["id"] for entry in entries if not entry.get("inserted")),
        inserted=tuple(entry["message"]["id"] for entry in entries if entry.get("inserted")),
    )


async def _pages(client: LspClient, session_id: str) -> list[Json]:
    """Returns the transcript's entries, read page by page from the last one to the first, as a view that is scrolled
    up reads them."""
    params = {"sessionId": session_id, "scope": "transcript"}
    end = (await client.request("ullage/context/messages", {**params, "limit": 1}))["total"]
    entries: list[Json] = []
    while end > 0:
        start = max(0, end - _PAGE)
        page = await client.request("ullage/context/messages", {**params, "offset": start, "limit": end - start})
        assert len(page["entries"]) == end - start
        entries = page["entries"] + entries
        end = start
    return entries


async def replayed(store: Path, session_ids: Iterable[str], folder: Path) -> dict[str, Json]:
    """Loads the sessions by one `ullage acp`. Returns the update that has each session's usage."""
    command = (sys.executable, "-m", "ullage", "acp", "--store", str(store))
    launch = Launch(title="ullage acp", command=command, environment=dict(os.environ), cwd=folder)
    async with program(command, launch, folder / "acp.err") as end:
        await end.greet()
        updates: dict[str, Json] = {}
        for session_id in session_ids:
            end.messages.clear()
            await end.ask("session/load", sessionId=session_id, cwd=str(folder), mcpServers=[])
            told = await end.until(lambda message, session_id=session_id: _is_usage(message, session_id))
            updates[session_id] = told["params"]["update"]
        return updates


def _is_usage(message: Json, session_id: str) -> bool:
    params = message.get("params", {})
    return (
        params.get("sessionId") == session_id
        and "ullage" in params.get("update", {}).get("_meta", {})
        and ("breakdown" in params["update"]["_meta"]["ullage"])
    )


def in_neovim(nvim: Path, paths: Sequence[Path], folder: Path) -> dict[Path, Json]:
    """Imports the files in one real Neovim. Returns for each the statusline's text and the plugin's figures."""
    files = folder / "files.json"
    files.write_bytes(msgspec.json.encode([str(path) for path in paths]))
    command = [nvim, "--clean", "--headless", "-l", EDITORS / "nvim" / "tests" / "figures.lua"]
    wanted = {**neovim_environment(folder), "ULLAGE_FILES": str(files)}
    done = subprocess.run(command, env=wanted, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("{")]
    assert lines, done.stdout + done.stderr
    return {Path(path): shown for path, shown in msgspec.json.decode(lines[0]).items()}


def in_vscode(usages: Sequence[Json], folder: Path) -> list[Json]:
    """Returns the status item and the tooltip that the extension's own functions make of each usage."""
    (folder / "surface.ts").write_text(_VSCODE.replace("SRC", (_EXTENSION / "src").as_posix()))
    bundle = [_ESBUILD, "surface.ts", "--bundle", "--platform=node", "--format=cjs", "--outfile=surface.js"]
    subprocess.run(bundle, cwd=folder, capture_output=True, timeout=_PATIENCE, check=True)
    given = msgspec.json.encode(usages)
    done = subprocess.run(
        ["node", "surface.js"], cwd=folder, input=given, capture_output=True, timeout=_PATIENCE, check=True
    )
    return msgspec.json.decode(done.stdout)


def has_extension_tools() -> bool:
    """Whether the extension's bundler and Node are installed."""
    return _ESBUILD.exists() and shutil.which("node") is not None
