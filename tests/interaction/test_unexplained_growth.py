"""What is shown and warned of after a turn that grew by more than its messages explain: by a picture, an attachment,
the tools of a server that was added."""

from pathlib import Path
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.codex_files import counted, said, session
from support.fill import start
from support.foreign import to_lines
from support.workspace import LARGE_MODEL, build_test_client
from ullage.cli.statusline.line import draw, figure_of_row
from ullage.model.json_values import decode_json, encode_json
from ullage.model.usage import FollowedRow, Nearness
from ullage.service.follow.rows import LiveRows
from ullage.service.ports.agent_files import FoundFile

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


async def test_a_conversation_at_two_thirds_of_its_window_is_not_said_to_be_compacted_soon() -> None:
    log = ClaudeLog()
    for prompt in (20_003, 41_003, 77_003, 93_003, 131_003):
        log.ask(WORDS).answer(prompt, 10)
    row, warned = await shown(log.ask(WORDS).text)
    assert row.used is not None and 131_013 + 200 < row.used < 131_013 + 700
    assert (row.nearness is Nearness.IMMINENT, warned) == (False, [])


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
