"""What every channel says of Ullage."""

import tomllib
from pathlib import Path
from typing import NamedTuple

from ullage import __version__

ROOT = Path(__file__).resolve().parents[2]


class Project(NamedTuple):
    """The package's facts. `dependencies` are requirements as PEP 508 writes them, those of the core alone; `python` is
    the range of Python's versions; `repository` has no slash at its end."""

    name: str
    version: str
    description: str
    license: str
    repository: str
    python: str
    dependencies: tuple[str, ...]

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
        python=stated["requires-python"],
        dependencies=tuple(stated["dependencies"]),
    )
