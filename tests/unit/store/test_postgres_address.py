"""Addresses of stores in PostgreSQL."""

import pytest

from ullage.model.errors import InvalidRequest
from ullage.store.postgres.address import is_address, name_server, read_address


@pytest.mark.parametrize(
    "address", ["postgresql://me:hunter2@db.example/ullage", "postgresql://db.example/ullage?password=hunter2"]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(InvalidRequest, match="PGPASSWORD") as refused:
        read_address(address)
    assert "hunter2" not in str(refused.value)


def test_a_server_elsewhere_must_prove_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    read = read_address("postgresql://me@db.example:5433/ullage")
    assert read == "postgresql://me@db.example:5433/ullage?sslmode=verify-full&sslrootcert=system"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///ullage",
        "postgresql://localhost/ullage",
        "postgresql://127.0.0.1:5433/ullage",
        "postgresql:///ullage?host=%2Ftmp%2Fsocket",
        "postgresql://db.example/ullage?sslmode=require",
    ],
)
def test_a_server_on_this_machine_and_a_choice_of_the_users_are_left_alone(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert read_address(address) == address


def test_the_users_own_certificate_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    read = read_address("postgresql://db.example/ullage?sslrootcert=%2Fetc%2Fown.pem")
    assert read == "postgresql://db.example/ullage?sslrootcert=%2Fetc%2Fown.pem&sslmode=verify-full"


def test_the_environment_chooses_how_the_server_proves_who_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "require")
    assert read_address("postgresql://db.example/ullage") == "postgresql://db.example/ullage"


@pytest.mark.parametrize(
    ("place", "expected"),
    [("postgresql://a/b", True), ("postgres://a/b", True), ("/home/me/sessions.db", False), ("postgresql.db", False)],
)
def test_addresses_are_told_from_files(place: str, expected: bool) -> None:
    assert is_address(place) is expected


def test_a_message_names_the_host_and_the_database() -> None:
    assert name_server("postgresql://me@db.example:5433/ullage?sslmode=require") == "PostgreSQL at db.example/ullage"
    assert name_server("postgresql:///ullage") == "PostgreSQL at this machine/ullage"
