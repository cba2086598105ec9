"""Which conversation `ullage mcp` belongs to, and which others it may read."""

import os
from pathlib import Path

from support import codex_files
from support.foreign import to_lines
from support.mcp_client import mcp_client
from support.mcp_talk import NEEDLE, shown, talk


async def test_the_process_of_the_agent_says_more_than_the_environment_and_that_more_than_the_folder(
    tmp_path: Path, project: Path
) -> None:
    one = talk(tmp_path, project, "The needle is amber.")

    async def needle(session: str = "") -> str:
        async with mcp_client(tmp_path, project, CLAUDE_CODE_SESSION_ID=session) as client:
            return shown((await client.call("open", ref="#2"))[0])[0]

    assert await needle() == "The needle is amber."
    two = talk(tmp_path, project, "The needle is birch.")
    assert await needle(two.id) == "The needle is birch."
    one.open_in(os.getpid())
    assert await needle(two.id) == "The needle is amber."


async def test_a_request_that_names_its_conversation_gets_that_one(tmp_path: Path, project: Path) -> None:
    folder = tmp_path / "codex" / "sessions" / "2026" / "01" / "02"
    folder.mkdir(parents=True)
    for word in ("amber", "birch", "cedar"):
        lines = [
            codex_files.session(id=word, cwd=str(project)),
            codex_files.said("user", "Where is the needle?"),
            codex_files.said("assistant", f"The needle is {word}."),
            codex_files.said("user", "Go on."),
        ]
        (folder / f"rollout-2026-01-02T03-04-05-{word}.jsonl").write_bytes(to_lines(*lines))
    async with mcp_client(tmp_path, project, CODEX_HOME=str(tmp_path / "codex")) as client:
        for word in ("birch", "amber", "birch"):
            call = {"name": "search", "arguments": {"query": "needle"}, "_meta": {"threadId": word}}
            answer = await client.ask("tools/call", call)
            assert f"The needle is {word}." in shown(answer["result"]["content"][0]["text"])
            read = {"uri": "ullage://session/messages/2", "_meta": {"threadId": word}}
            (content,) = (await client.ask("resources/read", read))["result"]["contents"]
            assert shown(content["text"]) == [f"The needle is {word}."]
        for meta in ({"threadId": 5}, {}, {"threadId": ""}):
            call = {"name": "search", "arguments": {"query": "needle"}, "_meta": meta}
            assert "The needle is" in str(await client.ask("tools/call", call))
        call = {"name": "search", "arguments": {"query": "needle"}, "_meta": {"threadId": "nobody"}}
        assert "does not know the conversation 'nobody'" in str(await client.ask("tools/call", call))


async def test_a_conversation_that_its_agent_has_deleted_is_still_read(tmp_path: Path, project: Path) -> None:
    conversation = talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        await client.call("context")
    (file,) = tmp_path.glob(f".claude/projects/*/{conversation.id}.jsonl")
    file.unlink()
    async with mcp_client(tmp_path, project, CLAUDE_CODE_SESSION_ID=conversation.id) as client:
        assert NEEDLE in shown((await client.call("open", ref="2"))[0])


async def test_other_conversations_are_found_and_opened_only_within_the_project(tmp_path: Path, project: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for folder, word in ((project, "amber"), (elsewhere, "birch")):
        talk(tmp_path, folder, f"The needle is {word}.")
        async with mcp_client(tmp_path, folder) as client:
            await client.call("context")
    async with mcp_client(tmp_path, elsewhere) as client:
        own, _ = await client.call("search", query="needle", scope="project")
    talk(tmp_path, project, "The needle is cedar.")
    async with mcp_client(tmp_path, project) as client:
        alone, _ = await client.call("search", query="needle")
        found, _ = await client.call("search", query="needle", scope="project")
        assert [word for word in ("amber", "birch", "cedar") if word in alone] == ["cedar"]
        assert [word for word in ("amber", "birch", "cedar") if word in found] == ["amber", "cedar"]
        assert "birch" in own
        assert "amber" not in own
        (head,) = (line for line in found.splitlines() if line.startswith("s_"))
        assert shown((await client.call("open", ref=head.split()[0]))[0]) == ["The needle is amber."]


async def test_no_conversation_is_a_result_that_says_what_to_do(tmp_path: Path, project: Path) -> None:
    async with mcp_client(tmp_path, project) as client:
        text, failed = await client.call("context")
        assert failed
        assert "ullage mcp --session ID" in text
