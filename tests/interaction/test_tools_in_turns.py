"""Ullage's own tools, called in prompt turns of a workspace that is built as for real use."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ullage.app.compose import open_workspace
from ullage.model.errors import AnswerBroken
from ullage.model.events import SessionCreated
from ullage.model.message import TextBlock, ToolResultBlock
from ullage.model.settings import ProviderSettings, Settings
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import new_session
from ullage.service.turns import prompt

MODEL = "gpt-4o"
SCRIPT = """\
when: remember
tool: memory {"command": "create", "path": "/memories/style.md", "file_text": "Tabs, never spaces."}
---
when: created
say: Noted.
---
when: what did I say
tool: recall {"query": "flamingo"}
---
when: archived record
say: It is in the archive.
---
when: look it up
tool: memory {"command": "view", "path": "/memories/style.md"}
---
when: never spaces
say: Tabs.
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    script = tmp_path / "script.txt"
    script.write_text(SCRIPT)
    provider = ProviderSettings(kind="scripted", file=str(script), models=(MODEL,))
    with open_workspace(tmp_path / "sessions.db", Settings(providers={"script": provider})) as opened:
        yield opened


def start(workspace: Workspace, cwd: Path) -> str:
    cwd.mkdir(exist_ok=True)
    return new_session(workspace, SessionCreated(cwd=str(cwd), model=MODEL)).id


async def ask(workspace: Workspace, session_id: str, text: str) -> Any:
    """Sends a prompt and returns what the last tool returned."""
    await prompt(workspace.open(session_id), [TextBlock(text=text)])
    results = [
        part.text
        for message in workspace.open(session_id).transcript.view
        for block in message.content
        if isinstance(block, ToolResultBlock)
        for part in block.content
        if isinstance(part, TextBlock)
    ]
    return results[-1]


async def test_notes_outlast_the_session_and_stay_with_the_project(workspace: Workspace, tmp_path: Path) -> None:
    project = tmp_path / "project"
    await ask(workspace, start(workspace, project), "Please remember: tabs")

    assert "Tabs, never spaces." in await ask(workspace, start(workspace, project), "Please look it up")


async def test_another_projects_notes_are_not_seen(workspace: Workspace, tmp_path: Path) -> None:
    await ask(workspace, start(workspace, tmp_path / "one"), "Please remember: tabs")
    with pytest.raises(AnswerBroken, match="no answer left"):
        await ask(workspace, start(workspace, tmp_path / "two"), "Please look it up")


async def test_the_model_finds_what_was_said_in_its_own_session(workspace: Workspace, tmp_path: Path) -> None:
    session_id = start(workspace, tmp_path / "project")
    found = await ask(workspace, session_id, "The flamingo is pink. But what did I say?")
    assert "flamingo" in found
    assert "message_id" in found


async def test_what_the_memory_returned_is_counted_as_memory(workspace: Workspace, tmp_path: Path) -> None:
    session_id = start(workspace, tmp_path / "project")
    await ask(workspace, session_id, "Please remember that.")
    noted = workspace.open(session_id).projection.tracker.reading.breakdown
    assert noted.memory > 0
    assert noted.tool_results == 0
    workspace.drop(session_id)
    assert workspace.open(session_id).projection.tracker.reading.breakdown == noted
