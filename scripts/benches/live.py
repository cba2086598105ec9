"""Measures prompt turns with real SDKs against loopback servers that speak the providers' wire formats.

The bench answers four questions. If a long recorded conversation is replayed in a window far too small, does Ullage
ever send a request that the provider would refuse? Does a session survive a provider that fails at random? How long
does a user wait after cancelling? How long does the first word take from the provider's socket to the client's?

The servers check each request with a checker that shares no code with the writers, and count tokens by their own rules.
The environment variable `ULLAGE_LIVE` is a share of the full size, for a quick try.
"""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benches import live_latency
from benches.report import TRANSCRIPTS, Aim, Report, at_least, at_most, percentile
from support.wire.recording import read_recording
from support.wire.replay import Replayed, replay
from support.wire.storm import Weathered, weather
from ullage.model.usage import UsageSource

_SHARE = float(os.environ.get("ULLAGE_LIVE", "1"))
# Two of the longest recordings: one agent's work after a single prompt, and hundreds of short turns.
_RECORDINGS = (
    "iso_bench_trae/us-anthropic-claude-sonn__sglang_sonnet45_rerun_f06e90c2.trajectory.json",
    "iso_bench_trae/gpt-5-2025-08-07__98f47f2a.trajectory.json",
)
_KINDS = ("anthropic", "openai", "openai_chat")
# Tokens: a sixteenth of the window in which these conversations were held.
_WINDOW = 16_000
_TURNS, _STORMS = 1_000, 12
_DOZENS = 24
# The same aims as in the accuracy bench.
_MEDIAN, _P95 = 0.005, 0.03


def run(paths: Sequence[Path]) -> Report:
    """Runs all measurements, one after the other."""
    rows, aims = asyncio.run(_measure(paths or [TRANSCRIPTS / name for name in _RECORDINGS]))
    return Report(bench="live", rows=rows, aims=aims)


async def _measure(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], list[Aim]]:
    with tempfile.TemporaryDirectory() as folder:
        replayed = [
            (path, kind, await _replay(path, kind, Path(folder) / f"{number}"))
            for number, path in enumerate(paths)
            for kind in _KINDS
        ]
        weathered = await _storms(Path(folder))
        latencies = await live_latency.measure(Path(folder), _SHARE)
    rows = [_replay_row(path, kind, found) for path, kind, found in replayed]
    rows += [_storm_row(weathered), *(_latency_row(found) for found in latencies)]
    aims = _replay_aims([found for _, _, found in replayed]) + _storm_aims(weathered)
    return rows, aims + [live_latency.aim(found) for found in latencies]


async def _replay(path: Path, kind: str, folder: Path) -> Replayed:
    folder.mkdir(exist_ok=True)
    recording = read_recording(path)
    wanted = max(1, int(_SHARE * len(recording.answers)))
    return await replay(read_recording(path, wanted), kind, folder, _WINDOW)


async def _storms(folder: Path) -> list[Weathered]:
    """Runs the turns in several sessions at once, since each session mostly waits for its provider."""
    each = max(1, round(_SHARE * _TURNS / _STORMS + 0.5))
    return await asyncio.gather(*(weather(_KINDS[seed % len(_KINDS)], folder, each, seed) for seed in range(_STORMS)))


def _errors(found: Replayed, *, edited: bool) -> list[float]:
    """Returns the errors of the predictions for contexts that were edited after the last usage, or for those that
    were not."""
    return [guess.error for guess in found.guesses if (guess.source is UsageSource.ESTIMATED) is edited]


def _replay_row(path: Path, kind: str, found: Replayed) -> dict[str, Any]:
    known, edited = _errors(found, edited=False), _errors(found, edited=True)
    edits = ", ".join(f"{count} {edit}" for edit, count in sorted(found.edits.items()))
    return {
        "what": f"replay of {path.name[:24]} by {kind}",
        "n": f"{found.requests} requests",
        "p50": f"error {median(known or [0]):.2%}",
        "p95 or p99": f"error {percentile(known, 0.95):.2%}",
        "max": f"{found.largest:,} of {_WINDOW:,} tokens",
        "notes": f"{edits}; first request after an edit: median error {median(edited or [0]):.1%}",
    }


def _storm_row(weathered: Sequence[Weathered]) -> dict[str, Any]:
    ends = sum((found.ends for found in weathered), Counter[str]())
    faults = sum((found.faults for found in weathered), Counter[str]())
    return {
        "what": "turns under random faults",
        "n": f"{sum(found.turns for found in weathered):,} turns",
        "p50": "",
        "p95 or p99": f"{sum(found.compactions for found in weathered)} compactions",
        "max": f"{max(found.longest for found in weathered):.1f} s",
        "notes": f"{faults.total():,} faults of {len(faults)} kinds; "
        + ", ".join(f"{count} {end}" for end, count in ends.most_common()),
    }


def _latency_row(found: live_latency.Latency) -> dict[str, Any]:
    return {
        "what": found.what,
        "n": f"{len(found.seconds)} times",
        "p50": f"{1000 * percentile(found.seconds, 0.5):.2f} ms",
        "p95 or p99": f"{1000 * percentile(found.seconds, 0.99):.2f} ms",
        "max": f"{1000 * max(found.seconds):.2f} ms",
        "notes": "",
    }


def _replay_aims(replayed: Sequence[Replayed]) -> list[Aim]:
    known = [_errors(found, edited=False) for found in replayed]
    return [
        at_least("compactions of the shortest replay", min(found.compactions for found in replayed), 12 * _SHARE),
        at_least("compactions of the longest replay", max(found.compactions for found in replayed), _DOZENS * _SHARE),
        at_most("requests over the window", sum(found.over_window for found in replayed), 0),
        at_most("violations of the message rules", sum(len(found.violations) for found in replayed), 0),
        at_most("median error of predictions, worst replay", max(median(errors) for errors in known), _MEDIAN),
        at_most("95th percentile, worst replay", max(percentile(errors, 0.95) for errors in known), _P95),
    ]


def _storm_aims(weathered: Sequence[Weathered]) -> list[Aim]:
    return [
        at_least("turns under faults", sum(found.turns for found in weathered), _TURNS * _SHARE),
        at_most("turns after which the session was unusable", sum(len(found.unusable) for found in weathered), 0),
        at_most("messages shown and lost", sum(len(found.lost) for found in weathered), 0),
        at_most("turns past their deadline", sum(found.past_deadline for found in weathered), 0),
        at_most("violations under faults", sum(len(found.violations) for found in weathered), 0),
        at_most("requests over the window under faults", sum(found.over_window for found in weathered), 0),
    ]
