"""Keys in the system's keyring: found, looked for again, and stored."""

import sys
from collections.abc import Iterator
from pathlib import Path

import keyring
import keyring.backends.fail
import pytest

from support.file_keyring import FileKeyring, put_key
from ullage.model.settings import ProviderSettings
from ullage.providers import prerequisites
from ullage.providers.failures import Refusal, translate_refusal
from ullage.providers.prerequisites import find_key, forget_keys, keep_key, kept_key, key_source, keyring_fault

pytestmark = pytest.mark.usefixtures("a_keyring")
VARIABLE = "NOBODYS_KEY"
SERVER = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:9/v1", key_env=VARIABLE)


@pytest.fixture
def a_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A keyring of which nothing has been read yet."""
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "keyring.json"))
    monkeypatch.delenv(VARIABLE, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    forget_keys()
    yield
    keyring.set_keyring(before)
    forget_keys()


def test_a_key_that_another_program_stores_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(prerequisites.time, "monotonic", lambda: now[0])
    assert find_key(SERVER) is None
    put_key(VARIABLE, " a-key\n")
    # A burst of questions asks the keyring once.
    assert find_key(SERVER) is None
    now[0] += 3
    assert find_key(SERVER) == "a-key"
    assert key_source(SERVER) == f"key from the system's keyring (ullage, {VARIABLE})"


def test_a_key_that_was_refused_is_read_again() -> None:
    put_key(VARIABLE, "an-old-key")
    assert kept_key(VARIABLE) == "an-old-key"
    put_key(VARIABLE, "a-new-key")
    assert kept_key(VARIABLE) == "an-old-key"
    translate_refusal("nobody", Refusal(status=401))
    assert kept_key(VARIABLE) == "a-new-key"


def test_a_key_that_is_stored_here_is_used_at_once() -> None:
    assert kept_key(VARIABLE) == ""
    assert keyring_fault(VARIABLE) == ""
    assert keep_key(VARIABLE, "a-key") == ""
    assert kept_key(VARIABLE) == "a-key"
    forget_keys()
    assert kept_key(VARIABLE) == "a-key"


def test_without_a_keyring_it_is_said_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    assert kept_key(VARIABLE) == ""
    said = f"Set {VARIABLE} in the agent's environment instead."
    assert keyring_fault(VARIABLE).endswith(said)
    assert keep_key(VARIABLE, "a-key").endswith(said)
    monkeypatch.setattr(prerequisites, "find_spec", absent)
    forget_keys()
    assert kept_key(VARIABLE) == ""
    assert keyring_fault(VARIABLE).endswith(f"run `{sys.executable} -m pip install 'keyring>=25'`, or set {VARIABLE}.")


def absent(_: str) -> None:
    """Finds no package."""
