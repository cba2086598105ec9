"""When the user of a proxied agent is warned: an agent that reports its context's size is warned of by that alone."""

from pathlib import Path

import pytest

from support.acp_end import SHOWS_ALL
from support.proxy_play import Play, playing
from support.systems import needs_unix_sockets

pytestmark = needs_unix_sockets
_WINDOW = 200_000


async def grow(play: Play, *used: int) -> list[str]:
    """Runs a turn for each figure that the agent reports, and returns the titles of the notices."""
    for figure in used:
        await play.turn("Go on", used=figure, size=_WINDOW)
    return [update["title"] for update in play.client.updates("notice")]


async def test_growth_that_the_proxy_cannot_see_is_not_expected_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet(SHOWS_ALL)
        # Each turn of the agent's reads 40,000 tokens that no update shows.
        assert await grow(play, 10_000, 50_000, 90_000, 130_000, 140_000) == []
        warned = await grow(play, 156_000)
    assert warned == ["Context 78% full (156K of 200K). Compacts by itself at 86% (173K)."]


async def test_a_warning_as_text_is_a_paragraph_of_its_own_after_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet()
        await grow(play, 156_000)
    texts = [update["content"]["text"] for update in play.client.updates("agent_message_chunk")]
    assert texts == ["Yes.", "\n\nContext 78% full (156K of 200K). Compacts by itself at 86% (173K).\n"]


async def test_a_cancelled_turn_of_an_agent_that_reports_does_not_start_a_compaction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        await play.greet()
        await grow(play, 10_000, 53_000, 96_000, 139_000)
        asked = play.prompts("And this?")
        play.agent.answers(await play.agent.gets("session/prompt"), stopReason="cancelled")
        await play.client.answer(asked)
        # With another 43,000 tokens it would be full. A compaction would begin with the agent's summary.
        request = await play.turn("Go on", used=140_000, size=_WINDOW)
    assert request["params"]["prompt"][0]["text"] == "Go on"


async def test_what_codex_reports_is_the_part_for_prompts_so_less_is_reserved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with playing(tmp_path, monkeypatch) as play:
        play.agent.name = "@agentclientprotocol/codex-acp"
        await play.greet(SHOWS_ALL)
        # 258,400 is 95 % of 272,000, and the other 13,600 tokens are more than the 8,192 reserved for an answer.
        for used in (206_000, 207_000):
            await play.turn("Go on", used=used, size=258_400)
        warned = [update["title"] for update in play.client.updates("notice")]
    assert warned == ["Context 80% full (207K of 258K). Compacts by itself at 90% (233K)."]
