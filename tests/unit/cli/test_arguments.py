"""The command line's arguments, and which modules parsing them imports."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ullage import __version__
from ullage.cli.arguments import COMMANDS, build_parser
from ullage.cli.main import main

# Modules that serving and `--help` must not import: drawing, the tokenizer, the store.
_HEAVY = "import sys; print(sorted({'rich', 'tiktoken', 'sqlite3'} & sys.modules.keys()), file=sys.stderr)"


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        encoding="utf-8",
        timeout=60,
        check=False,
        # Coverage imports the database itself.
        env={name: value for name, value in os.environ.items() if not name.startswith("COV")},
    )


def test_serving_imports_neither_drawing_nor_tokenizer_nor_store(tmp_path: Path) -> None:
    served = f"from ullage.cli.main import main; main(sys.argv[1:]); {_HEAVY}"
    ran = run_python(f"import sys; {served}", "lsp", "--store", str(tmp_path / "sessions.db"))
    assert ran.stderr.splitlines()[-1] == "[]"


def test_help_imports_nothing_heavy() -> None:
    asked = f"from ullage.cli.arguments import build_parser; build_parser().format_help(); {_HEAVY}"
    assert run_python(asked).stderr == "[]\n"


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args([name, "--help"])
    assert ended.value.code == 0
    assert f"ullage {name}" in capsys.readouterr().out


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"ullage {__version__}\n"


@pytest.mark.parametrize(("text", "tokens"), [("8000", 8000), ("32,000", 32_000), ("1_000_000", 1_000_000)])
def test_tokens_may_be_grouped(text: str, tokens: int) -> None:
    assert build_parser().parse_args(["compact", "file", "--budget", text]).budget == tokens


@pytest.mark.parametrize("text", ["0", "-1", "8k", "", "1.5"])
def test_tokens_are_positive_whole_numbers(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["compact", "file", f"--budget={text}"])
    assert ended.value.code == 2
    assert capsys.readouterr().err.count("\n") == 1
