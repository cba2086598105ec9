"""A PostgreSQL server of its own for tests: on a socket in a temporary folder, made and ended by the tests."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from msgspec import Struct

_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/pgsql/bin")
# Seconds for a server to start or stop on a busy machine.
_PATIENCE = 120


class PostgresServer(Struct, frozen=True, kw_only=True):
    """A running server. `folder` contains its socket and its data."""

    programs: Path
    folder: Path
    user: str

    def address(self, schema: str = "public", role: str = "") -> str:
        """Returns the address of a schema, for a role, by default the server's superuser."""
        role = role or self.user
        return f"postgresql:///postgres?host={self.folder}&user={role}&options=-csearch_path%3D{schema}"

    def new_schema(self) -> str:
        """Makes an empty schema and returns its address, for a role that owns the schema and is no superuser."""
        schema, role = f"s{uuid4().hex}", f"r{uuid4().hex}"
        self.execute(f"CREATE ROLE {role} LOGIN", f"CREATE SCHEMA {schema} AUTHORIZATION {role}")
        return self.address(schema, role)

    def execute(self, *statements: str) -> None:
        """Runs statements as the superuser."""
        # Tests that need no server must not import its package.
        import psycopg  # noqa: PLC0415

        with psycopg.connect(self.address(), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement.encode())

    def run(self, program: str, *arguments: str) -> None:
        """Runs one of PostgreSQL's programs as the server's user."""
        run_as(self.user, self.programs / program, *arguments)

    def start(self, *settings: str) -> None:
        """Starts the server with settings like `fsync=on`, and waits until it answers."""
        options = " ".join(f"-c {setting}" for setting in (f"unix_socket_directories={self.folder}", *settings))
        log, data = self.folder / "log", self.folder / "data"
        self.run("pg_ctl", "-D", str(data), "-w", "-t", str(_PATIENCE), "-l", str(log), "-o", options, "start")

    def add_replica(self) -> "PostgresServer":
        """Makes and starts a replica, which follows this server until it is promoted. It is ended with this server's
        folder, or by `stop`."""
        folder = self.folder / "replica"
        options = ("-h", str(self.folder), "-U", self.user, "-D", str(folder / "data"), "-R", "-X", "stream")
        # Else it waits for the next checkpoint, and for the disk. Nothing here has to survive a power cut.
        self.run("pg_basebackup", *options, "--checkpoint=fast", "--no-sync")
        replica = PostgresServer(programs=self.programs, folder=folder, user=self.user)
        replica.start("listen_addresses=")
        return replica

    def promote(self) -> None:
        """Makes a replica the primary server."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", str(_PATIENCE), "promote")

    def stop(self, mode: str = "fast") -> None:
        """Stops the server: `fast`, or `immediate` as after a crash."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", str(_PATIENCE), "-m", mode, "stop")

    @contextmanager
    def stopped_processes(self) -> Generator[None]:
        """Stops all of the server's processes in the block, as if its machine hung."""
        parent = (self.folder / "data" / "postmaster.pid").read_text().split()[0]
        listed = subprocess.run(["ps", "-o", "pid=", "--ppid", parent], capture_output=True, text=True, check=True)
        processes = [int(parent), *map(int, listed.stdout.split())]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)


def programs() -> Path | None:
    """Returns the folder of PostgreSQL's newest programs on this machine, or None if there are none."""
    on_path = shutil.which("initdb")
    found = [Path(on_path).resolve().parent] if on_path else []
    found += [path for place in _PLACES for path in sorted(Path("/").glob(place[1:]), reverse=True)]
    return next((path for path in found if (path / "initdb").exists() and (path / "pg_ctl").exists()), None)


needs_postgres = pytest.mark.skipif(
    sys.platform == "win32" or programs() is None, reason="PostgreSQL's server is not installed"
)


def run_as(user: str, *command: str | Path) -> None:
    """Runs a command as a user: PostgreSQL's server refuses to run as root. Raises `CalledProcessError`."""
    # A server that stays would hold a pipe open.
    run = partial(subprocess.run, command, cwd="/", check=True, stdin=subprocess.DEVNULL, timeout=2 * _PATIENCE)
    run = partial(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if os.geteuid():
        run()
    else:
        run(user=user, group=user, extra_groups=[])


@contextmanager
def running_server(*settings: str) -> Generator[PostgresServer]:
    """Makes a server and starts it; ends it and deletes its data after the block, or when this process is killed."""
    found = programs()
    assert found is not None
    # A socket's path is limited to about 100 bytes, so the folder is not pytest's.
    folder = Path(tempfile.mkdtemp(prefix="ullage-pg-"))
    user = "postgres" if os.geteuid() == 0 else os.environ.get("USER", "postgres")
    with _ended_with_us(found, folder, user):
        if os.geteuid() == 0:
            shutil.chown(folder, user, user)
        server = PostgresServer(programs=found, folder=folder, user=user)
        form = ("--locale=C.UTF-8", "--encoding=UTF8", "--auth=trust", f"--username={user}", "--no-sync")
        server.run("initdb", "-D", str(folder / "data"), *form)
        server.start("listen_addresses=", *settings)
        yield server


# The server runs apart from the process that started it. So a shell waits until its input ends, which it does with the
# block, and when the process of the tests dies in whatever way. It is no child of that process, because some tests
# count these.
_AT_THE_END = f"""
exec 3<&0
(read -r _; "$1" -D "$2/data" -w -t {_PATIENCE} -m immediate stop >&2; rm -rf "$2") <&3 &
"""


@contextmanager
def _ended_with_us(found: Path, folder: Path, user: str) -> Generator[None]:
    command = ["/bin/sh", "-c", _AT_THE_END, "sh", found / "pg_ctl", folder]
    # Its own session: a signal to the tests' whole group must not end it first.
    start = partial(subprocess.Popen, command, cwd="/", stdin=subprocess.PIPE, start_new_session=True)
    start = partial(start, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    shell = start() if os.geteuid() else start(user=user, group=user, extra_groups=[])
    shell.wait(_PATIENCE)
    try:
        yield
    finally:
        # Its output ends when it has done all that.
        shell.communicate(timeout=2 * _PATIENCE)
