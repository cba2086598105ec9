"""What `--json` prints: as the schema says, in snake_case, and in UTF-8 whatever the locale."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator, validate

from support.claude_log import ClaudeLog
from support.command_line import SAMPLE, Ended, ullage_bytes
from ullage.cli.commands.schema import output_schema

# What Windows gives a redirected output, and a system without any locale.
LOCALES = ({"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
WRITTEN = "0a1b2c3d-4e5f-4071-8293-a4b5c6d7e8f9"
WORD = "пример → 日本語 👩"


@pytest.fixture(scope="module")
def transcript(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("talk") / "talk.json"
    said = [
        {"role": "user" if number % 2 == 0 else "assistant", "content": f"{WORD} push_event {number} " + "word " * 400}
        for number in range(12)
    ]
    path.write_bytes(msgspec.json.encode({"model": "gpt-4o", "messages": said}))
    return path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, transcript: Path) -> tuple[Path, str]:
    store = tmp_path_factory.mktemp("store") / "sessions.db"
    imported = json.loads(ullage_bytes("import", transcript, "--store", store, "--json").out)
    return store, imported["session_id"]


@pytest.fixture(scope="module")
def compacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation that its agent has compacted. The summary lacks the user's rule."""
    log = ClaudeLog(session=WRITTEN).ask(f"Never change src/push_event.py without a {WORD} migration.").answer(166_900)
    path = tmp_path_factory.mktemp("agent") / f"{WRITTEN}.jsonl"
    path.write_bytes(log.compact(167_100).ask("Go on.").answer(9_000).data)
    return path


@pytest.fixture(scope="module")
def commands(transcript: Path, stored: tuple[Path, str], compacted: Path) -> dict[str, list[str]]:
    return words_of(transcript, stored, compacted)


def words_of(transcript: Path, stored: tuple[Path, str], compacted: Path) -> dict[str, list[str]]:
    store, session = str(stored[0]), stored[1]
    return {
        "here": ["--json", "--store", store],
        "context": ["context", str(transcript), "--json", "--messages"],
        "messages": ["messages", session, "--json", "--store", store],
        "compact": ["compact", str(transcript), "--budget", "4000", "--json"],
        "context --edits": ["context", "--edits", session, "--json", "--store", store],
        "import": ["import", str(transcript), "--json", "--store", store],
        "here --stored": ["--stored", "--json", "--store", store],
        "search": ["search", "push_event", "--json", "--store", store],
        "search --show": ["search", "--show", "3", "--conversation", session, "--json", "--store", store],
        "lost": ["lost", str(compacted), "--json"],
        "lost --brief": ["lost", "--brief", str(compacted), "--json"],
        "continue": ["continue", str(compacted), "--preview", "--json"],
        "doctor": ["doctor", "--json", "--store", store],
    }


NAMES = list(words_of(Path(), (Path(), ""), Path()))


def keys_of(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield f"{path}.{key}"
            # What a provider is sent, and what a tool was called with, have names of their own.
            if key not in ("messages", "system", "content", "compaction"):
                yield from keys_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:  # pyright: ignore[reportUnknownVariableType]
            yield from keys_of(inner, path)


@pytest.mark.parametrize("name", NAMES)
def test_every_object_is_as_its_schema_says_and_in_snake_case(name: str, commands: dict[str, list[str]]) -> None:
    printed = json.loads(ullage_bytes(*commands[name]).out)
    schema = output_schema()
    kinds = schema["commands"][name.partition(" --")[0]]
    validate(printed, {"anyOf": kinds, "$defs": schema["$defs"]}, Draft202012Validator)
    assert printed["version"] == 1
    assert [key for key in keys_of(printed) if not re.fullmatch(r"[a-z0-9_.]+", key)] == []


def test_the_schema_is_printed() -> None:
    # A tuple of fixed length is a list in JSON.
    assert json.loads(ullage_bytes("schema", "output").out) == json.loads(json.dumps(output_schema()))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "doctor"])
def test_json_is_utf8_whatever_the_locale(name: str, commands: dict[str, list[str]]) -> None:
    ended = ullage_bytes(*commands[name], env={**LOCALES[0], **LOCALES[1]})
    assert (ended.status, ended.err) == (0, b"")
    printed = ended.out.decode("utf-8")
    assert isinstance(json.loads(printed), dict)
    if name not in ("context --edits", "here", "continue"):
        assert WORD[:6] in printed


@pytest.mark.parametrize("env", LOCALES, ids=str)
def test_an_export_is_utf8_whatever_the_locale(env: dict[str, str], stored: tuple[Path, str]) -> None:
    ended = ullage_bytes("export", stored[1], "--store", stored[0], env=env)
    assert (ended.status, ended.err) == (0, b"")
    assert WORD in ended.out.decode("utf-8")


@pytest.mark.parametrize("env", LOCALES, ids=str)
@pytest.mark.parametrize(
    "name",
    [
        *(
            "context",
            "compact",
            "search",
            "messages",
            "here --stored",
            "context --edits",
            "search --show",
            "lost",
            "lost --brief",
            "continue",
        )
    ],
)
def test_text_is_printed_in_any_locale(name: str, env: dict[str, str], commands: dict[str, list[str]]) -> None:
    words = [word for word in commands[name] if word not in ("--json", "--messages")]
    ended = ullage_bytes(*words, env=env)
    assert (ended.status, ended.err) == (0, b"")
    assert ended.out


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize("name", ["context", "here --stored"])
@pytest.mark.parametrize("as_json", [True, False])
def test_an_output_that_cannot_be_written_is_one_line(name: str, as_json: bool, commands: dict[str, list[str]]) -> None:
    words = [word for word in commands[name] if as_json or word not in ("--json", "--messages")]
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "ullage", *words]
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120, check=False)
    assert ended.returncode == 2
    assert ended.stderr.count(b"\n") == 1
    assert b"No space left" in ended.stderr


def left_early(words: list[str]) -> Ended:
    """Runs a command whose reader has gone."""
    command = [sys.executable, "-m", "ullage", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        return Ended(status=process.wait(120), out=b"", err=process.stderr.read())


@pytest.mark.parametrize("words", [["context", str(SAMPLE)], ["context", str(SAMPLE), "--json"], ["help"], ["man"]])
def test_a_reader_that_has_left_ends_every_command_quietly(words: list[str]) -> None:
    ended = left_early(words)
    assert ended.err == b""
    # What fits the pipe's buffer may be gone before the reader is.
    assert ended.status in (0, 141)
