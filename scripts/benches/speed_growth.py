"""Measures how the cost of one more message, and of fitting a session to half, grows from 100 to 50,000 messages,
for Ullage and other programs on the same sessions. A program that exceeds the limit is stopped, and no figure is
guessed."""

import gc
import time
from collections.abc import Mapping
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from benches.report import Aim, Report, at_least, at_most
from benches.speed_rivals import APPENDING, FITTING, LANGCHAIN, Work

SIZES = (100, 1_000, 10_000, 50_000)
# The number of messages for which the aims are stated.
STATED = 10_000
LIMIT = 20.0
# Seconds. Building a session, and a program's own counts of it, is not timed but must end.
_PREPARING = 120.0
# Seconds. After this much time no further run is started. The fastest run counts, since noise can only add time.
_ENOUGH = 1.5
_RUNS = 30
LITELLM_AIM, LANGCHAIN_AIM, FLAT_AIM = 100.0, 50.0, 2.0

Costs = dict[str, dict[int, float | None]]


def run() -> Report:
    """Returns rows of milliseconds, with `over 20 s` where a program was stopped."""
    appending, fitting = _measure(APPENDING), _measure(FITTING)
    rows = [*_rows("one more message", appending), *_rows("fit half", fitting)]
    return Report(bench="speed growth", rows=rows, aims=[*_aims(appending), *_fitting_aims(fitting)])


def _measure(works: Mapping[str, Work]) -> Costs:
    return {name: {size: seconds(work, size) for size in SIZES} for name, work in works.items()}


def seconds(work: Work, size: int) -> float | None:
    """Returns the fastest of several runs, in a process of its own, or None if a run exceeds the limit."""
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_time, args=(work, size, theirs))
    process.start()
    theirs.close()
    try:
        if not ours.poll(_PREPARING):
            return None
        ours.recv()
        return ours.recv() if ours.poll(2 * LIMIT) else None
    finally:
        process.kill()
        process.join()


def _time(work: Work, size: int, to: Connection) -> None:
    runs = work(size)
    next(runs)
    gc.collect()
    to.send("ready")
    # The first run loads what is loaded on first use. If it exceeds the limit, no other run is made.
    next(runs)
    times: list[float] = []
    while len(times) < _RUNS and sum(times) < _ENOUGH:
        began = time.perf_counter()
        next(runs)
        times.append(time.perf_counter() - began)
    to.send(min(times))


def _rows(what: str, costs: Costs) -> list[dict[str, Any]]:
    return [
        {"what": f"{what}, {size:,} messages: {name}", "floor_ms": "", "ours_ms": _milliseconds(cost), "ratio": ""}
        for name, by_size in costs.items()
        for size, cost in by_size.items()
    ]


def _milliseconds(cost: float | None) -> float | str:
    return f"over {LIMIT:g} s" if cost is None else 1000 * cost


def _aims(costs: Costs) -> list[Aim]:
    litellm, langchain = ((costs[name][STATED] or LIMIT) for name in ("litellm.token_counter", LANGCHAIN))
    aims: list[Aim] = []
    for name, cost in costs.items():
        if not name.startswith("Ullage"):
            continue
        what = f"one more message ({name})"
        least, most, own = (cost[size] or LIMIT for size in (SIZES[0], SIZES[-1], STATED))
        aims += [
            at_most(f"{what}, at {SIZES[-1]:,} against {SIZES[0]}: ratio", most / least, FLAT_AIM),
            at_least(f"{what}, at {STATED:,}: times under litellm", litellm / own, LITELLM_AIM),
            at_least(f"{what}, at {STATED:,}: times under LangChain", langchain / own, LANGCHAIN_AIM),
        ]
    return aims


def _fitting_aims(costs: Costs) -> list[Aim]:
    ours, *others = costs.values()
    fastest = min(other[STATED] or LIMIT for other in others)
    return [
        at_most(f"fit half of {STATED:,} messages: share of the fastest other", (ours[STATED] or LIMIT) / fastest, 1.0)
    ]
