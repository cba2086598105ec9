"""`ullage hook` as a real process: what it gives back, and that it never fails, speaks or stays when it cannot."""

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.claude_log import ClaudeLog
from support.command_line import PATIENCE, Ran, ullage
from ullage.agents.table import agent_of_word
from ullage.app.own_command import OwnCommand, added_to
from ullage.lost.brief import HEAD, LONGEST, characters

ID = "5f0f2d1c-7a55-4f0e-9a63-0d9a54a1b001"
AGENT = "claude-code"
RULE = "Never change src/shop/legacy.py without a migration."
SUMMARY = "<analysis>legacy.py needs a migration</analysis>\n<summary>Read src/shop/part1.py; go on.</summary>"


def log() -> ClaudeLog:
    made = ClaudeLog(session=ID).ask(f"Rename the table in every part. {RULE}")
    for number in range(3):
        made.read(f"/home/me/shop/src/shop/part{number}.py", "def total(): ...\n").answer(9_000)
    return made


# A hook of these small conversations takes 0.3 s of processor time, of its 2 s.
_TRIES = 20


class Place:
    """A store and a transcript, and hooks that an agent runs for it."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "sessions.db"
        self.transcript = folder / f"{ID}.jsonl"
        self.transcript.write_bytes(log().data)

    def hook(self, **said: Any) -> Ran:
        known = {"session_id": ID, "transcript_path": str(self.transcript)}
        return self.run(msgspec.json.encode({**known, **said}))

    def run(self, stdin: bytes) -> Ran:
        return ullage("hook", AGENT, "--store", self.store, stdin=stdin)

    def summarized(self, **said: Any) -> Ran:
        given = {"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY}
        return self.hook(**{**given, **said})

    def started(self, source: str = "compact", **said: Any) -> Ran:
        return self.hook(**{"hook_event_name": "SessionStart", "source": source, **said})

    def given_back(self, source: str = "compact") -> Any:
        """What the agent is given when it starts again. A busy machine may need more than a hook's time, and then the
        agent gets nothing; it is asked again."""
        ran = None
        for _ in range(_TRIES):
            if source == "compact":
                self.summarized()
            ran = self.started(source)
            if self.arrivals[-1]["outcome"] != "late":
                break
        assert ran is not None
        assert (ran.status, ran.err) == (0, "")
        return ran.json["hookSpecificOutput"]

    @property
    def arrivals(self) -> list[Any]:
        path = self.store.with_name("sessions.db.hooks.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def is_silent(ran: Ran) -> bool:
    return (ran.status, ran.out, ran.err) == (0, "", "")


def test_what_the_summary_leaves_out_is_given_back_and_noted(place: Place) -> None:
    assert is_silent(place.summarized())
    told = place.given_back()
    assert told["hookEventName"] == "SessionStart"
    text = told["additionalContext"]
    assert text.startswith(HEAD)
    # What the model only thought before the summary is lost.
    assert f"> #1 {RULE}" in text.splitlines()
    assert "part0.py" in text
    assert "part1.py" not in text
    kept, given = place.arrivals[0], place.arrivals[-1]
    assert (kept["outcome"], given["outcome"], given["session"]) == ("kept", "given", ID)
    assert given["characters"] == characters(text) <= LONGEST
    assert given["given"]["constraint"] == 1
    # The summary is used once.
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] == "no summary"


def test_it_is_given_again_when_the_session_is_resumed(place: Place) -> None:
    assert is_silent(place.started("resume"))
    place.given_back()
    place.transcript.write_bytes(log().compact(90_000, summary="Read src/shop/part1.py; go on.").data)
    assert RULE in place.given_back("resume")["additionalContext"]


def test_a_brief_is_never_longer_than_the_agent_takes(place: Place) -> None:
    made = log()
    for number in range(400):
        made.ask(f"Never touch src/shop/table_{number}_of_baskets.py, since 𝔫o test covers it. ").answer(9_000)
    place.transcript.write_bytes(made.data)
    text = place.given_back()["additionalContext"]
    assert LONGEST * 0.9 < characters(text) <= LONGEST


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_other_starts_get_nothing(place: Place, source: str) -> None:
    place.summarized()
    assert is_silent(place.started(source))
    assert len(place.arrivals) == 1


def test_the_last_words_of_a_real_sub_agent_are_no_summary(place: Place) -> None:
    assert is_silent(place.summarized(agent_type="Explore"))
    assert is_silent(place.started())


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"hook_event_name": "SessionStart", "source": "compact"}',
    ],
)
def test_bad_input_gets_no_word_and_status_0(place: Place, given: bytes) -> None:
    assert is_silent(place.run(given))


@pytest.mark.parametrize("content", [None, b"", b"\0\1\2", b'{"type": "user"', b"[]"])
def test_a_transcript_that_is_missing_or_damaged_gets_no_word(place: Place, content: bytes | None) -> None:
    place.transcript.unlink()
    if content is not None:
        place.transcript.write_bytes(content)
    place.summarized()
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] in ("failed", "nothing", "late")


def test_a_store_that_cannot_be_written_gets_no_word(place: Place) -> None:
    place.store = place.transcript / "sessions.db"
    assert is_silent(place.summarized())
    assert is_silent(place.started())


@pytest.mark.parametrize("name", ["../../x", "", "a/b", 5, None])
def test_an_id_that_is_no_name_writes_no_file(place: Place, name: Any) -> None:
    before = {*place.transcript.parent.rglob("*")}
    assert is_silent(place.summarized(session_id=name))
    assert is_silent(place.started(session_id=name))
    new = {path.name for path in {*place.transcript.parent.rglob("*")} - before}
    assert new <= {"sessions.db.hooks.jsonl"}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
@pytest.mark.parametrize("waits_for", ["transcript", "input"])
def test_what_takes_too_long_is_given_up_without_a_word(place: Place, waits_for: str) -> None:
    place.summarized()
    place.transcript.unlink()
    os.mkfifo(place.transcript)
    said = {"session_id": ID, "transcript_path": str(place.transcript), "hook_event_name": "SessionStart"}
    command = [sys.executable, "-m", "ullage", "hook", AGENT, "--store", str(place.store)]
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(msgspec.json.encode({**said, "source": "compact"}))
        process.stdin.flush()
        if waits_for == "transcript":
            process.stdin.close()
        assert process.wait(PATIENCE) == 0
        assert process.stdout.read() + process.stderr.read() == b""
    assert time.monotonic() - begin > 2
    assert place.arrivals[-1]["outcome"] == "late"


@pytest.mark.skipif(sys.platform == "win32", reason="the words of POSIX' shell")
def test_what_wire_adds_does_no_harm_where_ullage_is_gone(place: Place, tmp_path: Path) -> None:

    agent = agent_of_word(AGENT)
    assert agent is not None
    assert agent.wiring is not None
    broken = tmp_path / "bro ken" / "ullage"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho half installed >&2\nexit 3\n")
    broken.chmod(0o755)
    line = "echo the line of before; exit 4"
    for words in (["/no/such/ullage"], [str(broken)], [sys.executable, "-m", "no_such_module"]):
        added = added_to(agent.wiring.files[0], AGENT, OwnCommand(words=tuple(words)), line)
        ran = subprocess.run(["sh", "-c", added.hooks[0].command], capture_output=True, check=False, timeout=PATIENCE)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
        ran = subprocess.run(["sh", "-c", added.status_line], capture_output=True, check=False, timeout=PATIENCE)
        assert ran.stdout == b"the line of before\n", words
    spaced = added_to(agent.wiring.files[0], AGENT, OwnCommand(words=("/a b/ullage",)), None)
    assert shlex.split(spaced.hooks[0].command)[2] == "/a b/ullage"


def test_nothing_heavy_is_imported_for_a_hook_without_an_answer(place: Place) -> None:
    code = "import sys; from ullage.cli.main import main; main(); print(*sys.modules)"
    said = {"session_id": ID, "hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY}
    ran = subprocess.run(
        [sys.executable, "-c", code, "hook", AGENT, "--store", place.store],
        input=msgspec.json.encode(said),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = ran.stdout.decode().splitlines()[-1].split()
    heavy = {"msgspec", "argparse", "rich", "asyncio", "platformdirs", "subprocess", "sqlite3", "ullage.agents"}
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, timeout=PATIENCE, check=True
    )
    assert heavy & set(loaded) <= set(bare.stdout.decode().split())
    assert place.arrivals[-1]["outcome"] == "kept"
