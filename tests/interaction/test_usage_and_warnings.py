"""The figures and warnings that a client gets while a session grows, also by more than its messages explain."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.codex_files import counted, said, session
from support.fill import EXCHANGES_BELOW_WARNING, exchange, fill, start
from support.foreign import to_lines
from support.workspace import LARGE_MODEL, TestClient, build_test_client
from ullage.cli.statusline.line import draw, figure_of_row
from ullage.model.json_values import decode_json, encode_json
from ullage.model.settings import ContextSettings, ModelSettings, Settings
from ullage.model.usage import FollowedRow, Nearness
from ullage.service.follow.rows import LiveRows
from ullage.service.ports.agent_files import FoundFile


def warnings(updates: list[Any]) -> list[str]:
    return [update["title"] for update in updates if update.get("severity") == "warning"]


def usage_of(client: TestClient) -> Any:
    """Returns the last figures that were sent."""
    return [update for update in client.recorder.take() if "used" in update][-1]


async def test_an_append_publishes_the_new_usage_and_returns_the_same_figures(client: TestClient) -> None:
    session_id = await start(client)
    client.recorder.take()
    appended = await client.say(session_id, "What is a ullage?", "The room left in a cask.")
    told = usage_of(client)
    assert {key: told[key] for key in ("used", "size", "_meta")} == appended["usage"]
    assert told["size"] == 8_192
    assert told["_meta"]["ullage"]["source"] == "estimated"
    assert sum(told["_meta"]["ullage"]["breakdown"].values()) == told["used"] > 0


async def test_the_warning_comes_once_above_80_percent() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(compact_at=0.99)))
    session_id = await fill(client)
    assert (await exchange(client, session_id, 7)) > 4_915
    assert len(warnings(client.recorder.take())) == 1
    await client.say(session_id, "And now?", "The same.")
    assert warnings(client.recorder.take()) == []


async def test_a_session_without_a_known_window_sends_its_figures_without_a_size_and_is_not_managed() -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=30, model="homemade-model")
    await client.say(session_id, "Are you still there?")
    (told,) = client.recorder.take()
    assert told["sessionUpdate"] == "session_info_update"
    facts = told["_meta"]["ullage"]
    assert (facts["level"], facts["usable"], facts["warnAt"], facts["compactAt"]) == ("off", None, None, None)
    assert sum(facts["breakdown"].values()) > 8_192
    assert (await client.call("context/get", sessionId=session_id))["size"] is None


async def test_a_window_given_in_the_settings_turns_management_on(client: TestClient) -> None:
    session_id = await fill(client, exchanges=9, model="homemade-model")
    client.workspace.configure(Settings(models={"homemade-model": ModelSettings(window=8_192)}))
    await client.say(session_id, "Go on.")
    assert len(await client.entries(session_id)) < 19


@pytest.mark.parametrize("own", [False, True])
async def test_typing_a_number_compacts_nothing_and_says_that_a_compaction_is_due(own: bool) -> None:
    client = build_test_client()
    session_id = await fill(client, exchanges=EXCHANGES_BELOW_WARNING)
    before = await client.entries(session_id)
    client.recorder.take()
    tight = {"compactAt": 0.3, "warnAt": 0.25, "clearAt": 0.2}
    if own:
        await client.call("session/configure", sessionId=session_id, context=tight)
    else:
        client.workspace.configure(Settings(context=ContextSettings(compact_at=0.3, warn_at=0.25, clear_at=0.2)))
    assert await client.entries(session_id) == before
    notices = [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert [notice["_meta"]["ullage"]["kind"] for notice in notices] == ["compaction_due"]
    assert "or it is compacted with the next message" in notices[0]["title"]
    await client.say(session_id, "Go on.")
    assert len(await client.entries(session_id)) < len(before)
    assert usage_of(client)["size"] == 8_192


async def test_a_copy_of_an_agents_conversation_is_not_compacted_by_a_number_nor_by_itself(client: TestClient) -> None:
    lines = [{"role": role, "content": "sound and round " * 300} for _ in range(6) for role in ("user", "assistant")]
    imported = await client.call("session/import", text=json.dumps(lines))
    session_id = imported["session"]["sessionId"]
    before = await client.entries(session_id)
    client.recorder.take()
    client.workspace.configure(Settings(model="homemade-model", models={"homemade-model": ModelSettings(window=8_192)}))
    assert await client.entries(session_id) == before
    figures = (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]
    assert figures["managedBy"] == "agent"
    notices = [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    assert "compaction_due" not in [notice["_meta"]["ullage"]["kind"] for notice in notices]


async def test_new_settings_move_the_thresholds_of_open_sessions(client: TestClient) -> None:
    session_id = await fill(client, exchanges=4)
    client.workspace.configure(Settings(context=ContextSettings(warn_at=0.4, compact_at=0.7)))
    updates = client.recorder.take()
    facts = updates[0]["_meta"]["ullage"]
    assert (facts["warnAt"], facts["compactAt"]) == (2_457, 4_300)
    assert len(warnings(updates)) == 1
    assert (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]["level"] == "warning"


async def test_with_management_off_nothing_is_warned_of_or_compacted() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(enabled=False)))
    session_id = await fill(client, exchanges=12)
    assert len(await client.entries(session_id)) == 25
    await exchange(client, session_id, 12)
    assert {update["sessionUpdate"] for update in client.recorder.take()} == {"usage_update"}
    figures = (await client.call("context/get", sessionId=session_id))["_meta"]["ullage"]
    nothing = ("warnAt", "warnPercent", "compactAt", "threshold")
    assert {name: figures[name] for name in nothing} == dict.fromkeys(nothing)
    # The context is over usable, which is where it ends.
    assert (figures["level"], figures["managedBy"], figures["left"]) == ("off", "nobody", 0)


async def test_a_message_sent_again_after_it_was_archived_is_not_appended_again(client: TestClient) -> None:
    session_id = await start(client)
    message = {"role": "assistant", "content": "I will. " * 20, "id": "mine"}
    await client.say(session_id, "Keep this in mind. " * 20)
    await client.call("session/append", sessionId=session_id, messages=[message])
    for number in range(9):
        await exchange(client, session_id, number)
    assert "mine" not in [entry["message"]["id"] for entry in await client.entries(session_id)]
    await client.call("session/append", sessionId=session_id, messages=[message])
    ids = [entry["message"]["id"] for entry in await client.entries(session_id, "transcript")]
    assert ids.count("mine") == 1


# 300 words, and their tokens by the count for the model.
WORDS = "cask stave hoop bung ullage cooper " * 50
GROWTHS = [
    pytest.param([20_003, 41_003, 77_003], id="three turns of unexplained growth"),
    pytest.param([41_003, 77_003], id="one"),
    pytest.param([77_003 - 6_000 * number for number in range(10, -1, -1)], id="the same growth ten times"),
]


def _knows_none(agent: str, origin_id: str) -> bool:
    return False


async def shown(text: str) -> tuple[FollowedRow, list[str]]:
    """Brings the conversation of a file in. Returns its row while it is followed, and the warnings that were sent."""
    client = build_test_client()
    imported = (await client.call("session/import", text=text))["session"]
    rows, conversation = LiveRows(_knows_none), client.workspace.open(imported["sessionId"])
    found = FoundFile(path=Path("log.jsonl"), agent="", origin_id="log")
    (row,) = rows.take(found, conversation, conversation.transcript.newest_timestamp)
    assert row.live
    sent = client.recorder.take()
    return row, [update["title"] for update in sent if update.get("severity") == "warning"]


def line_of(row: FollowedRow) -> str:
    return draw(figure_of_row(decode_json(encode_json(row), dict[str, Any])), None, "plain")


@pytest.mark.parametrize("prompts", GROWTHS)
@pytest.mark.parametrize("output", [10, 1])
async def test_a_message_raises_the_figure_by_what_it_counts(prompts: list[int], output: int) -> None:
    log = ClaudeLog()
    for prompt in prompts:
        log.ask(WORDS).answer(prompt, output)
    row, warned = await shown(log.ask(WORDS).text)
    assert row.used is not None and 77_000 + 200 < row.used < 77_000 + 700
    assert (row.nearness, warned) == (Nearness.FAR, [])
    assert "▲" not in line_of(row)


async def test_an_agent_of_another_maker_is_counted_alike() -> None:
    lines = [session()]
    for prompt in (20_000, 41_000, 77_000):
        lines += said("user", WORDS), said("assistant", "Done."), counted(prompt)
    row, warned = await shown(to_lines(*lines, said("user", WORDS)).decode())
    assert row.used is not None and 77_000 + 200 < row.used < 77_000 + 700
    assert (row.nearness, warned) == (Nearness.FAR, [])


async def test_an_estimate_far_above_the_last_report_is_shown_and_warns_with_the_next_report() -> None:
    """Such a count is true as a rule. It is the figure that says so, not a warning."""
    log = ClaudeLog()
    for prompt in range(113_003, 121_003, 1_000):
        log.ask(WORDS).answer(prompt, 10)
    log.ask("cask " * 38_000)
    row, warned = await shown(log.text)
    assert row.used is not None and row.compacts_at is not None and row.used > 0.95 * row.compacts_at
    assert (row.nearness is Nearness.IMMINENT, warned) == (False, [])
    assert "▲" not in line_of(row)
    row, warned = await shown(log.answer(163_003, 10).text)
    assert (row.nearness, len(warned)) == (Nearness.IMMINENT, 1)
    assert "▲" in line_of(row)


async def test_an_estimate_a_little_above_the_last_report_warns() -> None:
    log = ClaudeLog()
    for prompt in range(146_003, 155_003, 1_000):
        log.ask("Go on.").answer(prompt, 10)
    before, _ = await shown(log.text)
    row, _ = await shown(log.ask("cask " * 5_500).text)
    assert (before.nearness is Nearness.IMMINENT, row.nearness) == (False, Nearness.IMMINENT)


async def test_a_session_of_our_own_is_warned_of_when_a_report_says_so() -> None:
    async def say(prompt: int | None, text: str = WORDS) -> list[str]:
        answers = () if prompt is None else ("Done.",)
        usage = None if prompt is None else {"input_tokens": prompt, "output_tokens": 10}
        await client.say(session_id, text, *answers, usage=usage)
        titles = [update["title"] for update in client.recorder.take() if update.get("severity") == "warning"]
        client.clock.advance(seconds=60)
        return titles

    client = build_test_client()
    session_id = await start(client, LARGE_MODEL)
    size = (await client.call("context/get", sessionId=session_id))["size"]
    for share in (0.1, 0.3, 0.5):
        assert await say(int(share * size)) == []
    assert await say(None) == []
    assert (await client.call("context/get", sessionId=session_id))["used"] < 0.51 * size
    # A "cask " is two tokens. More would be compacted, at some moment after this.
    assert await say(None, "cask " * int(0.135 * size)) == []
    assert (await client.call("context/get", sessionId=session_id))["used"] > 0.76 * size
    assert len(await say(int(0.78 * size))) == 1
