"""Copies of stores: complete, once, and in both directions."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from support.logs import conversation, message, records
from support.postgres_server import needs_postgres
from ullage.model.errors import StoreUnavailable
from ullage.model.events import Event, MessageAppended, MessagePinned, SessionCreated, SessionForked, SessionRenamed
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.service.ports.store import SessionInfo
from ullage.store.postgres.postgres_store import open_postgres
from ullage.store.sqlite.sqlite_store import open_store
from ullage.store.store_copy import CopiedStore, copy_store
from ullage.store.store_place import open_store_at
from ullage.store.table_store import TableStore
from ullage.store.team.team_archive import copy_id, redacted_copy

# More records than one transaction writes.
MANY = 450


@pytest.fixture
def local(tmp_path: Path) -> Iterator[TableStore]:
    with open_store(tmp_path / "local.db") as store:
        yield store


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=needs_postgres)])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TableStore]:
    if request.param == "sqlite":
        with open_store(tmp_path / "other.db") as store:
            yield store
    else:
        with open_postgres(request.getfixturevalue("postgres_address")) as store:
            yield store


def copied(source: TableStore, target: TableStore) -> CopiedStore:
    return copy_store(source, target, lambda _, __, ___: None)


def filled(store: TableStore) -> None:
    """Makes a long session with a snapshot, its fork, the fork of a deleted session, and a calibration."""
    store.create("long", conversation("first"))
    store.append("long", records(*(message(f"m{number}") for number in range(MANY)), start=2))
    store.save_snapshot("long", 100, b"folded")
    store.create("fork", records(SessionForked(parent_id="long", position=200, title="A fork"), start=201))
    store.append("fork", records(SessionRenamed(title="Walnut"), message("own", "Plant the walnut."), start=202))
    store.create("gone", conversation("one", "two"))
    store.create("kept", records(SessionForked(parent_id="gone", position=2, title="Kept"), start=3))
    store.delete("gone")
    store.save_calibration("gpt-5", b"\x00\xff")


def everything(store: TableStore) -> object:
    """Returns all that a store says of its sessions."""
    ids = store.find_ids("")
    return [(store.info(name), store.read(name), store.open(name).snapshot, store.read_edits(name)) for name in ids]


def test_everything_is_there_after_a_copy_and_comes_back_by_one(
    local: TableStore, other: TableStore, tmp_path: Path
) -> None:
    filled(local)
    there = copied(local, other)
    assert set(there.new) == {"long", "fork", "gone", "kept"}
    assert everything(other) == everything(local)
    assert other.load_calibration("gpt-5") == b"\x00\xff"
    assert [hit.message_id for hit in other.search("walnut", "fork", 1)] == ["own"]
    with open_store(tmp_path / "third.db") as third:
        back = copied(other, third)
        assert everything(third) == everything(local)
        third.append("fork", records(message("later"), start=204))
    assert (back.digest, back.records) == (there.digest, there.records)


def test_a_second_copy_writes_nothing_and_a_third_only_what_is_new(local: TableStore, other: TableStore) -> None:
    filled(local)
    first = copied(local, other)
    again = copied(local, other)
    assert (again.written, again.digest, len(again.unchanged)) == (0, first.digest, 4)
    local.append("fork", records(message("later"), start=204))
    grown = copied(local, other)
    assert (grown.written, grown.grown) == (1, ("fork",))
    assert everything(other) == everything(local)


@pytest.mark.parametrize("written", [1, 200, 400])
def test_a_copy_that_was_interrupted_goes_on_where_it_ended(local: TableStore, other: TableStore, written: int) -> None:
    filled(local)

    def stop(_: int, __: int, so_far: int) -> None:
        if so_far >= written:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(local, other, stop)
    rest = copied(local, other)
    assert 0 < rest.written < rest.records
    assert everything(other) == everything(local)


def test_a_session_that_went_on_differently_in_both_is_left_as_it_is(local: TableStore, other: TableStore) -> None:
    filled(local)
    copied(local, other)
    local.append("long", records(message("here"), start=MANY + 2))
    other.append("long", records(message("there"), start=MANY + 2))
    local.create("late", records(SessionForked(parent_id="long", position=MANY + 2, title=""), start=MANY + 3))
    before = everything(other)
    again = copied(local, other)
    assert again.differing == ("long", "late")
    assert again.written == 0
    assert everything(other) == before


def test_a_session_that_the_target_has_more_of_or_has_deleted_is_left_as_it_is(
    local: TableStore, other: TableStore
) -> None:
    filled(local)
    copied(local, other)
    other.append("fork", records(message("later"), start=204))
    other.delete("long")
    before = everything(other)
    again = copied(local, other)
    assert (again.deleted, again.written) == (("long",), 0)
    assert "fork" in again.unchanged
    assert everything(other) == before


def test_a_record_that_comes_back_otherwise_is_an_error(local: TableStore, tmp_path: Path) -> None:
    filled(local)
    with open_store(tmp_path / "torn.db") as torn:
        read = torn.copied_records
        torn.copied_records = lambda *place: read(*place)[:-1]  # type: ignore[method-assign]
        with pytest.raises(StoreUnavailable, match="session long was not copied as it is"):
            copied(local, torn)


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=needs_postgres)])
def test_copies_beside_a_writer_have_a_beginning_of_its_log_and_the_last_one_all_of_it(
    request: pytest.FixtureRequest, tmp_path: Path, local: TableStore, kind: str
) -> None:
    place = request.getfixturevalue("postgres_address") if kind == "postgres" else str(tmp_path / "source.db")
    with open_store_at(place) as source:
        source.create("s", conversation("one"))

        def write() -> None:
            with open_store_at(place) as store:
                for number in range(MANY):
                    store.append("s", records(message(f"m{number}"), start=2 + number))

        writer = Thread(target=write)
        writer.start()
        copies = 0
        while writer.is_alive() or not copies:
            copied(source, local)
            copies += 1
            there = local.read("s")
            assert there == source.read("s", 0, len(there))
        writer.join()
        last = copied(source, local)
        assert last.differing == last.deleted == ()
        assert local.read("s") == source.read("s")
        assert len(local.read("s")) == MANY + 2


# What leaves the machine for a team's archive


INFO = SessionInfo(
    session_id="s_1", title="Quince", cwd="/orchard", model="m", created_at=5, updated_at=9, messages=3, parent_id=None
)
PASSWORD = "correct-horse-9Zq"


def redacted(*events: Event, patterns: tuple[str, ...] = ()) -> list[Event]:
    log = records(SessionCreated(cwd="/orchard", title="Quince"), *events)
    return [record.event for record in redacted_copy(INFO, log, patterns)]


def texts(*events: Event, patterns: tuple[str, ...] = ()) -> list[str]:
    return [one.message.text for one in redacted(*events, patterns=patterns) if isinstance(one, MessageAppended)]


def said(*content: Block, role: Role = Role.USER) -> MessageAppended:
    return MessageAppended(message=Message(id="own-id", role=role, content=content))


def test_only_what_was_said_is_copied_as_text_and_under_other_ids() -> None:
    events = redacted(
        said(TextBlock(text="be kind"), role=Role.SYSTEM),
        said(TextBlock(text="one"), ImageBlock(data="aGVsbG8=")),
        said(ThinkingBlock(thinking="hm", signature="sig"), TextBlock(text="two"), role=Role.ASSISTANT),
        said(ThinkingBlock(thinking="alone"), role=Role.ASSISTANT),
        MessagePinned(message_id="own-id"),
    )
    created, *messages = events
    assert created == SessionCreated(cwd="/orchard", title="Quince", model="m")
    found = [one.message for one in messages if isinstance(one, MessageAppended)]
    assert [(one.id, one.role, one.content) for one in found] == [
        ("m1", Role.USER, (TextBlock(text="one"),)),
        ("m2", Role.ASSISTANT, (TextBlock(text="two"),)),
    ]
    assert copy_id("s_1") not in ("s_1", copy_id("s_2"))


@pytest.mark.parametrize(
    "block",
    [
        TextBlock(text=f"DB_PASSWORD={PASSWORD}"),
        ToolUseBlock(id="u", name="Bash", input={"password": PASSWORD}),
        ToolUseBlock(id="u", name="Bash", input={"data": [{"text": f"export DB_PASSWORD={PASSWORD}\nls"}]}),
        ToolResultBlock(tool_use_id="u", content=(TextBlock(text=f"DB_PASSWORD={PASSWORD}"),)),
        ToolResultBlock(tool_use_id="u", content=(ResourceBlock(uri="file:///x", text=f"DB_PASSWORD={PASSWORD}"),)),
        ResourceBlock(uri=f"https://ada:{PASSWORD}@host/", text=""),
    ],
)
def test_a_secret_stays_here_wherever_it_is(block: Block) -> None:
    (text,) = texts(said(block))
    assert PASSWORD not in text
    assert "[redacted]" in text


def test_private_text_stays_here_in_titles_and_tools_too() -> None:
    events = redacted(
        said(TextBlock(text="the quince tree")),
        said(ToolUseBlock(id="u", name="Bash", input={"id": "quince"})),
        patterns=("(?i)quince",),
    )
    assert "uince" not in repr(events)
    assert "the [redacted] tree" in repr(events)


def test_the_same_log_gives_the_same_copy_and_a_longer_one_begins_with_it() -> None:
    one, two = said(TextBlock(text="one")), said(TextBlock(text="two"))
    assert redacted(one) == redacted(one)
    assert redacted(one, two)[:2] == redacted(one)
