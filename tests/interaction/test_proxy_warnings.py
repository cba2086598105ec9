"""When the user of a proxied agent is warned: an agent that reports its context's size is warned of by that alone."""

from functools import partial
from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL, Json
from support.proxy_play import Play, playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
_WINDOW = 200_000


async def grow(play: Play, *used: int) -> list[str]:
    """Runs a turn for each figure that the agent reports, and returns the titles of the notices."""
    for figure in used:
        await play.turn("Go on", used=figure, size=_WINDOW)
    return [update["title"] for update in play.client.updates("notice")]


async def test_growth_that_the_proxy_cannot_see_is_not_expected_again(play: Play) -> None:
    await play.greet(SHOWS_ALL)
    # Each turn of the agent's reads 40,000 tokens that no update shows.
    assert await grow(play, 10_000, 50_000, 90_000, 130_000, 140_000) == []
    warned = await grow(play, 156_000)
    assert warned == ["Context 78% full (156K of 200K). Compacts by itself at 86% (173K)."]


async def test_a_warning_as_text_is_a_paragraph_of_its_own_after_the_answer(play: Play) -> None:
    await play.greet()
    await grow(play, 156_000)
    texts = [update["content"]["text"] for update in play.client.updates("agent_message_chunk")]
    assert texts == ["Yes.", "\n\nContext 78% full (156K of 200K). Compacts by itself at 86% (173K).\n"]


async def test_a_cancelled_turn_of_an_agent_that_reports_does_not_start_a_compaction(play: Play) -> None:
    await play.greet()
    await grow(play, 10_000, 53_000, 96_000, 139_000)
    asked = play.prompts("And this?")
    play.agent.answers(await play.agent.gets("session/prompt"), stopReason="cancelled")
    await play.client.answer(asked)
    # With another 43,000 tokens it would be full. A compaction would begin with the agent's summary.
    request = await play.turn("Go on", used=140_000, size=_WINDOW)
    assert request["params"]["prompt"][0]["text"] == "Go on"


async def test_what_codex_reports_is_the_part_for_prompts_so_less_is_reserved(play: Play) -> None:
    play.agent.name = "@agentclientprotocol/codex-acp"
    await play.greet(SHOWS_ALL)
    # 258,400 is 95 % of 272,000, and the other 13,600 tokens are more than the 8,192 reserved for an answer.
    for used in (206_000, 207_000):
        await play.turn("Go on", used=used, size=258_400)
    warned = [update["title"] for update in play.client.updates("notice")]
    assert warned == ["Context 80% full (207K of 258K). Compacts by itself at 90% (233K)."]


def is_figure(used: int, message: Json) -> bool:
    return message.get("params", {}).get("update", {}).get("used") == used


async def silent_turn(play: Play, words: int) -> Json:
    """Runs a turn in which the agent reports nothing. Returns the request that it got."""
    asked = play.prompts("word " * words)
    request = await play.agent.gets("session/prompt")
    play.agent.says(request["params"]["sessionId"], "Yes.")
    play.agent.answers(request, stopReason="end_turn")
    await play.client.answer(asked)
    return request


async def test_of_an_agent_that_no_longer_reports_the_count_warns_and_makes_room(play: Play) -> None:
    await play.greet(SHOWS_ALL)
    await play.turn("Go on", used=4_503, size=20_000)
    for _ in range(3):
        await silent_turn(play, 4_000)
    figures = [update["used"] for update in play.client.updates("usage_update")]
    sources = [
        update["_meta"]["ullage"]["source"] for update in play.client.updates("usage_update") if "_meta" in update
    ]
    warned = [update["title"] for update in play.client.updates("notice")]
    play.prompts("And this?")
    request = await play.agent.gets("session/prompt")
    assert [used // 1_000 for used in figures] == [4, 8, 13, 17]
    assert set(sources) == {"stale"}
    assert warned == ["Context 66% full (13K of 20K). Compacts by itself at 68% (14K)."]
    assert "Write the summary" in request["params"]["prompt"][0]["text"]


async def test_the_window_stays_known_in_the_next_process_of_the_proxy_if_the_agent_no_longer_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet(SHOWS_ALL)
        await play.turn("Go on", used=4_503, size=20_000)
    async with playing(tmp_path, monkeypatch) as play:
        greeting = play.client.start("initialize", protocolVersion=1, clientCapabilities=SHOWS_ALL)
        opening = play.loads()
        play.agent.answers(await play.agent.gets("session/load"))
        await play.client.answer(greeting)
        await play.client.answer(opening)
        await silent_turn(play, 8_000)
        await play.client.answer(play.prompts("/context"))
        (figure,) = play.client.updates("usage_update")
        said = play.client.updates("agent_message_chunk")[-1]["content"]["text"]
        warned = [update["title"] for update in play.client.updates("notice")]
    assert (figure["used"] // 1_000, figure["size"], figure["_meta"]["ullage"]["source"]) == (13, 20_000, "stale")
    assert said.startswith("**Context: 66% (13K/20K tokens, stale)**")
    assert warned == ["Context 66% full (13K of 20K). Compacts by itself at 68% (14K)."]


async def test_an_agent_that_reports_after_its_answer_still_reports(play: Play) -> None:
    await play.greet(SHOWS_ALL)
    await play.turn("Go on", used=4_503, size=20_000)
    for used in (5_000, 5_500, 6_000):
        request = await silent_turn(play, 4_000)
        play.agent.reports(request["params"]["sessionId"], used, 20_000)
        await play.client.until(partial(is_figure, used))
    figures = [update["used"] for update in play.client.updates("usage_update")]
    assert play.session.facts.reports_usage
    assert figures[-2:] == [5_500, 6_000]
    assert play.client.updates("notice") == []
