"""Two processes on one store: if one changes a session that the other has open, the other soon publishes the change."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build import assistant, user
from support.workspace import Recorder
from ullage.app.compose import open_workspace
from ullage.model.errors import SessionNotFound
from ullage.model.events import SessionCreated
from ullage.model.settings import Settings, SummarySettings
from ullage.service.conversation.workspace import Follower, Workspace
from ullage.service.sessions import append, delete_session, new_session

SETTINGS = Settings(model="gpt-4o", summary=SummarySettings(writer="offline"))


class Two:
    """A writing process and a reading process, with the events that the reader's listener got."""

    def __init__(self, writer: Workspace, looker: Workspace) -> None:
        self.writer = writer
        self.looker = looker
        self.session_id = new_session(writer, SessionCreated(cwd="/project")).id
        self.told = Recorder()
        looker.bus.listen(self.told)
        looker.open(self.session_id)
        self.follower = Follower(looker)


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Two]:
    store = tmp_path / "sessions.db"
    with open_workspace(store, SETTINGS) as writer, open_workspace(store, SETTINGS) as looker:
        yield Two(writer, looker)


async def test_messages_of_another_process_are_published_with_title_and_usage(two: Two) -> None:
    await append(two.writer.open(two.session_id), [user("m1", "Rename the parser"), assistant("m2")], None)
    two.follower.look()
    told = two.told.take()
    assert [update["sessionUpdate"] for update in told] == ["session_info_update", "usage_update"]
    assert told[0]["title"] == "Rename the parser"
    assert told[1]["used"] == two.writer.open(two.session_id).used


async def test_no_change_is_published_twice_nor_an_own_change(two: Two) -> None:
    await append(two.writer.open(two.session_id), [user("m1")], None)
    two.follower.look()
    two.told.take()
    two.follower.look()
    await append(two.looker.open(two.session_id), [assistant("m2")], None)
    two.told.take()
    two.follower.look()
    assert two.told.take() == []


async def test_sessions_that_are_not_open_here_are_not_opened(two: Two) -> None:
    other = new_session(two.writer, SessionCreated(cwd="/other")).id
    await append(two.writer.open(other), [user("m1")], None)
    two.follower.look()
    assert two.told.take() == []
    assert not two.looker.is_open(other)


async def test_a_session_that_was_deleted_elsewhere_is_let_go(two: Two) -> None:
    await delete_session(two.writer, two.session_id)
    two.follower.look()
    assert not two.looker.is_open(two.session_id)
    with pytest.raises(SessionNotFound):
        two.looker.open(two.session_id)
