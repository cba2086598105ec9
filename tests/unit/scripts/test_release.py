"""A release names each channel that could not be built, and builds the others all the same."""

import sys
from pathlib import Path

import pytest

from releasing.__main__ import build_all, main
from releasing.project import Failed, Missing, attempt, read_project, run


def test_a_channel_that_fails_and_one_without_its_program_are_told_apart(tmp_path: Path) -> None:
    failed = attempt("A", lambda: run_all([sys.executable, "-c", "raise SystemExit('no such thing')"], tmp_path))
    missing = attempt("B", lambda: run_all(["no-such-program-of-a-release"], tmp_path))
    assert "no such thing" in failed.fault
    assert not failed.is_missing
    assert missing.fault == "there is no no-such-program-of-a-release"
    assert missing.is_missing


def test_a_program_that_succeeds_returns_what_it_printed(tmp_path: Path) -> None:
    assert run([sys.executable, "-c", "print('ready')"], tmp_path) == "ready\n"


def test_a_folder_with_files_is_refused_and_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.whl").write_bytes(b"old")
    assert main([str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["old.whl"]


def test_a_package_that_was_not_built_stops_what_is_made_of_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_package(*_: object) -> list[Path]:
        raise Failed("the build failed")

    def nothing(*_: object) -> list[Path]:
        raise Missing("there is no such program")

    monkeypatch.setattr("releasing.__main__.build_package", no_package)
    monkeypatch.setattr("releasing.__main__.build_extension", nothing)
    monkeypatch.setattr("releasing.__main__.check_generated", nothing)
    ended = {outcome.channel: outcome for outcome in build_all(read_project(), tmp_path)}
    assert ended["PyPI"].fault == "the build failed"
    assert ended["one program"].fault == "there is no wheel to make it of"
    assert ended["Neovim's plugin"].made
    assert ended["agent registry"].made


def run_all(words: list[str], cwd: Path) -> list[Path]:
    run(words, cwd)
    return []
