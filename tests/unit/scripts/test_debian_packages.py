"""The scripts install Debian packages only on request."""

import os
import subprocess
from pathlib import Path

import pytest

from support.systems import needs_linux

pytestmark = needs_linux
ROOT = Path(__file__).resolve().parents[3]
# A machine with root rights and without `luacheck`, whose apt-get records its arguments.
_PROGRAMS = {"apt-get": 'echo "$@" >>"$CALLS"', "id": "echo 0"}


def run(
    tmp_path: Path, command: str, programs: dict[str, str] = _PROGRAMS, **env: str
) -> tuple[subprocess.CompletedProcess[str], str]:
    """Returns the result of a command after the rigs' library was sourced, and the calls of apt-get."""
    for name, body in programs.items():
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
    calls = tmp_path / "calls"
    calls.touch()
    outer = {name: value for name, value in os.environ.items() if name != "ULLAGE_APT"}
    ran = subprocess.run(
        ["bash", "-c", f"source scripts/rigs/lib.sh; {command}"],
        cwd=ROOT,
        env={**outer, "PATH": f"{tmp_path}:{outer['PATH']}", "CALLS": str(calls), **env},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return ran, calls.read_text()


@pytest.mark.parametrize("command", ["need_apt no-such-program a-package", "need_debian why a-package"])
def test_unasked_nothing_is_installed_and_the_remedy_is_named(command: str, tmp_path: Path) -> None:
    ran, calls = run(tmp_path, command)
    assert ran.returncode == 1
    assert calls == ""
    assert "apt-get install --no-install-recommends a-package" in ran.stderr
    assert "ULLAGE_APT=1" in ran.stderr


def test_asked_it_says_what_it_installs_and_installs_it(tmp_path: Path) -> None:
    ran, calls = run(tmp_path, "need_apt no-such-program a-package another", ULLAGE_APT="1")
    assert ran.returncode == 0
    assert calls.splitlines()[-1].endswith("install -y -qq --no-install-recommends a-package another")
    assert "a-package another" in ran.stderr


def test_scripts_take_turns_and_what_a_package_starts_does_not_keep_the_turn(tmp_path: Path) -> None:
    looks = (
        "flock -n scripts/lib.sh true && echo free >>$CALLS; ls -l /proc/self/fd | grep lib.sh >>$CALLS; echo >>$CALLS"
    )
    ran, calls = run(tmp_path, "need_debian why a-package", {**_PROGRAMS, "apt-get": looks}, ULLAGE_APT="1")
    assert (ran.returncode, calls) == (0, "\n\n")


def test_a_program_that_is_there_needs_no_package(tmp_path: Path) -> None:
    ran, calls = run(tmp_path, "need_apt bash a-package", ULLAGE_APT="1")
    assert (ran.returncode, calls) == (0, "")


@pytest.mark.parametrize("script", ["check", "test"])
def test_only_the_flag_that_gets_the_tools_asks(script: str) -> None:
    text = (ROOT / "scripts" / script).read_text()
    setting = next(line for line in text.splitlines() if "export ULLAGE_APT=1" in line)
    assert "--all" in setting
    assert text.index(setting) < text.index("prepare dev")
    others = [path for path in (ROOT / "scripts").rglob("*") if path.is_file() and path.suffix in ("", ".sh")]
    setters = {path.name for path in others if "export ULLAGE_APT" in path.read_text()}
    assert setters == {"check", "test"}
