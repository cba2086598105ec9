"""Sessions that an agent behind the proxy holds: the agent's window counts, and Ullage makes no edit in them."""

import pytest

from support.fill import exchange, fill, start
from support.workspace import SMALL_MODEL, TestClient, build_test_client
from ullage.model.errors import Conflict
from ullage.model.events import AgentAttached


def attach(client: TestClient, session_id: str, window: int | None) -> None:
    """Marks the session as one that an agent holds from now on."""
    told = AgentAttached(agent="toy", session_id="a-1", window=window)
    client.workspace.open(session_id).record(told)


async def test_the_window_from_the_agent_counts_before_the_catalogs() -> None:
    client = build_test_client()
    session_id = await start(client)
    attach(client, session_id, 50_000)
    assert (await client.call("context/get", sessionId=session_id))["size"] == 50_000


async def test_without_a_window_from_the_agent_the_catalogs_counts() -> None:
    client = build_test_client()
    session_id = await start(client)
    attach(client, session_id, None)
    assert (await client.call("context/get", sessionId=session_id))["size"] == 8_192


async def test_a_full_context_of_an_agent_is_warned_of_once_and_never_edited() -> None:
    client = build_test_client()
    session_id = await start(client, SMALL_MODEL)
    attach(client, session_id, None)
    used = [await exchange(client, session_id, number) for number in range(12)]
    await client.entries(session_id)
    told = client.recorder.take()
    assert used[-1] > 8_000
    assert [update["severity"] for update in told if "severity" in update] == ["warning"]
    assert not [update for update in told if "compactionId" in update]


async def test_a_fork_of_an_agents_session_is_ours_to_shrink() -> None:
    client = build_test_client()
    session_id = await fill(client)
    attach(client, session_id, None)
    fork = await client.call("session/fork", sessionId=session_id)
    assert client.workspace.open(fork["sessionId"]).transcript.agent is None


@pytest.mark.parametrize("method", ["context/compact", "context/undo"])
async def test_an_agents_context_is_not_edited_without_the_agent(method: str) -> None:
    client = build_test_client()
    session_id = await fill(client)
    attach(client, session_id, None)
    with pytest.raises(Conflict, match="toy keeps the context"):
        await client.call(method, sessionId=session_id)
