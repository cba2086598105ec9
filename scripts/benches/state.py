"""Measures what contexts say of the state of work at the compactions that agents made: `./scripts/bench state`.

*State truth* is the share of what is true at a cut (`state_truth`) that a page says rightly, less what it says wrongly
(`state_verdicts`). Truth is folded from agents' files by code that shares nothing with Ullage, which is run from
outside (`state_arms`). At each compaction the arms are: what the agent kept; that with Ullage's brief, and with quoted
lines of the brief's size; Ullage's own context, the first message with the newest ones, and the newest ones with
quoted lines, each in the agent's size. Four characters are a token.

Controls that say nothing must score nothing: the pages of `agent + brief` and of `ullage` with their words in any
order, names alone, and an empty page. The bench fails if one scores. It shows, too, what those pages say with
their lines in any order: a line that has its subject and its state says both anywhere, so that is no control.

`--files FOLDER` measures other recordings, `--sample N` so many cuts, spread over all; `--detail` prints every
verdict with the line that it was judged by.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

from msgspec import Struct

from benches.report import TRANSCRIPTS, Aim, Report, at_most
from benches.state_agents import read_recording
from benches.state_arms import (
    AGENT,
    ARMS,
    BRIEFED,
    CHARS,
    EMPTY,
    NAMES,
    OURS,
    SHUFFLED_LINES,
    SHUFFLED_WORDS,
    Cut,
    controls,
    cuts,
    pages,
)
from benches.state_checks import judge_checks
from benches.state_page import Page, read_page
from benches.state_said import cover, judge_said
from benches.state_truth import Truth, fold
from benches.state_verdicts import ABSENT, RIGHT, WRONG, Kind, Verdict
from benches.state_work import judge_work

# A word or two may say something by luck ("yes"); under so many points of a hundred a control says nothing.
_NOTHING = 5.0
_WORKERS = 2
# One shuffle may place lines by luck.
_SHUFFLES = 3
# Written as fixtures, with texts left out.
_FIXTURES = "agent_fixtures"
_CONTROLS = (SHUFFLED_WORDS, NAMES, EMPTY)


class Measured(Struct, frozen=True, kw_only=True):
    """One page at one cut."""

    cut: str
    agent: str
    arm: str
    chars: int
    verdicts: tuple[Verdict, ...]
    shares: tuple[float, ...]
    whole: tuple[bool, ...]
    brief_chars: int = 0


def run(paths: Sequence[Path], *, sample: int | None = None, detail: bool = False) -> Report:
    found = [cut for path in _files(paths) if (recording := read_recording(path)) for cut in cuts(recording)]
    if sample and sample < len(found):
        found = [found[at * len(found) // sample] for at in range(sample)]
    with ProcessPoolExecutor(_WORKERS) as pool:
        measured = [each for many in pool.map(_measure, found) for each in many]
    if detail:
        for each in measured:
            _show(each)
    # Arms are compared at the same cuts: those with room for each.
    roomy = {each.cut for each in measured if each.arm == OURS}
    compared = [each for each in measured if each.cut in roomy]
    rows = [*_rows(compared), *_kind_rows(compared), *_agent_rows(measured)]
    return Report(bench="state", rows=rows, aims=[*_aims(compared)])


def _files(paths: Sequence[Path]) -> list[Path]:
    chosen = paths or [Path(os.environ.get("ULLAGE_TRANSCRIPTS") or TRANSCRIPTS)]
    found = {file for path in chosen for file in ([path] if path.is_file() else path.rglob("*.jsonl"))}
    return sorted(file for file in found if paths or _FIXTURES not in file.parts)


def _measure(cut: Cut) -> list[Measured]:
    truth = fold(cut.before, cut.recording.folder)
    made = pages(cut)
    brief = len(made[BRIEFED]) - len(made[AGENT])
    found: list[Measured] = []
    every = [*made.items()]
    for arm in (BRIEFED, OURS):
        for seed in range(_SHUFFLES) if made.get(arm) else ():
            says_nothing = controls(made[arm], truth, seed)
            shuffled = {name: text for name, text in says_nothing.items() if name in (SHUFFLED_LINES, SHUFFLED_WORDS)}
            every += [(f"{arm}: {name}", text) for name, text in shuffled.items()]
            every += [each for each in says_nothing.items() if each[0] not in shuffled and (arm, seed) == (OURS, 0)]
    for arm, text in every:
        page = read_page(text)
        shares, whole = cover(page, truth)
        found.append(
            Measured(
                cut=cut.name,
                agent=cut.recording.agent,
                arm=arm,
                chars=len(text),
                verdicts=tuple(judge(page, truth)),
                shares=tuple(shares),
                whole=tuple(whole),
                brief_chars=brief,
            )
        )
    return found


def judge(page: Page, truth: Truth) -> list[Verdict]:
    """Returns a verdict for each item, and one for each wrong statement about what is no item (such as a done task)."""
    return [*judge_said(page, truth), *judge_work(page, truth), *judge_checks(page, truth)]


def _arms(measured: Sequence[Measured]) -> list[str]:
    order = [
        *ARMS,
        *(f"{arm}: {name}" for arm in (BRIEFED, OURS) for name in (SHUFFLED_LINES, SHUFFLED_WORDS)),
        NAMES,
        EMPTY,
    ]
    present = {each.arm for each in measured}
    return [arm for arm in order if arm in present]


def score(verdicts: Sequence[Verdict]) -> float | None:
    """Returns right less wrong in percent of the items; None without items."""
    items = sum(not verdict.extra for verdict in verdicts)
    counted = sum(verdict.end == RIGHT for verdict in verdicts) - sum(verdict.end == WRONG for verdict in verdicts)
    return 100 * counted / items if items else None


def _rows(measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    for arm in _arms(measured):
        own = [each for each in measured if each.arm == arm]
        verdicts = [verdict for each in own for verdict in each.verdicts]
        by_kind = [value for kind in Kind if (value := score([v for v in verdicts if v.kind is kind])) is not None]
        shares = [share for each in own for share in each.shares]
        whole = [stands for each in own for stands in each.whole]
        yield {
            "arm": arm,
            "cuts": len({each.cut for each in own}),
            "tokens": round(median(each.chars for each in own) / CHARS),
            "state truth": score(verdicts),
            "mean of kinds": sum(by_kind) / len(by_kind) if by_kind else None,
            "right": sum(v.end == RIGHT for v in verdicts),
            "wrong": sum(v.end == WRONG for v in verdicts),
            "absent": sum(v.end == ABSENT for v in verdicts),
            "user's words": 100 * sum(shares) / len(shares) if shares else None,
            "short whole": 100 * sum(whole) / len(whole) if whole else None,
            "brief chars": round(median(each.brief_chars for each in own)) if arm == BRIEFED else None,
        }


def _kind_rows(measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    for kind in Kind:
        for arm in _arms(measured):
            own = [v for each in measured if each.arm == arm for v in each.verdicts if v.kind is kind]
            if own:
                yield {
                    "kind": kind.value,
                    "by arm": arm,
                    "score": score(own),
                    "right": sum(v.end == RIGHT for v in own),
                    "wrong": sum(v.end == WRONG for v in own),
                    "absent": sum(v.end == ABSENT for v in own),
                }


def _agent_rows(measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    for agent in sorted({each.agent for each in measured}):
        for arm in (AGENT, BRIEFED):
            own = [each for each in measured if (each.agent, each.arm) == (agent, arm)]
            verdicts = [verdict for each in own for verdict in each.verdicts]
            shares = [share for each in own for share in each.shares]
            yield {
                "agent": agent,
                "page": arm,
                "cuts": len(own),
                "items": sum(not verdict.extra for verdict in verdicts),
                "state truth": score(verdicts),
                "user's words": 100 * sum(shares) / len(shares) if shares else None,
            }


def _aims(measured: Sequence[Measured]) -> Iterator[Aim]:
    for arm in _arms(measured):
        if arm in _CONTROLS or arm.endswith(_CONTROLS):
            value = score([v for each in measured if each.arm == arm for v in each.verdicts])
            yield at_most(f"control, {arm}", value or 0.0, _NOTHING)


def _show(each: Measured) -> None:
    for verdict in each.verdicts:
        said = f" | {verdict.why}" if verdict.why else ""
        quote = f" | {verdict.quote[:200]}" if verdict.quote else ""
        item = " ".join(verdict.item.split())[:160]
        print(f"{each.cut}\t{each.arm}\t{verdict.kind}\t{verdict.end}\t{item}{said}{quote}", file=sys.stderr)
