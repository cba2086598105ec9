"""What every channel says of Ullage, and how each one's build ended."""

import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ullage import __version__

ROOT = Path(__file__).resolve().parents[2]


class Project(NamedTuple):
    """The package's facts. `repository` has no slash at its end."""

    name: str
    version: str
    description: str
    license: str
    repository: str

    @property
    def archive(self) -> str:
        """The name of the source archive that a release publishes."""
        return f"{self.name}-{self.version}.tar.gz"


def read_project(root: Path = ROOT) -> Project:
    """Returns the facts of `pyproject.toml`, and the package's version."""
    stated = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return Project(
        name=stated["name"],
        version=__version__,
        description=stated["description"],
        license=stated["license"],
        repository=stated["urls"]["Repository"],
    )


# Seconds that one program may take: npm's build of the extension is the longest, with a minute on a quiet machine.
_PATIENCE = 900.0


class Missing(Exception):
    """A program that a channel needs is not on this machine. The message says which, and how to get it."""


class Failed(Exception):
    """A channel cannot be published as it is. The message says why."""


class Outcome(NamedTuple):
    """How one channel ended: `made` are its files; `fault` says why there are none, and `is_missing` that this is so
    only because of a missing program."""

    channel: str
    made: tuple[Path, ...] = ()
    fault: str = ""
    is_missing: bool = False


def attempt(channel: str, build: Callable[[], Sequence[Path]]) -> Outcome:
    """Builds one channel, so that one that fails does not hide the others."""
    try:
        return Outcome(channel, tuple(build()))
    except Missing as missing:
        return Outcome(channel, fault=str(missing), is_missing=True)
    except Failed as failed:
        return Outcome(channel, fault=str(failed))


def run(words: Sequence[str | Path], cwd: Path, environment: Mapping[str, str] | None = None) -> str:
    """Runs a program and returns what it printed. Raises `Missing` if it does not exist, and `Failed` with the end of
    its output if it fails or takes too long."""
    line = [str(word) for word in words]
    try:
        done = subprocess.run(
            line,
            cwd=cwd,
            env=None if environment is None else dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
    except FileNotFoundError as missing:
        raise Missing(f"there is no {line[0]}") from missing
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{' '.join(line)} took longer than {_PATIENCE:.0f} s") from late
    if done.returncode:
        raise Failed(f"{' '.join(line)} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
