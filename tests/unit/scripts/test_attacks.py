"""A few attacks of `./scripts/chaos`, which makes more of them."""

import random
from pathlib import Path

import pytest

pytest.importorskip("resource", reason="Windows has no limits of processes")

from attacks.__main__ import ATTACKS
from attacks.attack import Ground
from attacks.disks import no_shared_memory, read_only_disk
from attacks.stores import full_disk

PAGE = Path(__file__).resolve().parents[3] / "docs" / "reliability.md"


def ground(folder: Path) -> Ground:
    return Ground(folder=folder, chance=random.Random(1))


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    outcome = full_disk(ground(tmp_path))
    assert outcome.faults == ()
    assert not outcome.survived.startswith("0 ")


def test_a_disk_that_is_read_only_or_without_shared_memory_loses_nothing_acknowledged(tmp_path: Path) -> None:
    for attack in (read_only_disk, no_shared_memory):
        folder = tmp_path / attack.__name__
        folder.mkdir()
        outcome = attack(ground(folder))
        assert outcome.faults == ()
        if not outcome.tried:
            pytest.skip(outcome.survived)


def test_the_page_says_of_every_attack_what_it_guards_against() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == [*ATTACKS]
