"""A notification is one line, given to the system's program as it is."""

import os
import sys
from pathlib import Path

import pytest

from ullage.cli.commands.doctor import desktop_checks
from ullage.model.settings import Notices
from ullage.system.desktop import notifier, notify, shows

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the program is a shell script here")


def program(folder: Path, script: str) -> None:
    place = folder / notifier()
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


def test_the_text_is_one_argument_whatever_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    program(tmp_path, f'for word in "$@"; do printf "%s\\n" "$word"; done > "{tmp_path}/said"')
    assert notify('--urgency=critical "; $(date)\n\x1b[31m' + "x" * 500)
    words = (tmp_path / "said").read_text().splitlines()
    assert words[-2] == "Ullage"
    assert words[-1].startswith('--urgency=critical "; $(date) [31mxxx')
    assert len(words[-1]) == 300
    # What begins as an option does is none.
    assert sys.platform == "darwin" or words[-3] == "--"


@pytest.mark.parametrize("script", [None, "exit 1"], ids=["missing", "fails"])
def test_a_program_that_is_missing_or_fails_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    if script:
        program(tmp_path, script)
    # Without the program it is an editor that tells.
    assert [shows(notices) for notices in (Notices.ON, Notices.OFF, Notices.DESKTOP)] == [False, False, bool(script)]
    assert not notify("It has passed your own limit.")


def test_doctor_names_the_missing_program_to_those_who_want_notices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ULLAGE_NOTICES", raising=False)
    assert [*desktop_checks()] == []
    monkeypatch.setenv("ULLAGE_NOTICES", "desktop")
    (check,) = desktop_checks()
    assert check.remedy.startswith(f"install {notifier()}")
    program(tmp_path, "exit 0")
    (check,) = desktop_checks()
    assert (check.found, check.remedy) == (f"{notifier()} shows notices", "")
