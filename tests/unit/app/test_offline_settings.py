"""The copy of a store on a server: its settings, from an editor or the environment, and what off means."""

from pathlib import Path

import pytest

from support.logs import conversation, message, records
from support.postgres_server import PostgresServer, needs_postgres
from ullage.app.compose import offline_settings
from ullage.model.errors import InvalidRequest
from ullage.model.settings import OfflineSettings
from ullage.store.offline.local_copy import open_copy
from ullage.store.store_place import offline_path, open_sessions_at

OFF = OfflineSettings(enabled=False)


def test_the_environment_is_before_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    given = OfflineSettings(limit=2.0)
    monkeypatch.delenv("ULLAGE_OFFLINE", raising=False)
    assert offline_settings(given) == given
    monkeypatch.setenv("ULLAGE_OFFLINE", "off")
    assert not offline_settings(given).enabled
    monkeypatch.setenv("ULLAGE_OFFLINE", "0.25")
    assert offline_settings(OFF).most_bytes == 250_000_000
    for wrong in ("yes", "0", "-1", "nan"):
        monkeypatch.setenv("ULLAGE_OFFLINE", wrong)
        with pytest.raises(InvalidRequest, match="gigabytes"):
            offline_settings(given)


@needs_postgres
def test_off_makes_no_copy_and_sends_what_an_older_one_has(
    postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    address = postgres_server.new_schema()
    path = offline_path(address)
    with open_sessions_at(address, offline=OFF) as store:
        store.create("s", conversation("one"))
    assert not path.exists()
    with open_sessions_at(address) as store:
        store.open("s")
    assert path.exists()
    with open_copy(path) as local:
        local.create_unsent("mine", conversation("two"))
    with open_sessions_at(address, offline=OFF) as store:
        assert [info.session_id for info in store.list()].count("mine") == 1
    # Nothing is left to send, so the copy stays as it is.
    with open_sessions_at(address, offline=OFF) as store:
        store.append("mine", records(message("m9"), start=2))
    with open_copy(path) as local:
        assert len(local.copied_records("mine", -1, 99)) == 2
