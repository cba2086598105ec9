"""The state bench shares nothing with Ullage: what it measures is defined apart from what is measured.

`scripts/benches/state*.py` run Ullage from outside and import none of it, nor any other bench's definitions; of the
benches' common code they take the table that they print. The product imports nothing of `scripts/`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from structure import imports_of

ROOT = Path(__file__).resolve().parents[2]
RULER = sorted((ROOT / "scripts" / "benches").glob("state*.py"))
PRODUCT = sorted((ROOT / "server").rglob("*.py"))
TABLE = "benches.report"
OF_SCRIPTS = {path.stem for path in (ROOT / "scripts").iterdir() if path.is_dir() or path.suffix == ".py"}


def imported(path: Path) -> Iterator[str]:
    for each in imports_of(path):
        if each.names() == ["benches"]:
            # `from benches import state_page` imports a module, too.
            yield from (f"benches.{alias.name}" for alias in each.node.names)
        else:
            yield from each.names()


def test_there_is_a_ruler() -> None:
    assert len(RULER) > 1


@pytest.mark.parametrize("path", RULER, ids=lambda path: path.name)
def test_the_ruler_imports_nothing_of_what_it_measures(path: Path) -> None:
    assert [name for name in imported(path) if name.split(".")[0] == "ullage"] == []


@pytest.mark.parametrize("path", RULER, ids=lambda path: path.name)
def test_the_ruler_imports_no_other_bench(path: Path) -> None:
    benches = {name for name in imported(path) if name.split(".")[0] == "benches"}
    assert {name for name in benches if name != TABLE and not name.startswith("benches.state")} == set()


def test_the_product_imports_nothing_of_scripts() -> None:
    own = {name for path in PRODUCT for name in imported(path) if name.split(".")[0] in OF_SCRIPTS}
    assert own == set()
