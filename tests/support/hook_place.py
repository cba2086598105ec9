"""A store and a transcript of an agent, and the hooks that the agent runs for them, as real processes."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from support.claude_log import ClaudeLog
from support.command_line import PATIENCE, Ran, ullage
from ullage.service.ports.agent_files import GivenBack
from ullage.store.sqlite.catalogue import Receipts

ID = "5f0f2d1c-7a55-4f0e-9a63-0d9a54a1b001"
AGENT = "claude-code"
RULE = "Never change src/shop/legacy.py without a migration."
# What the user asks first.
ASKED = f"Rename the table in every part. {RULE}"
SUMMARY = "<analysis>legacy.py needs a migration</analysis>\n<summary>Read src/shop/part1.py; go on.</summary>"


def log() -> ClaudeLog:
    """A conversation with a rule that its summary leaves out."""
    made = ClaudeLog(session=ID).ask(ASKED)
    for number in range(3):
        made.read(f"/home/me/shop/src/shop/part{number}.py", "def total(): ...\n").answer(9_000)
    return made


# Prompts after which a brief that a busy machine could not give in a hook's time has come.
TRIES = 20


class Place:
    """A store and a transcript, and hooks that an agent runs for it."""

    def __init__(self, folder: Path, agent: str = AGENT, transcript: bytes = b"") -> None:
        self.store = folder / "sessions.db"
        self.transcript = folder / f"{ID}.jsonl"
        self.transcript.write_bytes(transcript or log().data)
        self._agent = agent

    def hook(self, *options: str, **said: Any) -> Ran:
        known = {"session_id": ID, "transcript_path": str(self.transcript)}
        return self.run(msgspec.json.encode({**known, **said}), *options)

    def run(self, stdin: bytes, *options: str) -> Ran:
        return ullage("hook", self._agent, "--store", self.store, *options, stdin=stdin)

    def begun(self) -> Ran:
        return self.hook(hook_event_name="PreCompact", trigger="auto")

    def summarized(self, **said: Any) -> Ran:
        given = {"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY}
        return self.hook(**{**given, **said})

    def started(self, source: str = "compact", **said: Any) -> Ran:
        return self.hook(**{"hook_event_name": "SessionStart", "source": source, **said})

    def prompted(self) -> Ran:
        return self.hook(hook_event_name="UserPromptSubmit", prompt="Go on.")

    def given_back(self, source: str = "compact") -> Any:
        """What the agent is given when it starts again. On a busy machine that may be nothing yet; then a prompt gives
        it."""
        if source == "compact":
            assert is_silent(self.summarized())
        ran = self.started(source)
        return answer(ran if ran.out else self.given_late())

    def given_late(self) -> Ran:
        """What the first prompt gives that gives something."""
        return next(ran for ran in (self.prompted() for _ in range(TRIES)) if ran.out)

    def kept(self, kind: str) -> Path:
        return self.store.with_name("sessions.db.hooks") / f"{ID}.{kind}"

    @property
    def worker(self) -> int:
        """The worker's process, 0 if there is none."""
        try:
            return int(self.kept("worker").read_text())
        except (FileNotFoundError, NotADirectoryError):
            # A worker that ends removes it.
            return 0

    @property
    def arrivals(self) -> list[Any]:
        return arrivals_at(self.store)

    @property
    def receipts(self) -> tuple[GivenBack, ...]:
        return Receipts(self.store)(ID)


@contextmanager
def hook_place(folder: Path, agent: str = AGENT, transcript: bytes = b"") -> Generator[Place]:
    """Makes a place, and at the end of the block ends its worker. The transcript is that of `log` if none is given."""
    made = Place(folder, agent, transcript)
    yield made
    end_worker(made.worker)


def arrivals_at(store: Path) -> list[Any]:
    """Returns the hooks that arrived for a store."""
    path = store.with_name(f"{store.name}.hooks.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


async def until_counted(store: Path) -> None:
    """Waits until the context of a store's one session was counted after a turn."""
    async with asyncio.timeout(PATIENCE):
        while not [*store.with_name(f"{store.name}.hooks").glob("*.figure")]:
            await asyncio.sleep(0.05)


def end_worker(worker: int) -> None:
    """Ends a worker's process. 0 stands for no worker."""
    if worker:
        with suppress(OSError):
            # The process may have ended, and its id may be another's by now.
            if sys.platform != "linux" or b"hooks.worker" in Path(f"/proc/{worker}/cmdline").read_bytes():
                os.kill(worker, signal.SIGTERM)


def answer(ran: Ran) -> Any:
    """What a hook printed."""
    assert (ran.status, ran.err) == (0, "")
    return ran.json["hookSpecificOutput"]


def is_silent(ran: Ran) -> bool:
    """Whether a hook printed nothing and did not fail."""
    return (ran.status, ran.out, ran.err) == (0, "", "")
