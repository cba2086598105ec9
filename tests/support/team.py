"""Two users of a team: each with a home, a store and a role of one real server."""

from pathlib import Path

from msgspec import Struct

from support.postgres_server import PostgresServer
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.message import Message, Role, TextBlock
from ullage.store import open_store
from ullage.store.postgres.postgres_store import open_postgres

_GRANTS = (
    "GRANT USAGE ON SCHEMA {schema} TO {role}",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO {role}",
    "GRANT USAGE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}",
)


class Member(Struct, frozen=True, kw_only=True):
    """A user with a home, a role of the database and the address by which the role reaches the team's archive."""

    role: str
    archive: str
    env: dict[str, str]
    store: Path

    def keep(self, session_id: str, cwd: str, *messages: Message, title: str = "") -> None:
        """Puts a session into the user's own store."""
        events = (SessionCreated(cwd=cwd, title=title), *(MessageAppended(message=message) for message in messages))
        with open_store(self.store) as store:
            store.create(session_id, [Record(position=at, timestamp=at, event=one) for at, one in enumerate(events)])


class Team(Struct, frozen=True, kw_only=True):
    """Two users of one server, and the schema with their archive."""

    server: PostgresServer
    schema: str
    anna: Member
    boris: Member

    def everything(self) -> str:
        """Returns all rows of all tables of the archive, as text."""
        import psycopg  # noqa: PLC0415

        with psycopg.connect(self.server.address(self.schema), autocommit=True) as connection:
            tables = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()"
            ).fetchall()
            # `encode` shows the bytes of payloads as they are.
            rows = [connection.execute(f"SELECT t::text FROM {name} t".encode()).fetchall() for (name,) in tables]
            loads = connection.execute("SELECT encode(payload, 'escape') FROM records").fetchall()
        return "\n".join(str(row) for found in (*rows, loads) for row in found)

    def function_calls(self, role: str) -> int:
        """Returns how often a role has called functions of the archive, since it is counted: from the first call of
        this on. What a connection calls is counted soon after its end."""
        import psycopg  # noqa: PLC0415

        self.server.execute(f"ALTER ROLE {role} SET track_functions = 'all'")
        with psycopg.connect(self.server.address(self.schema), autocommit=True) as connection:
            found = connection.execute(
                "SELECT coalesce(sum(calls), 0)::bigint FROM pg_stat_user_functions WHERE schemaname = current_schema()"
            ).fetchone()
        assert found is not None
        return found[0]


def make_team(server: PostgresServer, folder: Path, *, plain: bool = False) -> Team:
    """Makes the archive in a new schema, and two users with homes in a folder. A server's only team may have plain
    names, `anna` and `boris`."""
    maker = server.new_schema()
    schema = maker.rpartition("%3D")[2]
    open_postgres(maker).close()
    roles = {name: name if plain else f"{name}_{schema}" for name in ("anna", "boris")}
    server.execute(
        *(f"CREATE ROLE {role} LOGIN" for role in roles.values()),
        *(grant.format(schema=schema, role=role) for role in roles.values() for grant in _GRANTS),
    )

    def member(name: str) -> Member:
        home = folder / name
        home.mkdir()
        env = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "ULLAGE_STORE": "", "ULLAGE_TEAM": ""}
        archive = server.address(schema, roles[name])
        return Member(role=roles[name], archive=archive, env=env, store=home / "data" / "ullage" / "sessions.db")

    return Team(server=server, schema=schema, anna=member("anna"), boris=member("boris"))


def said(message_id: str, text: str, role: Role = Role.USER) -> Message:
    """Returns a message of text."""
    return Message(id=message_id, role=role, content=(TextBlock(text=text),))
