"""After a compaction no secret is in the summary, ledger, marker, preview, updates or exported context. The
transcript keeps its text."""

import json
from typing import Any

import pytest

from support.corpus import cases, leaks, line_of, secret_of
from support.fill import fill
from support.workspace import LARGE_MODEL, TestClient

SECRETS = cases("secrets.json")
BATCH = 30
BATCHES = [SECRETS[start : start + BATCH] for start in range(0, len(SECRETS), BATCH)]


async def talk_of(client: TestClient, batch: list[dict[str, Any]]) -> str:
    """Makes a session with each secret of a batch, followed by many other messages."""
    session_id = await fill(client, exchanges=1, model=LARGE_MODEL)
    for case in batch:
        line = line_of(case)
        await client.say(session_id, f"Deploy with this:\n{line}", f"I found the cause, it was this:\n{line}")
    for number in range(30):
        await client.say(session_id, f"Question {number}. " + "What then? " * 80, f"Answer {number}. " + "So. " * 300)
    client.recorder.take()
    return session_id


def leaked(batch: list[dict[str, Any]], *shown: Any) -> list[str]:
    """Returns the kinds of secrets of which a part is in the shown values, plain or escaped as JSON."""
    texts = [one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in shown]
    return [case["kind"] for case in batch if any(leaks(case, text) for text in texts)]


@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0]['kind']} to {batch[-1]['kind']}")
async def test_no_secret_leaves_the_transcript(batch: list[dict[str, Any]], client: TestClient) -> None:
    session_id = await talk_of(client, batch)
    before = [entry["message"] for entry in await client.entries(session_id, "transcript")]
    focus = line_of(batch[0])
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True, focus=focus)
    compacted = await client.call("context/compact", sessionId=session_id, focus=focus)
    exports = [
        (await client.call("session/export", sessionId=session_id, format=shape))["text"]
        for shape in ("anthropic", "openai")
    ]
    context = await client.entries(session_id)
    preview.pop("archived")
    compacted.pop("archived", None)
    assert leaked(batch, preview, compacted, client.recorder.take(), context, *exports) == []
    after = [entry["message"] for entry in await client.entries(session_id, "transcript")]
    assert [message for message in after if message in before] == before
    whole = "\n".join(part.get("text", "") for message in after for part in message["content"])
    assert all(secret_of(case) in whole for case in batch)


async def test_secret_that_a_user_writes_into_a_summary_is_redacted(client: TestClient) -> None:
    session_id = await talk_of(client, [])
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    words = f"Use {line_of(SECRETS[0])}"
    committed = await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"], summary=words)
    assert leaked(SECRETS[:1], committed, await client.entries(session_id)) == []
