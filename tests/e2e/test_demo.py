"""The demo with the real server over stdio, from the first message to the last undo."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support.command_line import ullage

ROOT = Path(__file__).resolve().parents[2]


def test_sample_crosses_warning_and_compaction_and_is_undone(tmp_path: Path) -> None:
    picture = tmp_path / "demo.svg"
    ran = ullage("demo", "--svg", picture)
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    story = [
        next(i for i, line in enumerate(lines) if said in line)
        for said in (
            "% full",
            "Compacting the context",
            "Compacted #1",
            "Everything is kept; undo any time",
            "› undo",
            "Undone:",
            "by hand",
            "ullage watch",
            "ullage wire",
            "ullage lost",
            "ullage continue",
        )
    ]
    assert story == sorted(story)
    ElementTree.parse(picture)
    assert "http" not in picture.read_text().replace("http://www.w3.org", "")


def test_any_transcript_can_be_played(tmp_path: Path) -> None:
    talk = tmp_path / "talk.json"
    talk.write_text('[{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello to you"}]')
    ran = ullage("demo", talk, "--ascii")
    assert ran.status == 0, ran.err
    assert "> Hello" in ran.out
    assert ran.out.isascii()


def test_sample_is_what_its_script_makes() -> None:
    made = subprocess.run(
        [sys.executable, ROOT / "scripts" / "make_sample.py", "--check"], capture_output=True, timeout=300, check=False
    )
    assert made.returncode == 0, made.stderr.decode()


@pytest.mark.parametrize("arguments", [["no-such-file"], ["--window", "none"]])
def test_bad_input_is_one_line_and_status_2(arguments: list[str]) -> None:
    ran = ullage("demo", *arguments)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
