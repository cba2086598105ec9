"""The figures for a note are those of the whole file, and after the first time only what was added is read."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.codex_files import counted, line, said, session
from support.foreign import to_lines
from support.long_session import long_session
from ullage.api.protocol import usage_result
from ullage.cli.arguments import ReadingOptions
from ullage.cli.hooks.counting import reported_figures
from ullage.cli.hooks.hook_state import HookState
from ullage.cli.reports import Figures, figures_of
from ullage.cli.session_source import open_source

_TEXT = "The port of the proxy is the one that the shop expects. " * 400


def _claude(turns: int) -> bytes:
    log = long_session(2_200)
    for number in range(turns):
        log.ask("And now?").answer(60_000 + 1_000 * number)
        if number == 3:
            log.compact(66_000)
    return log.data


def _codex(turns: int) -> bytes:
    lines: list[dict[str, Any]] = [session(), line("turn_context", model="gpt-5")]
    for number in range(60 + turns):
        lines += (said("user", _TEXT), said("assistant", f"It is {number}."), counted(9_000 + 5_500 * number))
    return to_lines(*lines)


class Counting:
    """A session whose file grows, counted after its turns."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "session.jsonl"
        self.kept = HookState(str(folder / "sessions.db"), "s")
        self._options = ReadingOptions(store=str(folder / "sessions.db"), target=str(self.path))

    async def figures(self) -> Figures | None:
        return await reported_figures(self._options, str(self.path), self.kept)

    async def whole(self) -> Figures:
        async with open_source(self._options) as source:
            return figures_of(usage_result(source.conversation))


def _row(figures: Figures | None) -> Sequence[Any]:
    assert figures is not None
    return figures.used, figures.source, figures.window, figures.compacts_at, figures.calls_left


@pytest.fixture
def counting(tmp_path: Path) -> Counting:
    return Counting(tmp_path)


@pytest.mark.parametrize("write", [_claude, _codex])
async def test_the_figures_after_each_turn_are_those_of_the_whole_file(write: Any, counting: Counting) -> None:
    for turns in range(7):
        counting.path.write_bytes(write(turns))
        figures = await counting.figures()
        whole = await counting.whole()
        # After a compaction nothing is reported until the next answer: the whole file is counted then.
        if figures is None:
            assert whole.source == "estimated"
        else:
            assert _row(figures) == _row(whole)
    assert counting.kept.reading()


async def test_what_was_read_is_not_read_again(counting: Counting) -> None:
    counting.path.write_bytes(_claude(1))
    await counting.figures()
    damaged = bytearray(_claude(2))
    expected = counting.path.write_bytes(damaged) and _row(await counting.whole())
    damaged[100_000:900_000] = b"x" * 800_000
    counting.path.write_bytes(damaged)
    assert _row(await counting.figures()) == expected


async def test_a_file_that_was_written_again_is_read_from_its_beginning(counting: Counting) -> None:
    counting.path.write_bytes(_claude(2))
    await counting.figures()
    counting.path.write_bytes(_codex(0))
    assert _row(await counting.figures()) == _row(await counting.whole())


@pytest.mark.parametrize("kept", [b"", b"damaged", b"\x80"])
async def test_what_is_kept_and_damaged_is_not_used(kept: bytes, counting: Counting) -> None:
    counting.path.write_bytes(_claude(2))
    counting.kept.note_reading(kept)
    assert _row(await counting.figures()) == _row(await counting.whole())


async def test_a_file_that_only_grows_a_little_is_not_kept_again(counting: Counting) -> None:
    counting.path.write_bytes(_claude(1))
    await counting.figures()
    kept = counting.kept.reading()
    counting.path.write_bytes(_claude(2))
    await counting.figures()
    assert kept
    assert counting.kept.reading() == kept


async def test_figures_that_no_provider_reported_need_the_whole_file(counting: Counting) -> None:
    counting.path.write_bytes(to_lines(session(), said("user", "Which port?"), said("assistant", "8443.")))
    assert await counting.figures() is None


async def test_readings_of_sessions_that_rest_for_a_day_go(counting: Counting) -> None:
    rests = HookState(str(counting.path.with_name("sessions.db")), "rests")
    rests.note_reading(b"reading")
    rests.note_figure(b"{}")
    folder = counting.path.with_name("sessions.db.hooks")
    for file in folder.iterdir():
        os.utime(file, (0, time.time() - 2 * 86_400))
    counting.path.write_bytes(_claude(1))
    await counting.figures()
    assert sorted(file.name for file in folder.iterdir()) == ["rests.figure", "s.reading"]
