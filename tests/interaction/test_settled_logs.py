"""Recorded logs that are followed line by line, and settle at each pause of their program."""

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from support.memory_store import MemoryStore
from support.transcripts import ROOT, conversation_files
from support.workspace import build_test_client
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import as_timestamp
from ullage.model.errors import InputError
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file

pytestmark = pytest.mark.no_cover

# Files of agents that hold no conversation, or not its beginning.
NO_LOGS = {
    "reverted_segment.jsonl",
    "hook-inputs.jsonl",
    "plugin-hooks.jsonl",
    "session_index.jsonl",
    "usage_record.jsonl",
}


def small_logs() -> list[Path]:
    """Returns for each agent some small recorded logs, which its program wrote line by line."""
    logs = (path for path in sorted((ROOT / "live").rglob("*.jsonl")) if path.name not in NO_LOGS)
    return [path for path in logs if not path.is_relative_to(ROOT / "live/claude_code/stdin")]


def time_of(line: bytes) -> int:
    """Returns the time of a line in Unix milliseconds; long past or far ahead if it has none."""
    value = json.loads(line)
    return as_timestamp(value.get("timestamp") or value.get("time")) or (0 if value else 1 << 50)


# Milliseconds. An agent writes the lines of one answer with shorter pauses.
PAUSE = 1_000


# Bytes of a log from which on the test takes seconds.
LARGE = 200_000


def other_logs() -> list[Any]:
    """Returns all other recorded logs of lines."""
    logs = [path for path in conversation_files() if path.suffix == ".jsonl" and not path.is_relative_to(ROOT / "live")]
    return [
        pytest.param(
            path, id=path.relative_to(ROOT).as_posix(), marks=[pytest.mark.slow] * (path.stat().st_size > LARGE)
        )
        for path in logs
    ]


# A reader must hold back what later lines may change, and its state must survive each of them.
@pytest.mark.parametrize("path", small_logs(), ids=lambda path: path.relative_to(ROOT / "live").as_posix())
async def test_a_recorded_log_that_settles_at_each_pause_is_what_it_is_as_a_whole(path: Path, tmp_path: Path) -> None:
    workspace, log = build_test_client(store=MemoryStore()).workspace, tmp_path / "log.jsonl"
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=log))
    lines = path.read_bytes().splitlines(keepends=True)
    for number, (one, then) in enumerate(pairwise([*lines, b"{}"]), start=1):
        log.write_bytes(b"".join(lines[:number]))
        with suppress(InputError):
            await followed.look()
        if time_of(one) and time_of(then) - time_of(one) > PAUSE:
            await followed.settle()
    await is_as_a_whole(followed, workspace, log)


# Lines of sub-agents may come mixed with the agent's own.
@pytest.mark.parametrize("path", other_logs())
async def test_a_recorded_log_that_is_followed_line_by_line_is_what_it_is_as_a_whole(
    path: Path, tmp_path: Path
) -> None:
    workspace, log = build_test_client(store=MemoryStore()).workspace, tmp_path / path.name
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=log))
    for one in path.read_bytes().splitlines(keepends=True):
        with log.open("ab") as file:
            file.write(one)
        with suppress(InputError):
            await followed.look()
    if followed.conversation is None:
        pytest.skip("the parent of its first line may still come, or the file is no log")
    await is_as_a_whole(followed, workspace, log)


# Seconds. A file that has been quiet for as long has ended.
LONG = 400.0


@pytest.mark.parametrize("path", other_logs())
async def test_a_quiet_recorded_log_has_the_figures_of_the_whole_and_then_its_session_has_all_of_it(path: Path) -> None:
    try:
        transcript = read_document(read_transcript_file(path))
    except InputError:
        pytest.skip("the file holds no message without the other files of its folder")
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    workspace = build_test_client(store=MemoryStore()).workspace
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=path))
    while (await followed.look()).more:
        pass
    await followed.settle(1.0)
    now = await followed.look_ahead() or followed.conversation
    assert now is not None
    assert (now.used, now.transcript.view) == (whole.used, whole.transcript.view)
    await followed.settle(LONG)
    assert await followed.look_ahead() is None
    assert followed.conversation is not None
    assert followed.conversation.used == whole.used
    assert followed.conversation.transcript.messages == whole.transcript.messages


async def is_as_a_whole(followed: FollowedFile, workspace: Workspace, log: Path) -> None:
    """Asserts that the followed file has one session, to which the rest of the file belongs, and which then is that of
    the whole file."""
    try:
        transcript = read_document(read_transcript_file(log))
    except InputError:
        pytest.skip("the file holds no message without the other files of its folder")
    grown = (await import_or_continue(workspace, transcript, "")).conversation
    assert grown is followed.conversation
    assert len(workspace.ports.store.list()) == 1
    whole = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    assert (grown.transcript.view, grown.used) == (whole.transcript.view, whole.used)
