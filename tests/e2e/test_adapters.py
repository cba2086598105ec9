"""The adapters with the real agent frameworks, which have an environment of their own (`scripts/rigs/adapters.sh`): the
tests in `tests/frameworks` run there."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Never

import pytest

from support.documents import ROOT
from support.neovim import RIGS
from support.systems import needs_linux

HOME = RIGS / "adapters" / f"{sys.version_info.major}.{sys.version_info.minor}"
LIGHT = ("openai_agents", "langchain", "pydantic_ai")
HEAVY = ("claude_agent_sdk", "litellm_proxy")


def test_every_file_of_a_framework_is_run() -> None:
    files = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "frameworks").glob("test_*.py")}
    assert files == {*LIGHT, *HEAVY}


@needs_linux
@pytest.mark.parametrize("name", [*LIGHT, *(pytest.param(each, marks=pytest.mark.long) for each in HEAVY)])
def test_an_adapter_works_with_the_real_framework(name: str, tmp_path: Path, lacking: Callable[[str], Never]) -> None:
    if not (HOME / (".light" if name in LIGHT else ".heavy")).exists():
        lacking("agent frameworks (scripts/rigs/adapters.sh)")
    # Warnings are the frameworks' own affair, and their plugins of pytest stay away.
    options = ["--quiet", "-p", "no:cacheprovider", "--confcutdir=tests/frameworks", "-o", "filterwarnings=default"]
    command = [str(HOME / "bin" / "python"), "-m", "pytest", *options, f"tests/frameworks/test_{name}.py"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "ULLAGE_RIGS": str(RIGS),
        **({"ULLAGE_TRANSCRIPTS": folder} if (folder := os.environ.get("ULLAGE_TRANSCRIPTS")) else {}),
    }
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout[-6_000:] + done.stderr[-2_000:]
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout
