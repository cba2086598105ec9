"""Installing on bare systems: what it prints, and what it says where it cannot be done."""

import os
from pathlib import Path

import pytest

from fresh_systems.__main__ import line, main
from fresh_systems.installations import SYSTEMS, WAYS, Tried, Way, figure_in, files_of
from fresh_systems.machine import missing
from support.systems import needs_linux

TRIED = Tried("Debian trixie, Python 3.13", "the wheel by pip")


@needs_linux
def test_without_root_nothing_is_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main([str(tmp_path)]) == 2
    assert "only root" in capsys.readouterr().err


@needs_linux
def test_a_missing_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing() == "there is no debootstrap (Debian: debootstrap util-linux)"


def test_a_row_has_both_times_and_the_figure_and_a_failed_one_its_fault() -> None:
    row = line(TRIED._replace(install=12.34, first=1.26, figure="15%"))
    assert row == "| Debian trixie, Python 3.13 | the wheel by pip | 12.3 s | 1.3 s | 15% |"
    assert line(TRIED._replace(fault="pip failed")).splitlines()[1:] == ["pip failed"]


@pytest.mark.parametrize(
    ("shown", "figure"),
    [
        ("│ ▓▓▓░░░░░░░░░░┊░░░  15%  │", "15%"),
        ("| [###..........|..]  15%  |", "15%"),
        ("conversation.jsonl   ctx ~19% of 200K", "19%"),
        ("Error: no such file", None),
        ("0 tokens", None),
    ],
)
def test_the_figure_is_found_in_what_the_program_shows(shown: str, figure: str | None) -> None:
    assert figure_in(shown) == figure


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
def test_each_way_is_for_known_systems_and_takes_its_files_from_the_release(way: Way) -> None:
    assert {*way.suites} <= {*SYSTEMS}
    assert "/release/" in way.install


def test_the_folder_of_neovims_plugin_is_not_put_on_a_system_as_a_file(tmp_path: Path) -> None:
    names = ("ullage-0.1.0-py3-none-any.whl", "ullage.nvim-0.1.0.tar.gz")
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "ullage.nvim").mkdir()
    way = next(one for one in WAYS if one.name.startswith("Neovim"))
    assert [file.name for file in files_of(way, tmp_path)] == [*names]
