"""What a compaction left out, and what hooks gave back after it, over the protocol."""

from collections.abc import Sequence
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.coding_session import first_turn, thinking_turn
from support.workspace import LARGE_MODEL, START, TestClient
from ullage.model.errors import EditNotFound
from ullage.model.events import ConversationImported
from ullage.service.ports.agent_files import GivenBack

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


async def test_the_last_compaction_is_asked_about_unless_another_is_named(client: TestClient) -> None:
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


async def test_of_each_kind_the_newest_comes_first_and_stays_in_a_short_list(client: TestClient) -> None:
    session_id = await brought_in(client, shop(compactions=1))

    async def files(limit: int) -> list[str]:
        found = await lost(client, session_id, limit=limit)
        return [entry["text"] for entry in found["entries"] if entry["kind"] == "file"]

    assert await files(9) == ["src/shop/part2.py", "src/shop/part0.py"]
    assert await files(1) == ["src/shop/part2.py"]


async def test_a_limit_shortens_the_lists_and_not_the_counts(client: TestClient) -> None:
    session_id = await brought_in(client, shop(compactions=1))
    whole, short = await lost(client, session_id), await lost(client, session_id, limit=1, briefSize=400)
    assert [entry["kind"] for entry in short["entries"]].count("file") == 1
    assert short["counts"] == whole["counts"]
    assert len(short["brief"]) <= 400


async def test_without_a_compaction_nothing_is_lost(client: TestClient) -> None:
    session_id = await brought_in(client, shop(compactions=0))
    found = await lost(client, session_id)
    assert (found["editId"], found["entries"], found["brief"]) == (None, [], "")


async def test_a_compaction_that_is_not_in_force_is_refused_by_its_name(client: TestClient) -> None:
    session_id = await brought_in(client, shop(compactions=1))
    with pytest.raises(EditNotFound, match="'e_99'"):
        await lost(client, session_id, editId="e_99")


ORIGIN = "5f0f2d1c-7a55-4f0e-9a63-0d9a54a1b001"


def receipt(at: int, why: str = "compact") -> GivenBack:
    return GivenBack(at=at, why=why, counts={"said": 2}, characters=90, tokens=25, text="#3 Never round.")


async def compacted_twice(client: TestClient) -> tuple[str, list[str]]:
    """Compacts a session of an agent twice, an hour apart, and returns its id and those of the compactions."""
    new = await client.call("session/new", model=LARGE_MODEL)
    session_id, edits = new["sessionId"], list[str]()
    await client.call("session/append", sessionId=session_id, messages=first_turn())
    for number in (1, 2):
        client.clock.advance(seconds=3_600)
        messages = [*thinking_turn(number), *thinking_turn(number + 10)]
        await client.call("session/append", sessionId=session_id, messages=messages)
        edits.append((await client.call("context/compact", sessionId=session_id))["editId"])
    imported = ConversationImported(format="claude-code", agent="Claude Code", origin_id=ORIGIN)
    client.workspace.open(session_id).record(imported)
    return session_id, edits


async def test_each_receipt_names_the_compaction_that_it_was_given_after(client: TestClient) -> None:
    session_id, (first, second) = await compacted_twice(client)
    hour = 3_600_000
    given = [
        receipt(START),
        # The agent writes its compaction a moment after the hook.
        receipt(START + hour - 2_000),
        receipt(START + hour + hour // 2, "resume"),
        receipt(START + 2 * hour + 1, "prompt"),
        receipt(START + 2 * hour + 2, "fill"),
    ]
    asked: list[str] = []

    def read(agent_session_id: str) -> Sequence[GivenBack]:
        asked.append(agent_session_id)
        return given

    client.workspace.receipts = read
    rows = (await client.call("context/givenBack", sessionId=session_id))["rows"]
    assert [row["editId"] for row in rows] == [None, first, first, second, None]
    assert (rows[1]["counts"], rows[1]["tokens"], rows[1]["text"]) == ({"said": 2}, 25, "#3 Never round.")
    assert asked == [ORIGIN]


async def test_a_conversation_of_no_agent_has_no_receipts(client: TestClient) -> None:
    new = await client.call("session/new", model=LARGE_MODEL)
    client.workspace.receipts = lambda _: [receipt(START)]
    assert (await client.call("context/givenBack", sessionId=new["sessionId"]))["rows"] == []
