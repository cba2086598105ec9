"""A server that is killed during appends has kept every message that it acknowledged."""

import asyncio
import random
from pathlib import Path

import pytest

from support.lsp_client import PATIENCE, LspClient
from support.program import language_server

KILLS = 50
BURST = 40
SEED = 20_261_121


async def append_until_killed(client: LspClient, session_id: str, round_: int, acknowledgements: int) -> set[str]:
    """Sends a burst of appends, kills the server after some answers, and returns the acknowledged ids."""
    acknowledged: set[str] = set()
    enough = asyncio.Event()

    def note(future: "asyncio.Future[dict[str, list[str]]]") -> None:
        if future.exception() is None:
            acknowledged.update(future.result()["messageIds"])
        if len(acknowledged) >= acknowledgements or future.exception() is not None:
            enough.set()

    for number in range(BURST):
        message = {"role": "user", "content": f"note {number} of round {round_}", "id": f"m{round_}-{number}"}
        future = await client.start("ullage/session/append", {"sessionId": session_id, "messages": [message]})
        future.add_done_callback(note)
    await asyncio.wait_for(enough.wait(), PATIENCE)
    client.kill()
    await client.wait_closed()
    return acknowledged


async def stored_ids(client: LspClient, session_id: str) -> list[str]:
    answer = await client.request("ullage/context/messages", {"sessionId": session_id, "scope": "transcript"})
    messages = [entry["message"] for entry in answer["entries"] if not entry.get("inserted")]
    for message in messages:
        round_, _, number = message["id"].removeprefix("m").partition("-")
        assert [part["text"] for part in message["content"]] == [f"note {number} of round {round_}"]
    return [message["id"] for message in messages]


@pytest.mark.slow
async def test_no_acknowledged_message_is_lost_over_fifty_kills(tmp_path: Path) -> None:
    chance = random.Random(SEED)
    acknowledged: set[str] = set()
    async with language_server(tmp_path / "s.db") as client:
        session_id = (await client.request("ullage/session/new", {"model": "gpt-4o"}))["sessionId"]
    for round_ in range(KILLS):
        async with language_server(tmp_path / "s.db") as client:
            kept = await stored_ids(client, session_id)
            assert acknowledged <= set(kept)
            assert len(kept) == len(set(kept))
            acknowledged |= await append_until_killed(client, session_id, round_, chance.randint(1, BURST))
    async with language_server(tmp_path / "s.db") as client:
        assert acknowledged <= set(await stored_ids(client, session_id))
    assert len(acknowledged) > KILLS
