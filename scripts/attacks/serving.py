"""Whole servers: killed at random instants while they work on one store."""

import asyncio
from collections import Counter
from contextlib import suppress
from pathlib import Path

from attacks.attack import Ground, Outcome
from support.lsp_client import PATIENCE, LspClient, RpcFailure, start_server
from support.program import OUR_CLIENT, language_server, serve_command

_MODEL = "gpt-4o"
# Of the rounds, the share in which a server is killed while it starts.
_AT_START = 0.2
# Seconds within which a server is killed, from its start or its first acknowledgement: it starts in one, and each of
# its requests takes a few hundredths.
_LATEST = 1.5


def server_kills(ground: Ground) -> Outcome:
    """Guards against a message that a server has acknowledged and that is lost, doubled or changed when two servers
    that work on one session are killed at random instants: while they start, append, compact, undo and search."""
    return asyncio.run(_kill_servers(ground, ground.times(16, 500)))


async def _kill_servers(ground: Ground, times: int) -> Outcome:
    store = ground.folder / "sessions.db"
    said: dict[str, str] = {}
    faults: list[str] = []
    async with language_server(store) as client:
        session_id = (await client.request("ullage/session/new", {"model": _MODEL}))["sessionId"]
    for number in range(times // 2):
        await asyncio.gather(*(_work(ground, store, session_id, f"{number}{side}", said) for side in "ab"))
        if number % 10 == 9 or number == times // 2 - 1:
            faults += await _compare(store, session_id, said)
    survived = f"{len(said):,} acknowledged messages, each there once and as it was"
    return Outcome(tried=times, survived=survived, faults=tuple(dict.fromkeys(faults)))


async def _work(ground: Ground, store: Path, session_id: str, name: str, said: dict[str, str]) -> None:
    """Starts a server, has it work, and kills it. Adds what it has acknowledged to `said`."""
    async with start_server(serve_command(store)) as client:
        if ground.chance.random() < _AT_START:
            await asyncio.sleep(ground.chance.uniform(0, _LATEST))
            client.kill()
            return
        await client.initialize(OUR_CLIENT)
        first = asyncio.Event()
        working = asyncio.ensure_future(_append(client, session_id, name, said, first))
        await asyncio.wait_for(first.wait(), PATIENCE)
        await asyncio.sleep(ground.chance.uniform(0, _LATEST))
        client.kill()
        await client.wait_closed()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)


async def _append(client: LspClient, session_id: str, name: str, said: dict[str, str], first: asyncio.Event) -> None:
    for number in range(10_000):
        message_id, text = f"{name}-{number}", f"note {number} of {name} " + "walnut " * (number % 7 * 100)
        message = {"role": "user", "content": text, "id": message_id}
        await client.request("ullage/session/append", {"sessionId": session_id, "messages": [message]})
        said[message_id] = text
        first.set()
        others = {5: "context/compact", 6: "context/undo", 7: "context/messages"}
        if method := others.get(number % 9):
            # There may be nothing to compact, or the other server is compacting.
            with suppress(RpcFailure):
                await client.request(f"ullage/{method}", {"sessionId": session_id})


async def _compare(store: Path, session_id: str, said: dict[str, str]) -> list[str]:
    """Returns what is wrong with the stored messages."""
    async with language_server(store) as client:
        params = {"sessionId": session_id, "scope": "transcript"}
        entries = (await client.request("ullage/context/messages", params))["entries"]
    stored = [entry["message"] for entry in entries if not entry.get("inserted")]
    times, texts = Counter(one["id"] for one in stored), {one["id"]: one["content"][0]["text"] for one in stored}
    lost = [one for one in said if not times[one]]
    changed = [one for one, text in said.items() if texts.get(one, text) != text]
    doubled = [one for one, count in times.items() if count > 1]
    found = (("lost", lost), ("changed", changed), ("there twice", doubled))
    return [f"{len(ids)} messages are {what}, such as {ids[0]}" for what, ids in found if ids]
