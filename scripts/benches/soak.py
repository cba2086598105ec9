"""Measures whether followers stay bounded: `./scripts/bench soak [--minutes N] [FOLDER]`.

Eight made-up agents work at once, each with a turn every half a second, a compaction after a hundred turns and a new
conversation after three hundred, while one process follows and keeps their files and another one shows what it follows.
That is a day of four agents in about four minutes. The memory and the processor time of both are written to
`FOLDER/soak.csv` every few seconds, with a picture, `FOLDER/soak.svg`; the growth of the second half of the run is
extrapolated to eight hours at this pace.
"""

import csv
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import linear_regression
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from benches.follower import Rows, memory, processor_seconds, turn, watch
from benches.report import Aim, Report, at_most
from support.log_trees import to_bytes
from support.session_log import JsonObject, boundary, summary
from ullage.store.sqlite.catalogue_notes import Keeping

_AGENTS, _TURN_EVERY, _COMPACTED, _ENDS = 8, 0.5, 100, 300
# Seconds between two samples, and a working day.
_SAMPLE_EVERY, _DAY = 5.0, 8 * 3_600
# Megabytes by which a process may grow in a day at this pace, which is forty times that of a user.
_MOST_GROWTH = 200.0
_WHO = ("follows", "shows")
_WIDTH, _HEIGHT, _EDGE = 720, 240, 40


class _Sample(Struct, frozen=True):
    """What a process has at a time, in seconds: megabytes, and seconds of a processor. `turns` were written by then."""

    at: float
    who: str
    turns: int
    resident: float
    processor: float


def run(paths: Sequence[Path], minutes: float = 20.0) -> Report:
    """Runs the bench for so many minutes, and writes its files into the folder that is named, by default this one."""
    folder = paths[0] if paths else Path.cwd()
    with TemporaryDirectory(prefix="ullage-soak-") as home:
        samples = list(_samples(Path(home), 60 * minutes))
    with (folder / "soak.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(_Sample.__struct_fields__)
        table.writerows((one.at, one.who, one.turns, one.resident, one.processor) for one in samples)
    (folder / "soak.svg").write_text(_drawn(samples), encoding="utf-8")
    rows, aims = list[dict[str, Any]](), list[Aim]()
    for who in _WHO:
        own = [one for one in samples if one.who == who]
        half = own[len(own) // 2 :]
        slope, _ = linear_regression([one.at for one in half], [one.resident for one in half])
        rows.append(
            {
                "process": who,
                "minutes": minutes,
                "turns": own[-1].turns,
                "mb_at_half": half[0].resident,
                "mb_at_end": own[-1].resident,
                "mb_in_8_hours": slope * _DAY,
                "processor_percent": 100 * own[-1].processor / own[-1].at,
            }
        )
        aims.append(at_most(f"{who}: growth in eight hours at this pace, MB", slope * _DAY, _MOST_GROWTH))
    return Report(bench="soak", rows=rows, aims=aims)


def _samples(home: Path, seconds: float) -> Iterator[_Sample]:
    Keeping(home / "store.db").answer(keep=True)
    (home / ".claude").mkdir()
    with ExitStack() as running:
        followers = [running.enter_context(watch(home)) for _ in _WHO]
        began = time.monotonic()
        sampled, turns, due = 0.0, 0, began
        while (at := time.monotonic() - began) < seconds:
            for agent in range(_AGENTS):
                _write(home, agent, turns)
            turns += 1
            for _, rows in followers:
                _empty(rows)
            if at - sampled >= _SAMPLE_EVERY:
                sampled = at
                for who, (process, _) in zip(_WHO, followers, strict=True):
                    used = processor_seconds(process.pid)
                    yield _Sample(round(at, 1), who, turns * _AGENTS, round(memory(process.pid, "VmRSS"), 1), used)
            due += _TURN_EVERY
            time.sleep(max(0.0, due - time.monotonic()))


def _write(home: Path, agent: int, turns: int) -> None:
    """Writes the next turn of an agent. The agents' conversations end at different times."""
    place = turns + agent * _ENDS // _AGENTS
    number = place % _ENDS
    name = f"{agent:04d}{place // _ENDS:04d}-0000-4000-8000-000000000000"
    log = home / ".claude" / "projects" / f"-home-user-{agent}" / f"{name}.jsonl"
    log.parent.mkdir(parents=True, exist_ok=True)
    records: list[JsonObject] = []
    is_compacted = number > 0 and number % _COMPACTED == 0
    if is_compacted:
        marks = (
            boundary(f"{name}b{number}", f"{name}u{2 * number - 1}"),
            summary(f"s{2 * number}", f"{name}b{number}", "Yes."),
        )
        begin = f"{name}b{number}"
        marks = boundary(begin, f"{name}u{2 * number - 1}"), summary(f"s{2 * number}", begin, "Yes.")
        records = [record | {"sessionId": name} for record in marks]
    records += turn(2 * number, name=name, after_compaction=is_compacted)
    with log.open("ab") as file:
        file.write(to_bytes(records))


def _empty(rows: Rows) -> None:
    while not rows.empty():
        rows.get()


def _drawn(samples: Sequence[_Sample]) -> str:
    """Returns a picture of the memory over time, a line for each process."""
    longest, most = samples[-1].at, max(one.resident for one in samples)
    lines: list[str] = []
    for who, color in zip(_WHO, ("#2563eb", "#d97706"), strict=True):
        places = (
            f"{_EDGE + (_WIDTH - 2 * _EDGE) * one.at / longest:.1f},"
            f"{_HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * one.resident / most:.1f}"
            for one in samples
            if one.who == who
        )
        last = [one for one in samples if one.who == who][-1]
        lines.append(f'<polyline fill="none" stroke="{color}" points="{" ".join(places)}"/>')
        place = _HEIGHT - _EDGE - (_HEIGHT - 2 * _EDGE) * last.resident / most
        lines.append(
            f'<text x="{_WIDTH - _EDGE}" y="{place - 6:.0f}" text-anchor="end">{who} {last.resident:g} MB</text>'
        )
    axis = f'<text x="{_EDGE}" y="{_HEIGHT - 12}">0 to {longest / 60:.0f} minutes, {samples[-1].turns:,} turns</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        f'font-size="12">{"".join(lines)}{axis}</svg>\n'
    )
