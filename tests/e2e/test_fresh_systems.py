"""The wheel is installed on bare Debian systems, and shows its first figure without a network."""

import subprocess
import sys
from pathlib import Path

import pytest

from fresh_systems.installations import SYSTEMS, WAYS, install
from fresh_systems.machine import make_base, missing
from support.documents import ROOT
from support.neovim import RIGS
from support.systems import needs_linux

SAMPLE = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
# Seconds. A mirror or a registry may be slow.
PATIENCE = 900
BY_PIP = next(way for way in WAYS if way.name == "the wheel by pip")

pytestmark = [pytest.mark.long, needs_linux]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("release")
    words = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(words, check=True, timeout=PATIENCE)
    [made] = folder.glob(BY_PIP.file)
    return made


@pytest.mark.parametrize("suite", SYSTEMS)
def test_the_first_figure_needs_no_more_than_the_system_s_python(suite: str, wheel: Path) -> None:
    tried = install(BY_PIP, suite, make_base(suite, RIGS / "fresh"), [wheel], SAMPLE)
    assert tried.fault == ""
    assert tried.figure == "19%"
