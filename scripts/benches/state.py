"""Measures what contexts say of the state of work at the compactions of Claude Code: `./scripts/bench state`.

*State truth* is the share of what is true at a cut (`state_truth`) that a page says rightly, less what it says wrongly
(`state_verdicts`, `state_work`). Truth is folded from the agent's files by code that shares nothing with Ullage, which
is run from outside: `ullage lost --brief` and `ullage compact`, on the part of the file that was written at the cut. At
each compaction the arms are: what the agent kept; that with Ullage's brief, and with the newest messages in the brief's
size; and in the agent's size Ullage's own context, and the first message with the newest ones. All sizes are
characters; four count as a token, for every arm alike. Left out are compactions of so few tokens that Ullage has no
room for a summary.

Controls that say nothing must score nothing: the pages of `agent + brief` and of `ullage` with their words in any
order. The bench fails if one scores.

`--detail` prints every verdict with the line that it was judged by.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct

from benches.report import TRANSCRIPTS, Aim, Report, Row, at_most
from benches.state_page import Page, read_page
from benches.state_records import (
    CALL,
    COMPACTED,
    RESULT,
    SAID,
    TYPED,
    Event,
    Recording,
    as_list,
    read_recording,
    rendered,
)
from benches.state_truth import Truth, fold
from benches.state_verdicts import ABSENT, RIGHT, WRONG, Kind, Verdict, judge_said
from benches.state_work import judge_checks, judge_work

CHARS = 4
AGENT, BRIEFED, NEWEST, OURS, FIRST_TAIL = "agent", "agent + brief", "agent + newest", "ullage", "first + tail"
SHUFFLED = "shuffled words"
ARMS = (AGENT, BRIEFED, NEWEST, OURS, FIRST_TAIL, *(f"{arm}: {SHUFFLED}" for arm in (BRIEFED, OURS)))
# Under so many tokens Ullage has no room for a summary.
FEWEST_TOKENS = 300
_TIMEOUT_S = 120
# Ullage counts in its own tokens: how often it is asked to come close to the room, and how close is close enough.
_TRIES, _ENOUGH, _AIMED = 3, 0.93, 0.98


class Cut(Struct, frozen=True, kw_only=True):
    """A compaction of an agent: the events before it, the summary, and its number in the recording."""

    recording: Recording
    at: int

    @property
    def before(self) -> tuple[Event, ...]:
        return self.recording.events[: self.at]

    @property
    def compaction(self) -> Event:
        return self.recording.events[self.at]

    @property
    def name(self) -> str:
        return f"{self.recording.path.parent.name}/{self.recording.path.stem[:12]}@{self.compaction.line}"


def cuts(recording: Recording) -> list[Cut]:
    """Returns the compactions that left a text with room for a summary."""
    found = [Cut(recording=recording, at=at) for at, event in enumerate(recording.events) if event.kind == COMPACTED]
    return [cut for cut in found if len(cut.compaction.text) >= FEWEST_TOKENS * CHARS and cut.before]


def pages(cut: Cut) -> dict[str, str]:
    """Returns the page of each arm."""
    kept, brief = cut.compaction.text, run_brief(cut)
    return {
        AGENT: kept,
        BRIEFED: f"{kept}\n\n{brief}",
        NEWEST: f"{kept}\n\n{tail(cut.before, len(brief))}",
        OURS: run_compact(cut, len(kept)),
        FIRST_TAIL: first_and_tail(cut.before, len(kept)),
    }


# Ullage, from outside


def run_brief(cut: Cut) -> str:
    """Returns what `ullage lost --brief` writes after the compaction."""
    return str(_ullage(cut, cut.compaction.line + 1, ["lost", "--brief"]).get("text", "")).strip()


def run_compact(cut: Cut, room: int) -> str:
    """Returns the context that `ullage compact` makes of the conversation before the compaction, in this room."""
    tokens, best = room // CHARS, ""
    for _ in range(_TRIES):
        text = _context(_ullage(cut, _before_boundary(cut), ["compact", "--model", "gpt-4o", "--budget", str(tokens)]))
        if len(best) < len(text) <= room:
            best = text
        if not text or _ENOUGH * room <= len(text) <= room:
            break
        tokens = int(_AIMED * tokens * room / len(text))
    return best


def _before_boundary(cut: Cut) -> int:
    """Returns how many records are before the compaction: Claude Code writes a boundary ahead of the summary."""
    lines = cut.recording.path.read_bytes().splitlines()
    at = cut.compaction.line
    for number in range(max(0, at - 3), at):
        if b'"compact_boundary"' in lines[number][:4000]:
            return number
    return at


def _ullage(cut: Cut, records: int, arguments: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / cut.recording.path.name
        with cut.recording.path.open("rb") as whole:
            path.write_bytes(b"".join(line for _, line in zip(range(records), whole, strict=False)))
        command = [sys.executable, "-m", "ullage", arguments[0], str(path), *arguments[1:], "--json"]
        homes = {f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in ("DATA", "CONFIG", "STATE", "CACHE")}
        known = {**os.environ, "HOME": folder, **homes}
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, env=known, check=False)
    try:
        return msgspec.json.decode(done.stdout, type=dict[str, Any])
    except msgspec.DecodeError:
        print(f"ullage {arguments[0]} of {cut.name}: {done.stderr.decode(errors='replace')[-300:]}", file=sys.stderr)
        return {}


def _context(compacted: dict[str, Any]) -> str:
    found: list[str] = []
    for message in as_list(compacted.get("messages")):
        speaker = "User" if message.get("role") == "user" else "Agent"
        content = message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else as_list(content):
            text = str(block.get("text") or "")
            match block.get("type"):
                case "text":
                    found.append(text if text.startswith("[Compaction") else f"{speaker}: {text}")
                case "tool_use":
                    found.append(f"Call {block.get('name')}: {msgspec.json.encode(block.get('input')).decode()}")
                case "tool_result":
                    parts = block.get("content")
                    texts = [parts] if isinstance(parts, str) else [str(one.get("text", "")) for one in as_list(parts)]
                    found.append("Result: " + "\n".join(texts))
                case _:
                    pass
    return "\n\n".join(found)


# Baselines


def tail(events: Sequence[Event], room: int) -> str:
    """Returns the newest events that fit in this many characters."""
    found: list[str] = []
    used = 0
    for event in reversed([event for event in events if event.kind in (TYPED, SAID, CALL, RESULT)]):
        text = rendered(event)
        if used + len(text) > room:
            break
        found.append(text)
        used += len(text) + 2
    return "\n\n".join(reversed(found))


def first_and_tail(events: Sequence[Event], room: int) -> str:
    """Returns the first message, at most a third of the room, and the newest events."""
    first = next((f"User: {event.text}" for event in events if event.kind == TYPED), "")[: room // 3]
    return f"{first}\n\n{tail(events, room - len(first) - 2)}"


# Controls


def shuffled(page: str, seed: int) -> str:
    """Returns a page with its words in any order."""
    every = page.split()
    random.Random(seed).shuffle(every)
    rest = iter(every)
    return "\n".join(re.sub(r"\S+", lambda _: next(rest, ""), line) for line in page.splitlines())


# A word or two may say something by luck ("yes"); under so many points of a hundred a control says nothing.
_NOTHING = 5.0
# One shuffle may place lines by luck.
_WORKERS, _SHUFFLES = 2, 3


class Measured(Struct, frozen=True, kw_only=True):
    """One page at one cut."""

    cut: str
    arm: str
    chars: int
    verdicts: tuple[Verdict, ...]


def run(paths: Sequence[Path], *, detail: bool = False) -> Report:
    found = [cut for path in _files(paths) if (recording := read_recording(path)) for cut in cuts(recording)]
    with ProcessPoolExecutor(_WORKERS) as pool:
        measured = [each for many in pool.map(_measure, found) for each in many]
    if detail:
        for each in measured:
            _show(each)
    return Report(bench="state", rows=[*_rows(measured), *_kind_rows(measured)], aims=[*_aims(measured)])


def _files(paths: Sequence[Path]) -> list[Path]:
    found = {file for path in paths or [TRANSCRIPTS] for file in ([path] if path.is_file() else path.rglob("*.jsonl"))}
    return sorted(found)


def _measure(cut: Cut) -> list[Measured]:
    truth = fold(cut.before, cut.recording.folder)
    made = pages(cut)
    words = [(f"{arm}: {SHUFFLED}", shuffled(made[arm], seed)) for arm in (BRIEFED, OURS) for seed in range(_SHUFFLES)]
    return [
        Measured(cut=cut.name, arm=arm, chars=len(text), verdicts=tuple(judge(read_page(text), truth)))
        for arm, text in (*made.items(), *words)
    ]


def judge(page: Page, truth: Truth) -> list[Verdict]:
    """Returns a verdict for each item, and one for each wrong statement about what is no item (such as a done task)."""
    return [*judge_said(page, truth), *judge_work(page, truth), *judge_checks(page, truth)]


def score(verdicts: Sequence[Verdict]) -> float | None:
    """Returns right less wrong in percent of the items; None without items."""
    items = sum(not verdict.extra for verdict in verdicts)
    counted = sum(verdict.end == RIGHT for verdict in verdicts) - sum(verdict.end == WRONG for verdict in verdicts)
    return 100 * counted / items if items else None


def _ends(verdicts: Sequence[Verdict]) -> Row:
    return {end: sum(verdict.end == end for verdict in verdicts) for end in (RIGHT, WRONG, ABSENT)}


def _rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for arm in ARMS:
        own = [each for each in measured if each.arm == arm]
        verdicts = [verdict for each in own for verdict in each.verdicts]
        by_kind = [value for kind in Kind if (value := score([v for v in verdicts if v.kind is kind])) is not None]
        yield {
            "arm": arm,
            "cuts": len({each.cut for each in own}),
            "tokens": round(median([each.chars for each in own] or [0]) / CHARS),
            "state truth": score(verdicts),
            "mean of kinds": sum(by_kind) / len(by_kind) if by_kind else None,
            **_ends(verdicts),
        }


def _kind_rows(measured: Sequence[Measured]) -> Iterator[Row]:
    for kind in Kind:
        for arm in ARMS:
            own = [v for each in measured if each.arm == arm for v in each.verdicts if v.kind is kind]
            if own:
                yield {"kind": kind.value, "by arm": arm, "score": score(own), **_ends(own)}


def _aims(measured: Sequence[Measured]) -> Iterator[Aim]:
    for arm in ARMS:
        if arm.endswith(SHUFFLED):
            value = score([v for each in measured if each.arm == arm for v in each.verdicts])
            yield at_most(f"control, {arm}", value or 0.0, _NOTHING)


def _show(each: Measured) -> None:
    for verdict in each.verdicts:
        said = f" | {verdict.why}" if verdict.why else ""
        quote = f" | {verdict.quote[:200]}" if verdict.quote else ""
        item = " ".join(verdict.item.split())[:160]
        print(f"{each.cut}\t{each.arm}\t{verdict.kind}\t{verdict.end}\t{item}{said}{quote}", file=sys.stderr)
