"""What is new of a shared folder is sent by the servers themselves, and no message is read or redacted twice."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.command_line import ullage
from support.lsp_client import PATIENCE
from support.postgres_server import PostgresServer, needs_postgres
from support.team import Member, Team, make_team, said
from ullage.app import team_sending
from ullage.app.team_sending import TeamSender, open_source, send_chosen, sent_path
from ullage.model.events import MessageAppended, Record, SessionRenamed
from ullage.store import open_store
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres
from ullage.store.team.team_archive import copy_id, redacted_copy
from ullage.system.team_choices import read_choices, read_sent

pytestmark = needs_postgres


@pytest.fixture
def team(postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team in which Anna, whose process this is, shares a folder with two sessions."""
    team = make_team(postgres_server, tmp_path)
    for name, value in team.anna.env.items():
        monkeypatch.setenv(name, value)
    team.anna.keep("one", "/orchard", said("m1", "The walnut."), title="Trees")
    team.anna.keep("two", "/orchard/deep", said("m1", "The pear."))
    share = ("team", "share", "/orchard", "--archive", team.anna.archive, "--with", team.boris.role)
    assert ullage(*share, env=team.anna.env).status == 0
    return team


def add(member: Member, session_id: str, *texts: str) -> None:
    """Appends messages to a session of the user's store."""
    with open_store(member.store) as store:
        start = len(store.read(session_id))
        store.append(
            session_id,
            [
                Record(position=at, timestamp=at, event=MessageAppended(message=said(f"m{at}", text)))
                for at, text in enumerate(texts, start)
            ],
        )


class ReadPositions:
    """A store that notes from which positions its sessions are read."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.read_from: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def read(self, session_id: str, start: int = 0, stop: int | None = None) -> Sequence[Record]:
        self.read_from[session_id] = min(start, self.read_from.get(session_id, start))
        return self._store.read(session_id, start, stop)


def sent(member: Member) -> tuple[int, dict[str, int]]:
    """Sends, and returns how many sessions were, and from which position each was read."""
    with open_source(member.store) as store:
        source: Any = ReadPositions(store)
        done = send_chosen(read_choices(team_sending.choices_path()), "/orchard", source, lambda _, __: None)
    return done.sent, source.read_from


def check_whole(member: Member, patterns: Sequence[str] = ()) -> None:
    """Fails unless the archive has of each session what a copy of the whole session is."""
    with open_store(member.store) as store, open_postgres(member.archive) as archive:
        for info in store.list():
            whole = tuple(redacted_copy(info, store.read(info.session_id), patterns))
            assert archive.read(copy_id(info.session_id)) == whole


def test_only_what_is_new_is_read_and_the_copy_is_the_same(team: Team) -> None:
    anna = team.anna
    add(anna, "one", "By the well.", "PASSWORD=correct-horse-9Zq")
    assert sent(anna) == (1, {"one": 1, "two": 1})
    check_whole(anna)
    assert sent(anna) == (0, {"one": 3, "two": 1})


def test_a_mark_that_does_not_fit_is_not_used(team: Team) -> None:
    anna = team.anna
    with open_store(anna.store) as store:
        store.append("one", [Record(position=2, timestamp=2, event=SessionRenamed(title="Nuts"))])
    assert sent(anna) == (1, {"one": 0, "two": 1})
    check_whole(anna)
    # Another machine has sent what this one doesn't know of.
    add(anna, "two", "The plum.")
    known = {path: path.read_bytes() for path in sent_path().iterdir()}
    assert sent(anna)[0] == 1
    for path, data in known.items():
        path.write_bytes(data)
    assert sent(anna) == (0, {"one": 2, "two": 0})
    # A copy that is gone is made again, and other rules are for all sessions.
    with open_postgres(anna.archive) as archive:
        archive.delete(copy_id("one"))
    assert sent(anna) == (1, {"one": 0, "two": 2})
    with open_store(anna.store) as store:
        store.delete("two")
    assert sent(anna) == (0, {"one": 2})
    check_whole(anna)
    share = ("team", "share", "/orchard", "--with", team.boris.role, "--private", "walnut")
    assert ullage(*share, env=anna.env).status == 0
    check_whole(anna, ["walnut"])


async def until_searched(member: Member, word: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            with open_postgres(member.archive, is_team=True) as archive:
                if await asyncio.to_thread(archive.search, word):
                    return
            await asyncio.sleep(0.05)


async def test_a_server_sends_what_is_new_by_itself_and_the_user_reads_when(team: Team) -> None:
    anna = team.anna
    with TeamSender(anna.store, first=0.01, every=0.01).running():
        add(anna, "one", "And a quince.")
        await until_searched(team.boris, "quince")
    known = read_sent(sent_path(), "/orchard")
    assert known is not None
    assert (known.by_itself, known.error) == (True, "")
    assert "last sent" in ullage("team", env=anna.env).out
    assert "by Ullage's servers" in ullage("doctor", env=anna.env).out


def test_nothing_is_sent_by_itself_from_another_store_by_hand_or_unasked(team: Team, tmp_path: Path) -> None:
    anna = team.anna
    add(anna, "one", "And a quince.")
    assert TeamSender(tmp_path / "other.db").send()
    assert "quince" not in team.everything()
    share = ("team", "share", "/orchard", "--with", team.boris.role, "--by-hand")
    assert ullage(*share, env=anna.env).status == 0
    add(anna, "one", "And a medlar.")
    assert TeamSender(anna.store).send()
    assert "medlar" not in team.everything()
    # A store without the sessions must not empty the archive.
    other = ullage("team", "send", "--store", str(tmp_path / "other.db"), env=anna.env)
    assert ("another store" in other.err or "not there" in other.err, other.status != 0) == (True, True)
    assert "walnut" in team.everything()
    assert ullage("team", "unshare", "/orchard", env=anna.env).status == 0
    assert TeamSender(anna.store).send()
    assert "walnut" not in team.everything()
    assert list(sent_path().iterdir()) == []


def test_an_archive_that_is_away_is_named_and_nothing_of_it_is_forgotten(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna = team.anna
    before = read_sent(sent_path(), "/orchard")
    add(anna, "one", "And a quince.")
    with monkeypatch.context() as patched:
        away = f"postgresql://{anna.role}@127.0.0.1:1/postgres"

        def open_away(_: str) -> PostgresStore:
            return open_postgres(away)

        patched.setattr(team_sending, "open_archive", open_away)
        assert not TeamSender(anna.store).send()
    known = read_sent(sent_path(), "/orchard")
    assert before is not None
    assert known is not None
    assert (known.marks, known.at, known.error != "") == (before.marks, before.at, True)
    assert "last try to send failed" in ullage("team", env=anna.env).out
    assert TeamSender(anna.store).send()
    assert "quince" in team.everything()
