"""The figures for a note are those of the whole file, and after the first time only what was added is read."""

import io
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest

from support.claude_log import long_session
from support.codex_files import counted, line, said, session
from support.foreign import to_lines
from support.systems import needs_modes
from ullage.api.protocol import usage_result
from ullage.cli.arguments import ReadingOptions
from ullage.cli.commands.hook import Fill
from ullage.cli.hooks import hook_state
from ullage.cli.hooks.counting import reported_figures
from ullage.cli.hooks.hook_state import HookState, has_new_mark
from ullage.cli.reports import Figures, figures_of
from ullage.cli.session_source import open_source
from ullage.cli.statusline.line import Figure

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


@pytest.mark.no_cover
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


@pytest.mark.no_cover
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


# A compaction is seen in an agent's file: its last summary is another one


MARK = "<state_snapshot>"


class Log:
    """An agent's file, and what is kept of it for a session."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "session.jsonl"
        self.path.write_text("")
        self._store = str(folder / "sessions.db")

    def add(self, text: str, **facts: object) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps({"content": [{"text": text}], **facts}, ensure_ascii=False) + "\n")

    @property
    def is_new(self) -> bool:
        return has_new_mark(HookState(self._store, "s1"), str(self.path), MARK)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path)


def test_a_file_without_a_summary_has_no_mark(log: Log) -> None:
    assert not log.is_new
    log.add(f"What does {MARK} mean?")
    assert not log.is_new


@pytest.mark.parametrize("text", ["a", 'with "quotes" and \\', "x" * 5_000, "Überschuss\n" * 40, '\\"' * 1_500])
def test_a_summary_is_new_once_also_when_the_agent_writes_it_again(log: Log, text: str) -> None:
    log.add(f"{MARK}{text}", id=1)
    assert log.is_new
    assert not log.is_new
    log.add("another message", id=2)
    log.add(f"{MARK}{text}", id=3, timestamp="later")
    assert not log.is_new


def test_of_a_file_that_has_grown_only_the_new_lines_are_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.add("x" * 1_000_000)
    assert not log.is_new
    read: list[int] = []

    class Counted(io.FileIO):
        def read(self, size: int | None = -1, /) -> bytes:
            data = super().read(size) or b""
            read.append(len(data))
            return data

    monkeypatch.setattr(hook_state, "open", Counted, raising=False)
    # The agent is in the midst of writing this line.
    with log.path.open("a") as file:
        file.write(f'{{"content": [{{"text": "{MARK}the')
    assert not log.is_new
    with log.path.open("a") as file:
        file.write(' port"}]}\n')
    assert log.is_new
    assert not log.is_new
    log.add(f"{MARK}the host")
    assert log.is_new
    assert sum(read) < 3_000


@pytest.mark.parametrize("longer", [0, 5_000])
def test_a_file_that_the_agent_has_written_anew_is_read_as_a_whole(log: Log, longer: int) -> None:
    log.add("before" * 50)
    log.add("after")
    assert not log.is_new
    log.path.write_text("")
    log.add(f"{MARK}the port")
    log.add("y" * longer)
    assert log.is_new
    assert not log.is_new


def test_another_summary_is_new(log: Log) -> None:
    for text in ("the port", "the port and the host", "the port"):
        log.add(f"{MARK}{text}")
        assert log.is_new


# Hooks and their worker share files: a brief is given for the summary that was asked for last, and once


FIRST, SECOND = b'{"text": "first"}', b'{"text": "second"}'


@pytest.fixture
def kept(tmp_path: Path) -> HookState:
    return HookState(str(tmp_path / "sessions.db"), "s1")


@needs_modes
def test_what_hooks_keep_is_read_by_its_user_alone(kept: HookState, tmp_path: Path) -> None:
    kept.ask("one")
    folder = tmp_path / "sessions.db.hooks"
    assert {path.name: S_IMODE(path.stat().st_mode) for path in (folder, *folder.iterdir())} == {
        "sessions.db.hooks": 0o700,
        "s1.summary": 0o600,
    }


def test_a_brief_is_given_once_and_then_only_again(kept: HookState) -> None:
    kept.ask("one")
    assert kept.take_summary() == "one"
    assert (kept.is_unanswered(), kept.has_brief()) == (True, False)
    kept.leave(FIRST)
    assert (kept.is_unanswered(), kept.has_brief()) == (False, True)
    assert kept.claim() == {"text": "first"}
    assert kept.claim() is None
    assert kept.given() == {"text": "first"}


def test_a_brief_that_is_left_after_the_next_summary_was_asked_for_is_not_given(kept: HookState) -> None:
    kept.ask("one")
    assert kept.take_summary() == "one"
    kept.ask("two")
    kept.leave(FIRST)
    assert not kept.has_brief()
    assert kept.claim() is None
    assert kept.take_summary() == "two"
    assert not kept.has_brief()
    kept.leave(SECOND)
    assert kept.claim() == {"text": "second"}


def test_looking_for_a_summary_leaves_a_brief_that_waits(kept: HookState) -> None:
    kept.ask("one")
    kept.take_summary()
    kept.leave(FIRST)
    assert kept.take_summary() is None
    assert kept.has_brief()


# When a note of the fill is due, and what it says


WINDOW = 200_000


def figure(used: int | None, calls: tuple[int, int] | None = None, window: int | None = WINDOW) -> Figure:
    return Figure(used=used, window=window, compacts_at=167_000, calls_left=calls)


class Told:
    """The notes of one session, each prompt a hook of its own."""

    def __init__(self) -> None:
        self._kept: str | None = None

    def __call__(self, now: Figure, warns_at: int | None = 140_000) -> str:
        fill = Fill(json.loads(self._kept) if self._kept else None)
        note = fill.note(now, warns_at)
        self._kept = fill.given
        return note


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.mark.parametrize(("warns_at", "told_at"), [(140_000, [140_000]), (150_000, [168_000]), (None, [])])
def test_where_the_user_is_warned_the_model_is_told_once(told: Told, warns_at: int | None, told_at: list[int]) -> None:
    used = [100_000, 139_999, 140_000, 149_999, 168_000, 172_000, 180_000]
    assert [tokens for tokens in used if told(figure(tokens), warns_at)] == told_at


def test_two_calls_left_is_a_mark_wherever_the_agent_compacts(told: Told) -> None:
    assert not told(figure(100_000, (3, 9)))
    assert told(figure(110_000, (2, 5)))
    assert not told(figure(112_000, (1, 1)))
    assert told(figure(140_000, (1, 1)))


def test_marks_that_are_passed_at_once_are_one_note(told: Told) -> None:
    assert told(figure(190_000, (1, 1)))
    assert not told(figure(195_000, (1, 1)))


def test_a_new_fill_is_told_again(told: Told) -> None:
    assert told(figure(150_000))
    assert not told(figure(20_000))
    assert told(figure(141_000))
    # A little less is no new fill.
    assert not told(figure(139_000))
    assert not told(figure(141_000))


@pytest.mark.parametrize("unknown", [figure(None), figure(190_000, window=None), figure(190_000, window=0)])
def test_what_is_not_known_is_not_told(told: Told, unknown: Figure) -> None:
    assert not told(unknown)


def test_the_note_is_one_line_of_facts(told: Told) -> None:
    first, second = (
        "Context: 142,757 of 200,000 tokens (71 %).",
        "It is compacted at 167,000 tokens, at least 1 call of",
    )
    assert told(figure(142_757, (1, 4))) == f"{first} {second} the model from now."
    estimated = Figure(used=142_000, window=WINDOW, is_estimated=True)
    assert Told()(estimated) == "Context: about 142,000 of 200,000 tokens (71 %)."
    assert Told()(figure(166_000, (1, 1))).endswith(", 1 call of the model from now.")
