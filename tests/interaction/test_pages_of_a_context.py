"""A page of a context takes the work of its own messages, however long the context is."""

from pathlib import Path

from support.steps import python_steps, sqlite_steps
from support.workspace import build_test_client
from ullage.service.conversation.conversation import transcript_page, view_page
from ullage.store import open_store

SHORT, LONG = 100, 2_000
START, LENGTH = 20, 50
# Steps more or less by which a reading of the store ends, in the middle of an index or at its end.
FEW = 5


async def test_a_page_of_a_long_context_takes_the_steps_of_a_page_of_a_short_one(tmp_path: Path) -> None:
    of_view: dict[int, int] = {}
    of_transcript: dict[int, tuple[int, int]] = {}
    for size in (SHORT, LONG):
        with open_store(tmp_path / f"{size}.db") as store:
            client = build_test_client(store=store)
            created = await client.call("session/new", model="unknown-model")
            await client.say(created["sessionId"], *(f"{number}: hello" for number in range(size)))
            session = client.workspace.open(created["sessionId"])
            with python_steps() as steps:
                page = await view_page(session, START, LENGTH)
            assert (len(page.entries), page.total) == (LENGTH, size)
            of_view[size] = steps.taken
            with python_steps() as steps, sqlite_steps(store.path) as in_store:
                page = transcript_page(session, START, LENGTH)
            assert (len(page.entries), page.total) == (LENGTH, size)
            of_transcript[size] = steps.taken, in_store.taken
    assert of_view[LONG] == of_view[SHORT]
    assert all(long <= short + FEW for long, short in zip(of_transcript[LONG], of_transcript[SHORT], strict=True))
