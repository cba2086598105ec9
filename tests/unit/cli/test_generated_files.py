"""The completions and the manual page are made from the table of arguments, and are as committed."""

import shutil
import subprocess
from pathlib import Path

import pytest

import gen_cli
from ullage.cli.command_line import COMMANDS

FILES = gen_cli.outputs()


@pytest.mark.parametrize("path", list(FILES), ids=lambda path: path.name)
def test_a_generated_file_is_as_committed(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path], "run scripts/gen_cli.py"


def test_the_manual_has_every_command_and_the_exit_statuses() -> None:
    page = FILES[gen_cli.DATA / "ullage.1"]
    assert all(f"ullage {command.name}\\fR" in page for command in COMMANDS)
    assert ".SH EXIT STATUS" in page


@pytest.mark.parametrize("shell", gen_cli.SHELLS)
def test_the_shell_accepts_its_completions(shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    checked = subprocess.run(
        [shell, "-n", gen_cli.DATA / f"ullage.{shell}"], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_bash_completes_commands() -> None:
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    script = """source "$1"; COMP_WORDS=(ullage mess); COMP_CWORD=1; _shtab_ullage; printf %s "${COMPREPLY[*]}" """
    done = subprocess.run(
        ["bash", "-c", script, "bash", gen_cli.DATA / "ullage.bash"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "messages"
