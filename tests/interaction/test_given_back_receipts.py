"""What hooks gave back to an agent is listed with the compaction that it was given after."""

from collections.abc import Sequence

from support.coding_session import first_turn, thinking_turn
from support.workspace import LARGE_MODEL, START, TestClient, build_test_client
from ullage.model.events import ConversationImported
from ullage.service.ports.agent_files import GivenBack

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


async def test_each_receipt_names_the_compaction_that_it_was_given_after() -> None:
    client = build_test_client()
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


async def test_a_conversation_of_no_agent_has_no_receipts() -> None:
    client = build_test_client()
    new = await client.call("session/new", model=LARGE_MODEL)
    client.workspace.receipts = lambda _: [receipt(START)]
    assert (await client.call("context/givenBack", sessionId=new["sessionId"]))["rows"] == []
