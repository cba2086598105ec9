"""Two users of one database: neither reads, searches, changes or infers the other's sessions, unless they are shared.

Both are roles of a real server. Each tries by Ullage's store and by statements of their own.
"""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

import pytest
from msgspec import Struct
from psycopg import Connection, connect, errors
from psycopg.rows import TupleRow

from support.logs import message, records
from support.postgres_server import PostgresServer, needs_postgres
from ullage.model.errors import Conflict, InvalidRequest, SessionNotFound, StoreUnavailable
from ullage.model.events import SessionCreated, SessionForked
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres

pytestmark = needs_postgres
TABLES = (
    *("sessions", "records", "snapshots", "calibrations", "sharing"),
    *("message_words", "message_vocabulary", "message_chunks", "vectors"),
)
# What an administrator grants to the users of a store; as in docs/guide/postgresql.md.
GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
)


class Users(Struct, frozen=True, kw_only=True):
    """Two users of a store and its maker, with their addresses. The users are also in a group."""

    server: PostgresServer
    maker: str
    anna: str
    boris: str
    group: str


@pytest.fixture
def users(postgres_server: PostgresServer) -> Users:
    maker = postgres_server.new_schema()
    schema = maker.rpartition("%3D")[2]
    open_postgres(maker).close()
    names = {name: f"{name}_{schema}" for name in ("anna", "boris", "group")}
    postgres_server.execute(
        *(f"CREATE ROLE {names[name]} LOGIN" for name in ("anna", "boris")),
        f"CREATE ROLE {names['group']} ROLE {names['anna']}, {names['boris']}",
        *(grant.format(schema=schema, role=names["group"]) for grant in GRANTS),
    )
    return Users(
        server=postgres_server,
        maker=maker,
        anna=postgres_server.address(schema, names["anna"]),
        boris=postgres_server.address(schema, names["boris"]),
        group=names["group"],
    )


@pytest.fixture
def anna(users: Users) -> Iterator[PostgresStore]:
    with open_postgres(users.anna) as store:
        store.create("a", records(SessionCreated(title="Anna's"), message("m1", "walnut " * 2_000 + "quince")))
        store.save_snapshot("a", 1, b"state")
        store.save_calibration("gpt-5", b"hers")
        while store.index_some():
            pass
        (passage,) = store.find_passages("walnut")
        store.save_vectors("embedder", {passage.id: b"vector"})
        yield store


@pytest.fixture
def boris(users: Users, anna: PostgresStore) -> Iterator[PostgresStore]:
    del anna
    with open_postgres(users.boris) as store:
        yield store


def role_of(address: str) -> str:
    return address.partition("user=")[2].partition("&")[0]


def words(address: str, *settings: str) -> "Connection[TupleRow]":
    """Returns a connection of a user who writes statements, with settings of the user's own."""
    options = quote("".join(f" -c {setting}" for setting in settings))
    return connect(address + options, autocommit=True)


def count(address: str, table: str, *settings: str) -> int:
    with words(address, *settings) as connection:
        row = connection.execute(f"SELECT count(*) FROM {table}".encode()).fetchone()
    assert row is not None
    return row[0]


def ids(store: PostgresStore) -> Sequence[str]:
    return sorted(info.session_id for info in store.list())


def test_no_other_user_reads_or_finds_a_session(anna: PostgresStore, boris: PostgresStore) -> None:
    assert ids(anna) == ["a"]
    assert ids(boris) == []
    for read in (boris.open, boris.read, boris.info, boris.read_edits, boris.read_imports, boris.read_apart):
        with pytest.raises(SessionNotFound):
            read("a")
    assert [hit.session_id for hit in anna.search("walnut")] == ["a"]
    assert boris.search("walnut") == ()
    assert boris.sessions_with("m1") == boris.find_ids("") == ()
    assert boris.load_calibration("gpt-5") is None
    assert boris.calibrations() == boris.copied_sessions() == ()


def test_no_other_user_changes_a_session(anna: PostgresStore, boris: PostgresStore) -> None:
    before = anna.read("a")
    for change in (
        lambda: boris.append("a", records(message("b"), start=2)),
        lambda: boris.save_snapshot("a", 0, b"other"),
        lambda: boris.drop_snapshot("a"),
        lambda: boris.delete("a"),
        lambda: boris.share("a", "w"),
        lambda: boris.create("b", records(SessionForked(parent_id="a", position=1, title="t"), start=2)),
    ):
        with pytest.raises(SessionNotFound):
            change()
    boris.save_calibration("gpt-5", b"his")
    assert anna.read("a") == before
    assert anna.open("a").snapshot == b"state"
    assert anna.load_calibration("gpt-5") == b"hers"


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("settings", [(), ("ullage.team=on",), ("ullage.query=walnut", "row_security=on")])
def test_statements_of_another_user_find_and_change_no_row(
    users: Users, anna: PostgresStore, table: str, settings: Sequence[str]
) -> None:
    anna.set_members("w", [users.group])
    assert count(users.anna, table) > 0
    # Anna's workspace is Boris's too, but no session is in it.
    expected = 1 if table == "sharing" else 0
    assert count(users.boris, table, *settings) == expected
    # The tables' owner is no exception.
    assert count(users.maker, table, *settings) == 0
    with words(users.boris, *settings) as connection:
        assert connection.execute(f"UPDATE {table} SET owner = current_user".encode()).rowcount == 0
        assert connection.execute(f"DELETE FROM {table}".encode()).rowcount == 0
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(f"TRUNCATE {table}".encode())
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY".encode())


def test_a_row_cannot_be_written_for_another_user_or_into_their_session(users: Users, anna: PostgresStore) -> None:
    hers = role_of(users.anna)
    record = (
        "INSERT INTO records (session_id, position, timestamp, event, messages, payload{}) "
        "VALUES ('a', 2, 0, 'x', 1, ''{})"
    )
    statements = (
        "INSERT INTO sessions (session_id, created_at, title, cwd, model, owner) "
        f"VALUES ('c', 0, '', '', '', '{hers}')",
        record.format("", ""),
        record.format(", owner", f", '{hers}'"),
        "INSERT INTO snapshots (session_id, position, snapshot) VALUES ('a', 1, '')",
        "INSERT INTO message_words (row_id, session_id, size, tokens) VALUES (7, 'a', 1, 'walnut')",
        f"INSERT INTO sharing (owner, workspace, member) VALUES ('{hers}', 'w', current_user)",
    )
    with words(users.boris) as connection:
        for statement in statements:
            with pytest.raises((errors.InsufficientPrivilege, errors.UniqueViolation), match="row-level security"):
                connection.execute(statement.encode())
    anna.append("a", records(message("m2"), start=2))


def test_a_function_of_another_users_sees_no_row_before_the_policy_does(users: Users, anna: PostgresStore) -> None:
    assert ids(anna) == ["a"]
    with words(users.boris) as connection:
        connection.execute(
            b"CREATE FUNCTION pg_temp.spy(text) RETURNS boolean LANGUAGE plpgsql COST 0.0001 AS "
            b"$$BEGIN RAISE NOTICE 'saw %', $1; RETURN true; END$$"
        )
        heard: list[str] = []
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        for table in TABLES:
            connection.execute(f"SELECT 1 FROM {table} WHERE pg_temp.spy({table}::text)".encode())
        # What the planner knows of a table's values is hidden, too.
        seen = connection.execute(b"SELECT tablename FROM pg_stats WHERE schemaname = current_schema()").fetchall()
    assert heard == []
    assert seen == []


def test_no_table_of_another_users_takes_the_place_of_one_that_policies_read(users: Users, anna: PostgresStore) -> None:
    anna.share("a", "w")
    with words(users.boris, "ullage.team=on") as connection:
        connection.execute(b"CREATE TEMP TABLE sharing AS SELECT ''::text AS owner, 'w'::text AS workspace LIMIT 0")
        connection.execute(f"INSERT INTO sharing VALUES ('{role_of(users.anna)}', 'w')".encode())
        schema = users.maker.rpartition("%3D")[2]
        assert connection.execute(f"SELECT * FROM {schema}.sessions".encode()).fetchall() == []


def test_an_id_that_another_user_has_taken_is_a_conflict(anna: PostgresStore, boris: PostgresStore) -> None:
    assert ids(anna) == ["a"]
    with pytest.raises(Conflict):
        boris.create("a", records(SessionCreated()))


def test_members_of_a_workspace_read_and_search_what_its_owner_shares(
    users: Users, anna: PostgresStore, boris: PostgresStore
) -> None:
    anna.create("private", records(SessionCreated(), message("p1", "walnut secret")))
    anna.share("a", "w")
    anna.set_members("w", [role_of(users.boris)])
    anna.search("walnut")
    with open_postgres(users.boris, is_team=True) as team:
        assert ids(team) == ["a"]
        assert team.read("a") == anna.read("a")
        assert team.open("a").snapshot == b"state"
        assert team.owner("a") == (role_of(users.anna), "w")
        # Both the first and the last chunk of the message.
        for query in ("walnut", "quince"):
            assert [hit.session_id for hit in team.search(query)] == ["a"]
        assert team.search("secret") == ()
    # What others share is not among one's own.
    assert ids(boris) == []
    assert boris.search("walnut") == ()
    anna.set_members("w", [])
    with open_postgres(users.boris, is_team=True) as team:
        assert ids(team) == []
        assert team.search("walnut") == ()


def test_a_search_of_what_is_shared_leaves_out_what_the_searcher_keeps(users: Users, boris: PostgresStore) -> None:
    for name, workspace in (("kept", None), ("nobody's", "v"), ("shared", "w")):
        boris.create(name, records(SessionCreated(), message(f"m_{name}", "The walnut and the medlar.")))
        boris.share(name, workspace)
    boris.set_members("w", [role_of(users.anna)])
    assert len(boris.search("walnut")) == 3
    with open_postgres(users.boris, is_team=True) as team:
        assert [hit.session_id for hit in team.search("walnut")] == ["shared"]


def test_a_word_that_a_member_mistypes_is_corrected_by_shared_words_alone(
    users: Users, anna: PostgresStore, boris: PostgresStore
) -> None:
    for name, workspace, word in (("s", "w", "persimmon"), ("t", "v", "mulberry"), ("u", None, "gooseberry")):
        anna.create(name, records(SessionCreated(), message(f"m_{name}", f"The {word}.")))
        anna.share(name, workspace)
    anna.set_members("w", [role_of(users.boris)])
    anna.set_members("v", [users.group])
    while anna.index_some():
        pass
    typos = ("persimon", "mulbery", "goosebery")
    with open_postgres(users.boris, is_team=True) as team:
        assert [[hit.session_id for hit in team.search(typo)] for typo in typos] == [["s"], ["t"], []]
        anna.set_members("w", [])
        assert [[hit.session_id for hit in team.search(typo)] for typo in typos] == [[], ["t"], []]
    assert [[hit.session_id for hit in anna.search(typo)] for typo in typos] == [["s"], ["t"], ["u"]]
    assert [boris.search(typo) for typo in typos] == [(), (), ()]
    # What a statement of the member's own sees.
    with words(users.boris, "ullage.team=on") as connection:
        seen = connection.execute(b"SELECT word FROM message_vocabulary WHERE word <> ''").fetchall()
    assert {word for (word,) in seen} == {"mulberr", "the"}


def test_a_member_changes_nothing_that_is_shared(users: Users, anna: PostgresStore) -> None:
    anna.share("a", "w")
    anna.set_members("w", [users.group])
    with anna.reading() as connection:
        assert connection.execute("SELECT workspace, member FROM sharing").fetchall() == [("w", users.group)]
    with open_postgres(users.boris, is_team=True) as team:
        assert ids(team) == ["a"]
        for change in (
            lambda: team.append("a", records(message("b"), start=2)),
            lambda: team.delete("a"),
            lambda: team.share("a", None),
        ):
            with pytest.raises(InvalidRequest, match="read only"):
                change()
    with words(users.boris, "ullage.team=on") as connection:
        assert connection.execute(b"UPDATE sessions SET owner = current_user").rowcount == 0
        assert connection.execute(b"DELETE FROM records").rowcount == 0
    assert len(anna.read("a")) == 2


def test_a_fork_is_shared_after_the_session_that_it_begins_with(anna: PostgresStore) -> None:
    anna.create("f", records(SessionForked(parent_id="a", position=1, title="t"), start=2))
    with pytest.raises(InvalidRequest, match="share that one first"):
        anna.share("f", "w")
    anna.share("a", "w")
    anna.share("f", "w")
    with pytest.raises(InvalidRequest, match="end that first"):
        anna.share("a", None)
    anna.share("f", None)
    anna.share("a", None)
    assert anna.owner("a")[1] is None


def test_a_user_without_rights_is_told_so(users: Users) -> None:
    stranger = f"stranger_{users.group}"
    users.server.execute(f"CREATE ROLE {stranger} LOGIN")
    with pytest.raises(StoreUnavailable, match="no schema that this role may use"):
        open_postgres(users.boris.replace(role_of(users.boris), stranger))
