"""A keyring in a file, for the tests: the file is named by the variable FILE_KEYRING."""

import json
import os
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend

BACKEND = "support.file_keyring.FileKeyring"


class FileKeyring(KeyringBackend):
    """Keeps passwords in a file, where every process sees them at once."""

    # Below that of the keyring for systems without one, so that only who asks for this one gets it.
    priority = -1.0  # pyright: ignore[reportAssignmentType,reportIncompatibleMethodOverride]  (a property of the class)

    def get_password(self, service: str, username: str) -> str | None:
        return self._read().get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        _file().write_text(json.dumps({**self._read(), f"{service} {username}": password}))

    def _read(self) -> dict[str, str]:
        return json.loads(_file().read_text()) if _file().exists() else {}


def _file() -> Path:
    return Path(os.environ["FILE_KEYRING"])


def put_key(variable: str, key: str) -> None:
    """Stores a key as another program does."""
    store: Any = FileKeyring()
    store.set_password("ullage", variable, key)
