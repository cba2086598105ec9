"""TLS with a real server and certificates of the tests: which servers are believed, and what is said of the others."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Never

import pytest
from msgspec import Struct

from support.postgres_server import needs_postgres, running_server
from ullage.model.errors import StoreUnavailable
from ullage.store.postgres.postgres_store import open_postgres, read_facts

pytestmark = needs_postgres
NAME = "db.example.test"


class SecureServer(Struct, frozen=True, kw_only=True):
    """A server with TLS on a port of this machine, as `NAME`, with the certificate of its issuer."""

    port: int
    issuer: Path

    def address(self, host: str = NAME, **options: str) -> str:
        """Returns an address of it as if it were on another machine."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"postgresql://{host}:{self.port}/postgres?hostaddr=127.0.0.1&user=tls{more}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with an issuer's certificate and a server's, signed by the issuer, each with its key."""
    folder = tmp_path_factory.mktemp("certificates")
    if shutil.which("openssl"):
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        issuer = [*make, "-keyout", "issuer.key", "-out", "issuer.pem", "-subj", "/CN=An issuer of tests", "-days", "2"]
        server = [*make, "-keyout", "server.key", "-out", "server.pem", "-subj", f"/CN={NAME}", "-days", "2"]
        server += ["-CA", "issuer.pem", "-CAkey", "issuer.key", "-addext", f"subjectAltName=DNS:{NAME}"]
        server += ["-addext", "basicConstraints=critical,CA:FALSE"]
        for command in (issuer, server):
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def running(certificates: Path, port: int) -> Iterator[SecureServer | None]:
    if not (certificates / "server.pem").exists():
        yield None
        return
    with running_server("fsync=off") as server:
        for name in ("server.pem", "server.key"):
            shutil.copyfile(certificates / name, server.folder / name)
            (server.folder / name).chmod(0o600)
            if os.geteuid() == 0:
                shutil.chown(server.folder / name, server.user)
        server.execute("CREATE ROLE tls LOGIN", "GRANT CREATE ON SCHEMA public TO tls")
        server.stop()
        files = (f"ssl_cert_file={server.folder}/server.pem", f"ssl_key_file={server.folder}/server.key")
        server.start("listen_addresses=127.0.0.1", f"port={port}", "ssl=on", *files, "fsync=off")
        yield SecureServer(port=port, issuer=certificates / "issuer.pem")


@pytest.fixture
def secure(running: SecureServer | None, lacking: Callable[[str], Never]) -> SecureServer:
    return running or lacking("openssl")


def test_a_server_with_a_certificate_that_this_machine_trusts_is_used(secure: SecureServer) -> None:
    address = secure.address(sslrootcert=str(secure.issuer))
    with open_postgres(address) as store:
        assert store.list() == ()
    assert read_facts(address).security == "TLSv1.3, its certificate is checked"


def test_a_server_with_an_unknown_certificate_is_refused_in_words(secure: SecureServer) -> None:
    with pytest.raises(StoreUnavailable, match=rf"PostgreSQL at {NAME}/postgres can't be reached .*certificate verify"):
        open_postgres(secure.address())


def test_a_server_with_the_certificate_of_another_is_refused_in_words(secure: SecureServer) -> None:
    with pytest.raises(StoreUnavailable, match=rf'certificate for "{NAME}" .*does not match host name "other.example"'):
        open_postgres(secure.address("other.example", sslrootcert=str(secure.issuer)))


def test_an_address_may_ask_for_encryption_alone(secure: SecureServer) -> None:
    address = secure.address(sslmode="require")
    with open_postgres(address) as store:
        assert store.list() == ()
    assert read_facts(address).security == "TLSv1.3, its certificate is not checked"
