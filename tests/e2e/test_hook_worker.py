"""The worker that `ullage hook` starts: what it computes late, and that it never stays."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

import ullage as ullage_package
from support.command_line import PATIENCE
from support.hook_place import AGENT, ID, RULE, SUMMARY, TRIES, Place, answer, hook_place, is_silent, log
from support.systems import needs_linux
from ullage.agents.table import agent_of_word
from ullage.app.agent_wiring import OwnCommand, added_to


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with hook_place(tmp_path) as made:
        yield made


@pytest.mark.skipif(sys.platform == "win32", reason="a process can't be stopped on Windows")
def test_what_comes_too_late_is_given_once_at_the_next_prompt(place: Place) -> None:
    place.begun()
    worker = place.worker
    os.kill(worker, signal.SIGSTOP)
    try:
        assert is_silent(place.summarized())
        assert is_silent(place.started())
        assert place.arrivals[-1]["outcome"] == "late"
        assert is_silent(place.prompted())
    finally:
        os.kill(worker, signal.SIGCONT)
    told = answer(place.given_late())
    assert told["hookEventName"] == "UserPromptSubmit"
    assert RULE in told["additionalContext"]
    assert is_silent(place.prompted())
    assert RULE in answer(place.started("resume"))["additionalContext"]
    assert is_silent(place.prompted())
    assert [receipt.why for receipt in place.receipts] == ["prompt", "resume"]


def test_a_summary_that_nobody_hands_over_is_taken_from_the_file_at_the_next_prompt(place: Place) -> None:
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] in ("no summary", "late")
    compacted = log().compact(90_000, summary="Read src/shop/part1.py; go on.").data
    # The log's own times are of the past.
    place.transcript.write_bytes(compacted.replace(b"2025-11-22T", b"2125-11-22T"))
    assert RULE in answer(place.given_late())["additionalContext"]
    assert is_silent(place.prompted())


def test_a_compaction_of_before_is_not_taken_for_one_that_the_file_does_not_have_yet(place: Place) -> None:
    place.transcript.write_bytes(log().compact(90_000, summary="Read src/shop/part1.py; go on.").ask().data)
    assert is_silent(place.started())
    for _ in range(3):
        assert is_silent(place.prompted())
    assert not place.receipts


def has_ended(process: int) -> bool:
    """Whether a process ends in time. One whose parent has not asked for it yet counts as ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@needs_linux
def test_the_worker_ends_when_its_brief_was_given(place: Place) -> None:
    place.begun()
    worker = place.worker
    place.given_back()
    assert worker
    assert has_ended(worker)
    assert not place.worker


@needs_linux
def test_the_worker_ends_with_the_agent(place: Place) -> None:
    said = msgspec.json.encode({"session_id": ID, "transcript_path": str(place.transcript)})
    said = said[:-1] + b',"hook_event_name":"PreCompact"}'
    hook = shlex.join([sys.executable, "-m", "ullage", "hook", AGENT, "--store", str(place.store)])
    # An agent that runs its hook in a shell and continues until its input ends.
    agent = f"printf %s {shlex.quote(said.decode())} | sh -c {shlex.quote(f'{hook}; true')}; cat"
    with subprocess.Popen(["sh", "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE
        while not place.arrivals and time.monotonic() < until:
            time.sleep(0.05)
        worker = place.worker
        # Longer than a shell around a hook is waited for.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        os.kill(worker, 0)
        process.kill()
    assert has_ended(worker)
    assert not place.worker


@needs_linux
@pytest.mark.parametrize("kind", ["pipe", "folder", "missing"])
def test_a_worker_that_cannot_read_the_transcript_says_so_and_ends(place: Place, kind: str) -> None:
    place.transcript.unlink()
    if kind == "pipe":
        os.mkfifo(place.transcript)
    elif kind == "folder":
        place.transcript.mkdir()
    place.begun()
    worker = place.worker
    place.summarized()
    assert is_silent(place.started())
    for _ in range(TRIES):
        if place.arrivals[-1]["outcome"] == "failed":
            break
        assert is_silent(place.prompted())
    assert place.arrivals[-1]["outcome"] == "failed"
    assert has_ended(worker)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("missing", ["lost", "agents", "tokens", "system", "cli/hooks"])
def test_a_half_installed_ullage_says_nothing_and_leaves_no_process(place: Place, tmp_path: Path, missing: str) -> None:
    package = tmp_path / "half" / "ullage"
    link_without(Path(ullage_package.__file__).parent, package, missing.split("/"))
    agent = agent_of_word(AGENT)
    assert agent is not None
    assert agent.wiring is not None
    own = OwnCommand(words=(sys.executable, "-m", "ullage"), store=place.store, fill_notes=True)
    words = added_to(agent.wiring.files[0], AGENT, own, None).hooks[0].command
    for said in (
        {"hook_event_name": "PreCompact"},
        {"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY},
        {"hook_event_name": "SessionStart", "source": "compact"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."},
        {"hook_event_name": "SessionStart", "source": "resume"},
    ):
        known = {"session_id": ID, "transcript_path": str(place.transcript)}
        ran = subprocess.run(
            ["sh", "-c", words],
            input=msgspec.json.encode({**known, **said}),
            env={**os.environ, "PYTHONPATH": str(package.parent)},
            cwd=tmp_path,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert not place.worker or has_ended(place.worker)


def link_without(whole: Path, part: Path, missing: Sequence[str]) -> None:
    """Makes a folder of links to all that is in `whole`, except what `missing` leads to."""
    part.mkdir(parents=True)
    for entry in whole.iterdir():
        if entry.name != missing[0]:
            (part / entry.name).symlink_to(entry)
        elif missing[1:]:
            link_without(entry, part / entry.name, missing[1:])
