"""If an agent sends updates of a session before it answers the request that opens it, the record still begins in
order."""

from pathlib import Path

from support.proxy_rig import running
from support.puppet_agent import puppet


async def test_figures_that_come_before_the_answer_to_session_new_are_recorded_after_it(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/new", cwd="/work", mcpServers=[])
        request = await agent.gets("session/new")
        agent.says("s", "Welcome.")
        agent.reports("s", used=300, size=9_000)
        agent.answers(request, sessionId="s")
        await client.answer(asked)
        session = (await client.record()).open("s")
    assert [message.text for message in session.transcript.view] == ["Welcome."]
    assert session.used == 300


async def test_a_model_that_is_named_during_a_load_is_the_model_of_the_record(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/load", sessionId="old", cwd="/work", mcpServers=[])
        request = await agent.gets("session/load")
        agent.says("old", "Hello.")
        named = {"_claude/model": "claude-sonnet-4-5"}
        agent.updates("old", sessionUpdate="usage_update", used=300, size=9_000, _meta=named)
        agent.answers(request)
        await client.answer(asked)
        session = (await client.record()).open("old")
    assert (session.model, session.used) == ("claude-sonnet-4-5", 300)


async def test_a_compaction_in_a_replay_is_not_recorded_again(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        asked = client.start("session/load", sessionId="old", cwd="/work", mcpServers=[])
        request = await agent.gets("session/load")
        agent.says("old", "Hello.")
        agent.updates("old", sessionUpdate="compaction_update", compactionId="c", status="completed")
        agent.answers(request)
        await client.answer(asked)
        session = (await client.record()).open("old")
    assert session.transcript.compactions == 0


async def test_cancel_reaches_the_prompt_that_is_held_and_every_one_that_waits_for_it(tmp_path: Path) -> None:
    async with puppet(tmp_path) as (agent, command), running(command, tmp_path) as client:
        opening = client.start("session/new", cwd="/work", mcpServers=[])
        agent.answers(await agent.gets("session/new"), sessionId="s")
        await client.answer(opening)
        turn = client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "Hello"}])
        agent.answers(await agent.gets("session/prompt"), stopReason="end_turn")
        await client.answer(turn)
        held = client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "/compact"}])
        summary = await agent.gets("session/prompt")
        waiting = client.start("session/prompt", sessionId="s", prompt=[{"type": "text", "text": "Go on"}])
        client.send({"method": "session/cancel", "params": {"sessionId": "s"}})
        await agent.gets("session/cancel")
        agent.answers(summary, stopReason="cancelled")
        answers = [(await client.answer(asked))["stopReason"] for asked in (held, waiting)]
    assert answers == ["cancelled", "cancelled"]
