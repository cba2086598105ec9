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

from msgspec import Struct

from benches import state_arms as arms
from benches.report import TRANSCRIPTS, Aim, Report, Row, at_most
from benches.state_agents import read_recording
from benches.state_checks import judge_checks
from benches.state_page import Page, read_page
from benches.state_said import cover, judge_said
from benches.state_truth import Truth, fold
from benches.state_verdicts import ABSENT, RIGHT, WRONG, Kind, Verdict
from benches.state_work import judge_work

# A word or two may say something by luck ("yes"); under so many points of a hundred a control says nothing.
_NOTHING = 5.0
# One shuffle may place lines by luck.
_WORKERS, _SHUFFLES = 2, 3
# Written as fixtures, with texts left out.
_FIXTURES = "agent_fixtures"
_CONTROLS = (arms.SHUFFLED_WORDS, arms.NAMES, arms.EMPTY)
_SHUFFLED = (arms.SHUFFLED_LINES, arms.SHUFFLED_WORDS)


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
    found = [cut for path in _files(paths) if (recording := read_recording(path)) for cut in arms.cuts(recording)]
    if sample and sample < len(found):
        found = [found[at * len(found) // sample] for at in range(sample)]
    with ProcessPoolExecutor(_WORKERS) as pool:
        measured = [each for many in pool.map(_measure, found) for each in many]
    if detail:
        for each in measured:
            _show(each)
    # Arms are compared at the same cuts: those with room for each.
    roomy = {each.cut for each in measured if each.arm == arms.OURS}
    compared = [each for each in measured if each.cut in roomy]
    rows = [*_rows(compared), *_kind_rows(compared), *_agent_rows(measured)]
    return Report(bench="state", rows=rows, aims=[*_aims(compared)])


def _files(paths: Sequence[Path]) -> list[Path]:
    chosen = paths or [Path(os.environ.get("ULLAGE_TRANSCRIPTS") or TRANSCRIPTS)]
    found = {file for path in chosen for file in ([path] if path.is_file() else path.rglob("*.jsonl"))}
    return sorted(file for file in found if paths or _FIXTURES not in file.parts)


def _measure(cut: arms.Cut) -> list[Measured]:
    truth = fold(cut.before, cut.recording.folder)
    made = arms.pages(cut)
    brief = len(made[arms.BRIEFED]) - len(made[arms.AGENT])
    found: list[Measured] = []
    every = [*made.items()]
    for arm in (arms.BRIEFED, arms.OURS):
        for seed in range(_SHUFFLES) if made.get(arm) else ():
            for name, text in arms.controls(made[arm], truth, seed).items():
                if name in _SHUFFLED:
                    every.append((f"{arm}: {name}", text))
                elif (arm, seed) == (arms.OURS, 0):
                    every.append((name, text))
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
    shuffled = [f"{arm}: {name}" for arm in (arms.BRIEFED, arms.OURS) for name in _SHUFFLED]
    present = {each.arm for each in measured}
    return [arm for arm in (*arms.ARMS, *shuffled, arms.NAMES, arms.EMPTY) if arm in present]


def score(verdicts: Sequence[Verdict]) -> float | None:
    """Returns right less wrong in percent of the items; None without items."""
    items = sum(not verdict.extra for verdict in verdicts)
    counted = sum(verdict.end == RIGHT for verdict in verdicts) - sum(verdict.end == WRONG for verdict in verdicts)
    return 100 * counted / items if items else None


def _ends(verdicts: Sequence[Verdict]) -> Row:
    return {end: sum(verdict.end == end for verdict in verdicts) for end in (RIGHT, WRONG, ABSENT)}


def _percent(values: Sequence[float]) -> float | None:
    return 100 * sum(values) / len(values) if values else None


def _rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for arm in _arms(measured):
        own = [each for each in measured if each.arm == arm]
        verdicts = [verdict for each in own for verdict in each.verdicts]
        by_kind = [value for kind in Kind if (value := score([v for v in verdicts if v.kind is kind])) is not None]
        yield {
            "arm": arm,
            "cuts": len({each.cut for each in own}),
            "tokens": round(median(each.chars for each in own) / arms.CHARS),
            "state truth": score(verdicts),
            "mean of kinds": sum(by_kind) / len(by_kind) if by_kind else None,
            **_ends(verdicts),
            "user's words": _percent([share for each in own for share in each.shares]),
            "short whole": _percent([stands for each in own for stands in each.whole]),
            "brief chars": round(median(each.brief_chars for each in own)) if arm == arms.BRIEFED else None,
        }


def _kind_rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for kind in Kind:
        for arm in _arms(measured):
            own = [v for each in measured if each.arm == arm for v in each.verdicts if v.kind is kind]
            if own:
                yield {"kind": kind.value, "by arm": arm, "score": score(own), **_ends(own)}


def _agent_rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for agent in sorted({each.agent for each in measured}):
        for arm in (arms.AGENT, arms.BRIEFED):
            own = [each for each in measured if (each.agent, each.arm) == (agent, arm)]
            verdicts = [verdict for each in own for verdict in each.verdicts]
            yield {
                "agent": agent,
                "page": arm,
                "cuts": len(own),
                "items": sum(not verdict.extra for verdict in verdicts),
                "state truth": score(verdicts),
                "user's words": _percent([share for each in own for share in each.shares]),
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
