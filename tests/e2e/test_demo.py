"""The demo with the real server over stdio, from the first message to the last undo."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from support.command_line import ullage

SAMPLE = Path(__file__).resolve().parents[2] / "server" / "ullage" / "cli" / "data" / "sample.jsonl"


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


def test_what_the_sample_reads_of_a_file_is_what_its_calls_have_written() -> None:
    files: dict[str, str] = {}
    calls: dict[str, dict[str, Any]] = {}
    compared = edited = 0
    events = [json.loads(line).get("event", {}) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]
    for block in (block for event in events if "message" in event for block in event["message"]["content"]):
        if block["type"] == "tool_use":
            calls[block["id"]] = block
        elif block["type"] == "tool_result":
            call = calls.pop(block["tool_use_id"])
            given = call["input"]
            if call["name"] == "read_file":
                compared += given["path"] in files
                text = block["content"][0]["text"]
                assert files.setdefault(given["path"], text) == text
            elif call["name"] == "write_file":
                files[given["path"]] = given["content"]
            elif call["name"] == "edit_file" and given["path"] in files:
                assert files[given["path"]].count(given["old"]) == 1
                files[given["path"]] = files[given["path"]].replace(given["old"], given["new"])
                edited += 1
    assert calls == {}
    assert (compared, edited) == (18, 44)


@pytest.mark.parametrize("arguments", [["no-such-file"], ["--window", "none"]])
def test_bad_input_is_one_line_and_status_2(arguments: list[str]) -> None:
    ran = ullage("demo", *arguments)
    assert ran.status == 2
    assert ran.err.count("\n") == 1
