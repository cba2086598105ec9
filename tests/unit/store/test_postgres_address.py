"""Addresses of stores in PostgreSQL."""

import pytest

from ullage.model.errors import InvalidRequest
from ullage.model.store_address import is_address
from ullage.store.postgres.server import name_server, read_address


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


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://localhost:5432,db.example:5433/ullage",
        "postgresql:///ullage?host=db.example",
        "postgresql://localhost/ullage?hostaddr=192.0.2.1",
        "postgresql://[2001:db8::1]:5432/ullage",
    ],
)
def test_no_server_elsewhere_is_reached_beside_one_that_is_here(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    assert "sslmode=verify-full" in read_address(address)


@pytest.mark.parametrize("variable", ["PGHOST", "PGHOSTADDR"])
def test_a_server_that_the_environment_names_must_prove_who_it_is(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGSSLMODE", raising=False)
    monkeypatch.setenv(variable, "192.0.2.1")
    assert "sslmode=verify-full" in read_address("postgresql:///ullage")


def test_an_address_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(InvalidRequest, match="HOST"):
        read_address("postgresql://[::1/ullage")


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
