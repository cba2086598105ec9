"""What a compaction left out, over the protocol."""

from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.workspace import TestClient, build_test_client
from ullage.model.errors import EditNotFound

ASKED = "Rename the table in every part. Never change src/shop/legacy.py without a migration."
WORDS = "Changed src/shop/part1.py; go on."


def shop(*, compactions: int) -> ClaudeLog:
    """A log with a rule of the user's and three files changed, compacted so many times with a summary that has one of
    them."""
    log = ClaudeLog(session="shop").ask(ASKED)
    for number in range(3):
        log.call(
            "Edit", "Updated.", file_path=f"/home/me/shop/src/shop/part{number}.py", old_string="a", new_string="b"
        )
        log.answer(9_000)
    for number in range(compactions):
        log.compact(90_000, summary=f"{WORDS} {ASKED if number else ''}").ask("Go on.").answer(9_000)
    return log


async def brought_in(client: TestClient, log: ClaudeLog) -> str:
    """Imports a log and returns the session's id."""
    return (await client.call("session/import", text=log.text))["session"]["sessionId"]


async def lost(client: TestClient, session_id: str, **options: Any) -> Any:
    return await client.call("context/lost", sessionId=session_id, **options)


async def test_the_last_compaction_is_asked_about_unless_another_is_named() -> None:
    client = build_test_client()
    session_id = await brought_in(client, shop(compactions=2))
    last = await lost(client, session_id)
    assert ASKED not in [entry["text"] for entry in last["entries"]]
    edits = (await client.call("context/history", sessionId=session_id))["edits"]
    first = await lost(client, session_id, editId=min(edits, key=lambda edit: edit["timestamp"])["id"])
    assert first["editId"] != last["editId"]
    said = {"kind": "said", "state": "open", "text": ASKED, "detail": "", "index": 0}
    assert first["entries"][0] == said
    assert (first["counts"]["said"], first["counts"]["file"]) == (1, 2)
    assert {entry["state"] for entry in first["entries"] if entry["kind"] == "file"} == {"changed"}
    assert f"> #1 {ASKED}" in first["brief"].splitlines()


async def test_of_each_kind_the_newest_comes_first_and_stays_in_a_short_list() -> None:
    client = build_test_client()
    session_id = await brought_in(client, shop(compactions=1))

    async def files(limit: int) -> list[str]:
        found = await lost(client, session_id, limit=limit)
        return [entry["text"] for entry in found["entries"] if entry["kind"] == "file"]

    assert await files(9) == ["src/shop/part2.py", "src/shop/part0.py"]
    assert await files(1) == ["src/shop/part2.py"]


async def test_a_limit_shortens_the_lists_and_not_the_counts() -> None:
    client = build_test_client()
    session_id = await brought_in(client, shop(compactions=1))
    whole, short = await lost(client, session_id), await lost(client, session_id, limit=1, briefSize=400)
    assert [entry["kind"] for entry in short["entries"]].count("file") == 1
    assert short["counts"] == whole["counts"]
    assert len(short["brief"]) <= 400


async def test_without_a_compaction_nothing_is_lost() -> None:
    client = build_test_client()
    session_id = await brought_in(client, shop(compactions=0))
    found = await lost(client, session_id)
    assert (found["editId"], found["entries"], found["brief"]) == (None, [], "")


async def test_a_compaction_that_is_not_in_force_is_refused_by_its_name() -> None:
    client = build_test_client()
    session_id = await brought_in(client, shop(compactions=1))
    with pytest.raises(EditNotFound, match="'e_99'"):
        await lost(client, session_id, editId="e_99")
