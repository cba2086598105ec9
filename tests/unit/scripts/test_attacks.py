"""A few attacks of `./scripts/chaos`, which makes more of them."""

import random
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="Windows has no limits of processes")

from attacks.appending import full_disk
from attacks.attack import Ground
from attacks.doors import hostile_folder


def ground(folder: Path) -> Ground:
    return Ground(folder=folder, chance=random.Random(1), is_long=False)


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    outcome = full_disk(ground(tmp_path))
    assert outcome.faults == ()
    assert not outcome.survived.startswith("0 ")


def test_a_hostile_folder_stops_no_tool(tmp_path: Path) -> None:
    assert hostile_folder(ground(tmp_path)).faults == ()
