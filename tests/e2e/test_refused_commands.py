"""Commands that end with an error leave every stored session as it was."""

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from support.command_line import SAMPLE, ullage
from support.faults import Held
from ullage.cli.command_line import COMMANDS
from ullage.store.sqlite.sqlite_store import open_store

Wrong = Callable[[str, Path], Sequence[str | Path]]


def _with(*arguments: str) -> Wrong:
    """Returns how a command is called for a session."""
    return lambda session, _: (session, *arguments)


def _file(name: str, data: bytes) -> Wrong:
    """Returns how a command is called for a file with this content."""

    def given(_: str, folder: Path) -> Sequence[str | Path]:
        (folder / name).write_bytes(data)
        return (folder / name,)

    return given


def _unwritable(session: str, folder: Path) -> Sequence[str | Path]:
    return (session, "--output", folder / "none" / "report.json")


# The commands that change a stored session, with what each refuses.
_FORGET: Sequence[Wrong] = (
    _with("s_none", "--yes"),
    _with(),
    _with("--older-than", "0", "--yes"),
    lambda _session, _folder: ("--yes",),
)
CHANGING: dict[str, Sequence[Wrong]] = {
    "compact": (
        *(_with("--budget", budget) for budget in ("1", "3", "0", "-5", "many")),
        _with("--budget", "300", "--from", "2"),
        _with("--from", "9000"),
        _with("--from", "9", "--up-to", "2"),
        _with("--provider", "none"),
        _unwritable,
        lambda _session, _folder: ("s_none",),
    ),
    "undo": (_with("e_none"), _with("e_none", "--dry-run"), lambda _session, _folder: ("s_none",)),
    "import": (
        _file("empty.jsonl", b""),
        _file("torn.json", b'[{"role":"user","content":"Rename'),
        _file("noise.jsonl", bytes(range(256)) * 40),
        lambda _session, _folder: (SAMPLE, "--format", "none"),
        lambda _, folder: (folder / "none.jsonl",),
    ),
    "forget": _FORGET,
    "store": (
        lambda _, folder: ("copy", folder / "none.db", folder / "sessions.db"),
        lambda _, folder: ("copy", folder / "sessions.db", folder / "sessions.db"),
    ),
}
# What the others do with sessions. `continue` and `demo` work on copies of their own.
_READS = {
    *("here", "context", "cost", "messages", "search", "export", "lost", "team"),
    *("continue", "demo", "keep", "doctor", "schema", "completion", "man", "help", "wire", "unwire"),
    "statusline",
}
# Servers and what follows agents: their methods have tables of their own, and what an agent has written is a fact.
_SERVE = {"lsp", "acp", "mcp", "watch", "hook"}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store with the sample, compacted once."""
    path = tmp_path / "sessions.db"
    session = ullage("import", SAMPLE, "--store", path, "--json").json["session_id"]
    assert ullage("compact", session, "--store", path).status == 0
    return path


def held(path: Path) -> Held:
    """Returns what the store in this file holds."""
    with closing(open_store(path)) as opened:
        return Held.by(opened)


def test_every_command_is_in_the_table() -> None:
    assert {command.name for command in COMMANDS} == {*CHANGING, *_READS, *_SERVE}


@pytest.mark.parametrize("name", CHANGING)
def test_a_refused_command_leaves_the_store_as_it_was(name: str, store: Path, tmp_path: Path) -> None:
    before = held(store)
    (session,) = before.logs
    for wrong in CHANGING[name]:
        options = () if name == "store" else ("--store", store)
        ran = ullage(name, *wrong(session, tmp_path), *options)
        assert (ran.status, "Traceback" in ran.err) == (2, False), ran
        assert held(store) == before, ran


def test_a_store_that_takes_no_record_is_left_as_it_was_by_every_command(store: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(store)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(ABORT, 'no room for a record'); END"
        )
        connection.commit()
    (tmp_path / "chat.json").write_text('[{"role":"user","content":"Rename the flag."}]')
    before = held(store)
    (session,) = before.logs
    for command in (["compact", session, "--budget", "2000"], ["undo", session], ["import", tmp_path / "chat.json"]):
        ran = ullage(*command, "--store", store)
        assert ran.status != 0, ran
        assert held(store) == before, ran
