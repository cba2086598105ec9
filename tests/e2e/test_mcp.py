"""`ullage mcp` as a process: an agent finds, opens and measures its own conversation."""

from pathlib import Path

from support.agent_homes import Conversation
from support.claude_log import ClaudeLog
from support.mcp_client import mcp_client
from support.mcp_talk import MOST_RESULT, NEEDLE, shown, talk


async def test_what_a_compaction_took_is_found_opened_and_measured(tmp_path: Path, project: Path) -> None:
    talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        found, failed = await client.call("search", query="retry limit")
        assert not failed
        assert "#2 assistant, archived:" in found
        assert NEEDLE in shown(found)
        opened, _ = await client.call("open", ref="#1-2")
        assert shown(opened) == ["Where is the retry limit?", NEEDLE]
        figure, _ = await client.call("context")
        assert "Exactly 30,000 of " in figure
        assert "2 messages in the context, 4 archived, 1 compactions." in figure


async def test_what_nothing_fits_is_answered_without_passages(tmp_path: Path, project: Path) -> None:
    talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        found, failed = await client.call("search", query="zeppelin hangar retry unknown")
        assert not failed
        assert "there may be no answer" in found
        assert "The nearest: #" in found
        assert shown(found) == []
        assert NEEDLE not in found
        nothing, _ = await client.call("search", query="zeppelin")
        assert nothing.startswith("Nothing in this conversation matches. ")


async def test_the_parts_of_the_context_say_what_they_are(tmp_path: Path, project: Path) -> None:
    talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        figure, _ = await client.call("context")
        assert "- Overhead (Claude Code's own prompt and tools): " in figure


async def test_what_the_last_compaction_left_out_is_listed_and_is_a_brief(tmp_path: Path, project: Path) -> None:
    rule = "Never change src/cask.py without a migration."
    conversation = Conversation(tmp_path, project)
    conversation.say(f"Where is the retry limit? {rule}", 20_000, NEEDLE)
    conversation.say("Now the tests.", 150_000)
    async with mcp_client(tmp_path, project) as client:
        before, failed = await client.call("lost")
        assert ("no compaction in force" in before, failed) == (True, False)
        conversation.compact(150_000, "The user works on a cask.")
        conversation.say("Go on.", 30_000)
        everything, _ = await client.call("lost")
        assert any(rule in line for line in shown(everything))
        assert len(everything.encode()) <= MOST_RESULT
        said, _ = await client.call("lost", kind="said")
        assert f"#1 Where is the retry limit? {rule}" in shown(said)
        assert NEEDLE not in said
        assert "no entry of the kind task" in (await client.call("lost", kind="task"))[0]
        answer = await client.ask("resources/read", {"uri": "ullage://session/brief"})
        (content,) = answer["result"]["contents"]
        assert any(rule in line for line in shown(content["text"]))


async def test_what_the_agent_writes_between_two_calls_is_found(tmp_path: Path, project: Path) -> None:
    conversation = talk(tmp_path, project)
    async with mcp_client(tmp_path, project) as client:
        before, _ = await client.call("search", query="zeppelin")
        conversation.say("Call it zeppelin.", 31_000)
        after, _ = await client.call("search", query="zeppelin")
        assert "zeppelin" not in before
        assert "Call it zeppelin." in shown(after)


async def test_earlier_searches_and_their_results_are_not_found(tmp_path: Path, project: Path) -> None:
    log = ClaudeLog(cwd=str(project)).ask("Where is the needle?").answer(20_000, text="The needle is amber.").ask()
    file = tmp_path / ".claude" / "projects" / "p" / f"{log.session}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(log.data)
    async with mcp_client(tmp_path, project) as client:
        for number in range(4):
            before, _ = await client.call("search", query="needle amber", limit=20)
            assert shown(before) == ["The needle is amber.", "Where is the needle?"]
            log.call("mcp__ullage__ullage_search", before, query="needle amber").answer(30_000, text=f"Found {number}.")
            file.write_bytes(log.data)
        # A tool of another server, which happens to have the name.
        log.call("mcp__web__search", "A needle in a haystack", q="needle amber").answer(40_000)
        file.write_bytes(log.data)
        assert "[calls mcp__web__search]" in (await client.call("search", query="needle", limit=20))[0]


async def test_a_call_is_found_with_the_beginning_and_the_end_of_its_result(tmp_path: Path, project: Path) -> None:
    log = ClaudeLog(cwd=str(project)).ask("How many casks are left?")
    log.call("Bash", "17", command="count the casks | wc -l").answer(20_000)
    log.call("Bash", "first cask\n" + "a cask\n" * 200 + "last cask, all full", command="list the casks").answer(20_000)
    log.ask()
    file = tmp_path / ".claude" / "projects" / "p" / f"{log.session}.jsonl"
    file.parent.mkdir(parents=True)
    file.write_bytes(log.data)
    async with mcp_client(tmp_path, project) as client:
        assert "[tool result] 17" in shown((await client.call("search", query="count wc"))[0])
        (line,) = (line for line in shown((await client.call("search", query="list"))[0]) if "first cask" in line)
        assert line.startswith("[tool result] first cask")
        assert line.endswith("last cask, all full")
        assert len(line) < 250
