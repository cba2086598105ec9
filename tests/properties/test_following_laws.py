"""Following an agent's file: whatever the agent writes at once, and however long it pauses, one second later the row
has the figure of the file as it is."""

import asyncio
import os
import selectors
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.follower_ports import follower_ports
from support.foreign import messages_of
from support.memory_store import MemoryStore
from support.samples import KINDS, LOG, SAMPLES, samples
from support.workspace import CountingIds, build_test_client
from ullage.agents.transcripts import detect_format, read_document
from ullage.model.errors import InputError
from ullage.model.usage import FollowedRow
from ullage.service.follow.agent_follower import AgentFollower
from ullage.service.ports.agent_files import FoundFile
from ullage.service.sessions import import_or_continue
from ullage.system.growing_files import GrowingFiles, read_transcript_file

# Seconds. After the longest, all is taken as complete.
PAUSES = st.sampled_from([0.01, 0.3, 0.9, 1.5, 3.0, 10.0, 400.0])
# Seconds after a write: as long as the row may take. A file that has been quiet for more than a minute is looked at
# less often.
SOON, SELDOM, RECENT = 1.0, 4.0, 60.0
# What an agent writes at once, as a part of what is still to be written; the pause after it; and whether the process
# that follows is another one then.
STEPS = st.lists(st.tuples(st.floats(0, 1), PAUSES, st.booleans()), max_size=12)
Steps = Sequence[tuple[float, float, bool]]


# A log of aider, which is no sample: a line that begins a chat looks like the sentence of one.
AIDER = """
# aider chat started at 2026-09-21 10:00:00

> Aider v0.86.2
> Main model: m1 with diff
""" + "".join(
    f"#### Question {turn}?\n#### of all casks\n\nIt is\n\ndone.\n\n> Tokens: {used} sent, 40 received.\n\n"
    for turn, used in enumerate((20_900, 27_900, 25_900))
)


def _logs() -> dict[str, list[tuple[str, bytes]]]:
    """Returns by the format the samples of one file of lines: its name and its content."""
    logs = {"aider": [(".aider.chat.history.md", AIDER.encode())]}
    for path in sorted(SAMPLES.glob("*.txt")):
        for sample in samples(path):
            lines = sample.written if sample.written[0].startswith(KINDS) else [LOG, *sample.written]
            if lines[0].startswith("text ") and not any(line.startswith(KINDS) for line in lines[1:]):
                file = Path(lines[0].removeprefix("text ")).name
                data = "".join(f"{line}\n" for line in lines[1:]).encode()
                logs.setdefault(detect_format(sample.document).name, []).append((file, data))
    return logs


LOGS = _logs()
# How many logs of a format are followed line by line: the longest, in which most can go wrong.
FOLLOWED = 6


class _Jumping(selectors.SelectSelector):
    """A selector that moves the time on in place of waiting."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "everything waits for ever"
        self.now += max(0.0, timeout)
        return super().select(0)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only while everything waits, so that a test of pauses takes no time. It begins at
    the time 1,000 s. What is given to a thread is done at once."""

    def __init__(self) -> None:
        self._clock = _Jumping()
        self._clock.now = 1_000.0
        super().__init__(self._clock)

    def time(self) -> float:
        return self._clock.now

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the caller gets it when it waits
            done.set_exception(error)
        return done


class Files(GrowingFiles):
    """The files of a machine on which time is virtual."""

    def __init__(self, time: Callable[[], float]) -> None:
        super().__init__()
        self._time = time
        self.written = time()

    def quiet_for(self, path: Path) -> float:
        return self._time() - self.written


class Following:
    """A file that is followed by one process after the other, with the same store."""

    def __init__(self, path: Path) -> None:
        loop = asyncio.get_running_loop()
        self.path = path
        self.files = Files(loop.time)
        self._store, self._ids = MemoryStore(), CountingIds()
        self.begin()

    def begin(self) -> None:
        self._rows: list[FollowedRow] = []
        ports = follower_ports(self.path.parent, self._find, files=self.files)
        self._client = build_test_client(store=self._store, ids=self._ids)
        follower = AgentFollower(self._client.workspace, ports, self._rows.append, 3600.0)
        self._task = asyncio.create_task(follower.run())

    def _find(self, seconds: float, paths: Collection[str] | None = None) -> Sequence[FoundFile]:
        return [FoundFile(path=self.path)] if self.path.exists() else []

    async def end(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    def write(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        # Two writes in a moment may have one time, which two writes a second apart never have.
        self.files.written = asyncio.get_running_loop().time()
        moment = int(self.files.written * 1e9)
        os.utime(self.path, ns=(moment, moment))

    @property
    def figure(self) -> tuple[int | None, str | None] | None:
        """The size of the context in the newest row, and where it is from."""
        return (self._rows[-1].used, self._rows[-1].used_source) if self._rows else None


async def figure_of(path: Path) -> tuple[int, str] | None:
    """Returns the figure of a file that is read whole, None if it has no message."""
    try:
        transcript = read_document(read_transcript_file(path))
    except InputError:
        return None
    if not messages_of(transcript):
        return None
    conversation = (await import_or_continue(build_test_client().workspace, transcript, "")).conversation
    return conversation.used, conversation.projection.tracker.reading.source


async def follow(path: Path, data: bytes, steps: Steps) -> None:
    path.touch()
    following, loop = Following(path), asyncio.get_running_loop()
    late = 0.0
    try:
        for share, pause, is_other in [*steps, (1.0, SOON, False), (0.0, SELDOM, False)]:
            length = round(share * len(data))
            if not path.name.endswith("l"):
                # Half a line of text is no line, but is read when the file is read whole.
                length = data.find(b"\n", length) + 1 or len(data)
            if length:
                late = SELDOM if loop.time() - following.files.written > RECENT else SOON
                following.write(data[:length])
                data = data[length:]
            if is_other:
                await following.end()
                following.begin()
            await asyncio.sleep(pause)
            if loop.time() - following.files.written >= late:
                assert following.figure == await figure_of(path)
    finally:
        await following.end()


@pytest.mark.parametrize("name", LOGS)
@settings(max_examples=10)
@given(data=st.data(), steps=STEPS)
def test_one_second_after_the_last_write_the_row_has_the_figure_of_the_file(
    name: str, data: st.DataObject, steps: Steps
) -> None:
    file, content = data.draw(st.sampled_from(LOGS[name]))
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(follow(Path(folder) / file, content, steps))


@pytest.mark.parametrize("name", LOGS)
def test_the_row_has_the_figure_of_the_file_after_each_line(name: str) -> None:
    for file, content in sorted(LOGS[name], key=lambda log: len(log[1]))[-FOLLOWED:]:
        lines = content.splitlines(keepends=True)
        ends = [(len(one) / len(b"".join(lines[at:])), 3.5, at % 4 == 3) for at, one in enumerate(lines)]
        with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(follow(Path(folder) / file, content, ends))
