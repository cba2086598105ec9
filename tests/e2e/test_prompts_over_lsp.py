"""Prompt turns with the real program. A script plays the model, and the client answers permission requests."""

from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import LspClient
from support.program import language_server

ASKING: dict[str, Any] = {"experimental": {"ullage": {"version": 1, "permissions": True}}}
PERMISSION = "ullage/session/request_permission"
MODEL = "gpt-4o"
READS_TWICE = """\
say: I look.
tool: read_file {"path": "notes.txt"}
---
tool: read_file {"path": "notes.txt"}
---
when: flamingo
say: A flamingo.
"""


def scripted(folder: Path, script: str) -> Any:
    path = folder / "script.txt"
    path.write_text(script)
    return {"provider": "script", "providers": {"script": {"kind": "scripted", "file": str(path)}}}


async def start(client: LspClient, folder: Path) -> str:
    return (await client.request("ullage/session/new", {"cwd": str(folder), "model": MODEL}))["sessionId"]


def prompt(session_id: str, text: str) -> Any:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


async def texts(client: LspClient, session_id: str) -> str:
    result = await client.request("ullage/context/messages", {"sessionId": session_id, "scope": "transcript"})
    return str([entry["message"]["content"] for entry in result["entries"]])


async def test_the_client_is_asked_once_for_what_it_always_allows(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The flamingo is pink.")
    asked: list[Any] = []

    def allow(params: Any) -> Any:
        asked.append(params)
        return {"outcome": {"outcome": "selected", "optionId": "allow_always"}}

    async with language_server(tmp_path / "s.db", scripted(tmp_path, READS_TWICE), ASKING) as client:
        client.answers[PERMISSION] = allow
        session_id = await start(client, tmp_path)
        ended = await client.request("ullage/session/prompt", prompt(session_id, "What is in my notes?"))

        assert ended == {"stopReason": "end_turn"}
        assert [question["toolCall"]["title"] for question in asked] == ["Read notes.txt"]
        assert "The flamingo is pink." in await texts(client, session_id)


@pytest.mark.slow
async def test_what_was_said_before_the_client_disappeared_is_kept(tmp_path: Path) -> None:
    settings = scripted(tmp_path, "say: Once upon a time\nwait: 600\nsay: the end")
    async with language_server(tmp_path / "s.db", settings) as client:
        session_id = await start(client, tmp_path)
        await client.start("ullage/session/prompt", prompt(session_id, "Tell me a story"))
        await client.wait_for("ullage/session/update", lambda params: "time" in str(params["update"]))
        await client.close_input()
        assert await client.wait_closed() == 0

    async with language_server(tmp_path / "s.db") as again:
        assert "Once upon a time" in await texts(again, session_id)
