"""A row says that its agent compacts the conversation from the word of the agent's hook until the next one, until the
agent writes something, or until no summary takes so long."""

from pathlib import Path

import pytest

from support.claude_log import BEGAN, ClaudeLog
from support.hook_place import ID, hook_place
from support.workspace import build_test_client
from ullage.app.catalogue import BegunCompactions
from ullage.model.usage import Nearness
from ullage.service.follow.rows import LiveRows
from ullage.service.ports.agent_files import FoundFile

SECOND, MINUTE = 1_000, 60_000
RUNS = {("Claude Code", ID): 7}
FOUND = FoundFile(path=Path(f"/logs/{ID}.jsonl"), agent="Claude Code", origin_id=ID)


async def live_rows(log: ClaudeLog, now: int) -> LiveRows:
    live, client = LiveRows(lambda _agent, _id: False), build_test_client()
    session = (await client.call("session/import", text=log.text))["session"]["sessionId"]
    live.take(FOUND, client.workspace.open(session), now)
    return live


def nearness(live: LiveRows) -> Nearness | None:
    (row,) = live.snapshot(0, 1).sessions
    return row.nearness


async def test_a_compaction_that_has_begun_is_shown_until_it_is_too_old_or_its_agent_is_gone() -> None:
    log = ClaudeLog(session=ID).ask("Why?").answer(900)
    began = log.now
    live = await live_rows(log, began)
    live.know(RUNS, {ID: began}, began)
    assert (nearness(live), live.until_over(began)) == (Nearness.COMPACTING, pytest.approx(300, abs=1))
    live.know(RUNS, {ID: began}, began + 6 * MINUTE)
    assert nearness(live) is Nearness.FAR
    live.know({("Claude Code", ID): None}, {ID: began}, began)
    assert nearness(live) is None


async def test_what_the_agent_writes_next_ends_it() -> None:
    log = ClaudeLog(session=ID).ask("Why?").answer(900)
    began = log.now
    live = await live_rows(log.ask("And now?"), began + MINUTE)
    live.know(RUNS, {ID: began - SECOND}, began + MINUTE)
    assert nearness(live) is Nearness.FAR


def test_hooks_say_that_a_compaction_has_begun_and_that_it_has_ended(tmp_path: Path) -> None:
    with hook_place(tmp_path) as place:
        compactions = BegunCompactions(place.store)
        assert compactions() == {}
        place.begun()
        assert [*compactions()] == [ID]
        assert compactions()[ID] > BEGAN
        place.summarized()
        place.hook(hook_event_name="SessionStart", source="compact")
        assert compactions() == {}
