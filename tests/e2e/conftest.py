"""What keeps tests of whole programs apart, so that they may run at the same time."""

from pathlib import Path

import pytest

# Where `platformdirs` looks for the user's folders on Linux.
_FOLDERS = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME")


@pytest.fixture(autouse=True)
def own_user_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives each test, and the programs that it starts, user folders of its own: an empty store and no settings."""
    folder = tmp_path_factory.mktemp("user")
    for name in _FOLDERS:
        monkeypatch.setenv(name, str(folder / name))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder that an agent works in, in the home folder `tmp_path`."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder
