"""A system prompt says where the model works and what the project's instructions are, once per session."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from support.acp_rig import AcpRig
from support.playing_rig import PlayingRig, rigs_by
from ullage.model.settings import ContextSettings

MakeTrusting = Callable[..., AcpRig]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/fix/login\n")
    (root / "AGENTS.md").write_text("Tabs, not spaces.\n")
    (root / "package").mkdir()
    (root / "package" / "CLAUDE.md").write_text("This package is frozen.\n")
    (root / "package" / "GEMINI.md").write_text("This package is frozen.\n")
    (tmp_path / "AGENTS.md").write_text("Outside of the repository.\n")
    return root


@pytest.fixture
async def trusting(tmp_path: Path) -> AsyncGenerator[MakeTrusting]:
    def make(*trusted: Path) -> AcpRig:
        context = ContextSettings(trusted_folders=tuple(map(str, trusted)))
        return PlayingRig(tmp_path, "say: Hello.\nagain:", context)

    async with rigs_by(make) as made:
        yield made


async def prompted(rig: AcpRig, cwd: Path, **params: Any) -> tuple[str, list[Any]]:
    """Returns the id of a session after its first prompt, and the blocks of its system prompt."""
    await rig.initialize()
    session_id = (await rig.ask("session/new", cwd=str(cwd), mcpServers=[], **params))["sessionId"]
    await rig.prompt(session_id, "Hello?")
    return session_id, await system_blocks(rig, session_id)


async def system_blocks(rig: AcpRig, session_id: str) -> list[Any]:
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id))["entries"]
    (system,) = [entry["message"] for entry in entries if entry["message"]["role"] == "system"]
    return system["content"]


async def test_the_prompt_says_where_the_model_works(trusting: MakeTrusting, repository: Path, tmp_path: Path) -> None:
    session_id, (about, *_) = await prompted(
        rig := trusting(), repository / "package", additionalDirectories=[str(tmp_path / "library")]
    )
    lines = about["text"].splitlines()
    assert f"Working folder: {repository / 'package'}" in lines
    assert f"Further folder: {tmp_path / 'library'}" in lines
    assert "Git branch: fix/login" in lines
    assert any(line.startswith("Platform: ") for line in lines)
    assert any(line.startswith("Date: 20") for line in lines)
    await rig.prompt(session_id, "Hello again?")
    assert len(await system_blocks(rig, session_id)) == 1


async def test_the_nearest_instructions_of_a_trusted_folder_come_first_and_none_twice(
    trusting: MakeTrusting, repository: Path
) -> None:
    rig = trusting(repository)
    session_id, (_, *files) = await prompted(rig, repository / "package")
    assert [(file["uri"], file["text"]) for file in files] == [
        (str(repository / "package" / "CLAUDE.md"), "This package is frozen.\n"),
        (str(repository / "AGENTS.md"), "Tabs, not spaces.\n"),
    ]
    rig.sent.clear()
    await rig.prompt(session_id, "/context")
    assert "- System prompt: " in rig.text()
    assert "- Memory: " in rig.text()


async def test_instructions_of_a_folder_without_trust_are_named_but_not_read(
    trusting: MakeTrusting, repository: Path, tmp_path: Path
) -> None:
    _, blocks = await prompted(trusting(tmp_path / "elsewhere"), repository)
    (about,) = blocks
    assert f"not included here: {repository / 'AGENTS.md'}" in about["text"]
    assert "Tabs" not in about["text"]


async def test_a_session_that_has_messages_gets_no_prompt_of_ours(trusting: MakeTrusting, repository: Path) -> None:
    rig = trusting(repository)
    await rig.initialize()
    session_id = await rig.new_session(str(repository))
    await rig.say(session_id, "one", "two")
    await rig.prompt(session_id, "Hello?")
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id))["entries"]
    assert {entry["message"]["role"] for entry in entries} == {"user", "assistant"}


async def test_a_compaction_does_not_bring_back_what_the_system_prompt_says(
    trusting: MakeTrusting, repository: Path
) -> None:
    rig = trusting(repository)
    session_id, _ = await prompted(rig, repository)
    (repository / "CLAUDE.md").write_text("Ask before you push.\n")
    await rig.say(session_id, *(f"Message {number}. {'word ' * 800}" for number in range(12)))
    await rig.prompt(session_id, "/compact")
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id))["entries"]
    (marker,) = [entry["message"]["content"][0] for entry in entries if entry["inserted"]]
    assert marker["brought_back"] == [{"path": "CLAUDE.md"}]
