"""Compactions of proxied sessions: by handover, by the agent's own command, at the threshold, by the agent itself; and
undoing them."""

from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL, Json
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play
from support.proxy_rig import proxy_rig
from support.systems import needs_unix_sockets
from ullage.proxy.connection import ProxyOptions

LACKING = {"usage": True, "window": 8_000}


async def test_a_hand_over_gives_a_fresh_session_the_agents_summary_and_our_ledger_under_the_same_id(
    tmp_path: Path,
) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "read src/cask.py")
        assert "Compacted 4 messages" in await rig.prompt(session_id, "/compact keep the path")
        told = await rig.prompt(session_id, "Go on")
    assert "SUMMARY of 1 exchanges" in told
    assert "src/cask.py" in told
    assert told.endswith("Go on")
    assert "| Go on" not in told
    statuses = [(update["status"], "summary" in update) for update in rig.updates("compaction_update")]
    assert statuses == [("in_progress", False), ("completed", True)]


async def test_a_context_that_was_just_handed_over_is_not_handed_over_again(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact")
        with pytest.raises(RpcFailure, match="Nothing to compact"):
            await rig.prompt(session_id, "/compact")


async def test_without_a_compaction_there_is_nothing_to_take_back(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open()
        with pytest.raises(RpcFailure, match="no compaction"):
            await rig.prompt(session_id, "/undo")


async def test_the_agents_own_command_is_used_and_its_compaction_is_recorded(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**LACKING, "compact": True}) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact")
        told = await rig.prompt(session_id, "Go on")
        session = (await rig.record()).open(session_id)
        with pytest.raises(RpcFailure, match="keeps no copy"):
            await rig.prompt(session_id, "/undo")
    assert told == "I was told: compacted 2 texts | Go on"
    assert session.transcript.compactions == 1


async def test_an_agent_that_only_reports_0_tokens_after_its_command_has_not_compacted(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**LACKING, "compact": "stopped"}) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact")
        told = await rig.prompt(session_id, "Go on")
        session = (await rig.record()).open(session_id)
    assert told == "I was told: Hello | Go on"
    assert session.transcript.compactions == 0


async def test_what_an_agent_compacts_by_itself_in_the_middle_of_a_turn_is_recorded_where_it_happened(
    tmp_path: Path,
) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open(SHOWS_ALL)
        await rig.prompt(session_id, "Hello")
        told = await rig.prompt(session_id, "overflow now")
        view = (await rig.record()).open(session_id).transcript.view
    marker, answer = view
    assert marker.compaction is not None
    assert (marker.compaction.summary, answer.text) == ("A cask.", told)


async def test_undoing_an_agents_own_compaction_names_the_sizes_of_the_context_now_and_before(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {"usage": True, "window": 20_000, "compact": True, "fork": True}) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "big 32000")
        await rig.prompt(session_id, "/compact")
        undone = await rig.prompt(session_id, "/undo")
        session = (await rig.record()).open(session_id)
    # 500 of the agent's own, and four characters to a token.
    assert undone == "Undone: 506 → 8.5K."
    assert session.used == pytest.approx(8_502, rel=0.01)


async def test_a_user_may_choose_a_handover_although_the_agent_has_a_command(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, {**LACKING, "compact": True}, ProxyOptions(hand_over=True)) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact")
        assert "SUMMARY of 1 exchanges" in await rig.prompt(session_id, "Go on")


@pytest.mark.parametrize("own", [False, True], ids=["hand-over", "own command"])
async def test_at_90_percent_the_next_prompt_is_preceded_by_a_compaction(tmp_path: Path, own: bool) -> None:
    async with proxy_rig(tmp_path, {**LACKING, "compact": own}) as rig:
        session_id = await rig.open()
        for _ in range(3):
            await rig.prompt(session_id, "big 8000")
        told = await rig.prompt(session_id, "Go on")
        session = (await rig.record()).open(session_id)
    assert ("compacted 6 texts" if own else "SUMMARY of 3 exchanges") in told
    assert session.transcript.compactions == 1


@pytest.mark.parametrize("own", [False, True], ids=["hand-over", "own command"])
async def test_a_context_that_is_full_again_after_a_compaction_is_compacted_again(tmp_path: Path, own: bool) -> None:
    async with proxy_rig(tmp_path, {**LACKING, "compact": own}) as rig:
        session_id = await rig.open()
        for _ in range(2):
            for _ in range(3):
                await rig.prompt(session_id, "big 8000")
        await rig.prompt(session_id, "Go on")
        session = (await rig.record()).open(session_id)
    assert session.transcript.compactions == 2


async def test_an_answer_that_is_no_summary_is_replaced_by_one_of_our_own(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open()
        for _ in range(2):
            await rig.prompt(session_id, "big 8000")
        await rig.prompt(session_id, "/compact nothing")
        (block,) = [
            item.message.compaction
            for item in (await rig.record()).open(session_id).transcript.items
            if item.message.compaction
        ]
    assert block.summarizer == "offline"
    assert block.summary != "Done."


async def test_what_an_agent_asks_in_a_muted_turn_is_declined_and_not_shown(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact permit")
    assert not [message for message in rig.messages if message.get("method") == "session/request_permission"]


async def test_after_a_hand_over_permissions_are_asked_under_the_clients_id(tmp_path: Path) -> None:
    async with proxy_rig(tmp_path, LACKING) as rig:
        session_id = await rig.open()
        await rig.prompt(session_id, "Hello")
        await rig.prompt(session_id, "/compact")
        asked = rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "permit"}])
        request = await rig.until(lambda message: message.get("method") == "session/request_permission")
        assert request["params"]["sessionId"] == session_id
        rig.send({"id": request["id"], "result": {"outcome": {"outcome": "selected", "optionId": "yes"}}})
        assert (await rig.answer(asked))["stopReason"] == "end_turn"


BEGUN: Json = {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "in_progress"}
DONE: Json = {**BEGUN, "status": "completed"}
# How adapters report a compaction to a client that takes no updates of compactions.
CALL: Json = {"sessionUpdate": "tool_call", "toolCallId": "c1", "kind": "think", "status": "in_progress"}
CALLED: Json = {"sessionUpdate": "tool_call_update", "toolCallId": "c1", "status": "completed"}
NAMED: Json = {"_meta": {"claudeCode": {"toolName": "compact"}}}
TITLED: Json = {"title": "Compact conversation"}


@pytest.fixture
def options() -> ProxyOptions:
    return ProxyOptions(asks_for_compactions=True)


async def compact(play: Play, *updates: Json) -> None:
    """Runs a turn in which the agent compacts by itself, between two answers."""
    await play.turn()
    asked = play.prompts("Go on")
    request = await play.agent.gets("session/prompt")
    for update in updates:
        play.agent.updates(ID, **update)
    play.agent.says(ID, "Done.")
    play.agent.answers(request, stopReason="end_turn")
    await play.client.answer(asked)


async def view(play: Play) -> list[str]:
    """Returns the context by the record: each message's text, or a compaction's summary in brackets."""
    messages = (await play.client.record()).open(ID).transcript.view
    return [f"[{one.compaction.summary}]" if one.compaction else one.text for one in messages]


@needs_unix_sockets
@pytest.mark.parametrize("capabilities", [SHOWS_ALL, {}, {"session": None}], ids=["shows", "lacks", "null"])
async def test_the_agent_is_asked_for_updates_of_compactions_whatever_the_client_takes(
    play: Play, capabilities: Json
) -> None:
    await play.greet(capabilities)
    assert play.agent.greeted["clientCapabilities"]["session"]["compaction"] == {}


@needs_unix_sockets
async def test_a_client_that_takes_no_updates_of_compactions_gets_a_tool_call_with_the_summary(play: Play) -> None:
    chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": "c1"}
    pieces = [{**chunk, "content": {"type": "text", "text": text}} for text in ("A ", "cask.")]
    await play.greet()
    await compact(play, BEGUN, *pieces, DONE)
    assert await view(play) == ["[A cask.]", "Done."]
    (begun,), (done,) = play.client.updates("tool_call"), play.client.updates("tool_call_update")
    assert (begun["kind"], begun["status"]) == ("think", "in_progress")
    assert (done["toolCallId"], done["status"]) == (begun["toolCallId"], "completed")
    assert done["content"][0]["content"]["text"] == "A cask."
    assert not play.client.updates("compaction_update")
    assert not play.client.updates("compaction_summary_chunk")


@needs_unix_sockets
async def test_a_compaction_that_failed_is_a_failed_tool_call_and_is_not_recorded(play: Play) -> None:
    await play.greet()
    await compact(play, {**BEGUN, "status": "failed", "error": "No room."})
    assert await view(play) == ["Hello", "Yes.", "Go on", "Done."]
    (call,) = play.client.updates("tool_call")
    assert (call["status"], call["content"][0]["content"]["text"]) == ("failed", "No room.")


@needs_unix_sockets
@pytest.mark.parametrize("mark", [NAMED, TITLED], ids=["by its tool", "by its title"])
async def test_a_compaction_that_is_reported_as_a_tool_call_is_recorded_as_a_compaction(play: Play, mark: Json) -> None:
    await play.greet()
    await compact(play, CALL | mark, CALLED | mark)
    assert await view(play) == ["[The agent compacted its context and kept the summary to itself.]", "Done."]
