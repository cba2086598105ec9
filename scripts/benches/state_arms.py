"""The pages that the state bench measures: what an agent kept, what Ullage writes, and baselines of the same size.

Ullage is run from outside, as `ullage lost --brief` and `ullage compact`, on the part of the file that was written at
the cut.
All sizes are characters; four count as a token, for every arm alike.
"""

import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from benches.state_page import names
from benches.state_records import CALL, COMPACTED, RESULT, SAID, TYPED, Event, Recording, as_list, rendered
from benches.state_truth import Truth

CHARS = 4
AGENT, BRIEFED, LINED, OURS = "agent", "agent + brief", "agent + lines", "ullage"
FIRST_TAIL, TAIL_LINES = "first + tail", "tail + lines"
ARMS = (AGENT, BRIEFED, LINED, OURS, FIRST_TAIL, TAIL_LINES)
SHUFFLED_LINES, SHUFFLED_WORDS, NAMES, EMPTY = "shuffled lines", "shuffled words", "bare names", "empty page"
# Under so many tokens Ullage has no room for a summary: then only what the agent kept is measured, with the brief.
FEWEST_TOKENS = 300
_TIMEOUT_S = 120
# Ullage counts in its own tokens: how often it is asked to come close to the room, and how close is close enough.
_TRIES, _ENOUGH, _AIMED = 3, 0.93, 0.98
_MOST_OF_LINE = 400
_SAMPLE_SHARE, _NEWEST_SHARE = 0.25, 0.5


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
    """Returns the compactions that left a text."""
    found = [Cut(recording=recording, at=at) for at, event in enumerate(recording.events) if event.kind == COMPACTED]
    return [cut for cut in found if (cut.compaction.text + cut.compaction.kept).strip() and cut.before]


def pages(cut: Cut) -> dict[str, str]:
    """Returns the page of each arm; arms that need more room than the agent took are left out."""
    kept = "\n\n".join(text for text in (cut.compaction.text, cut.compaction.kept) if text.strip())
    brief = run_brief(cut)
    room = len(kept)
    found = {AGENT: kept, BRIEFED: f"{kept}\n\n{brief}" if brief else kept}
    if room < FEWEST_TOKENS * CHARS:
        return found
    return found | {
        LINED: f"{kept}\n\n{tail_and_lines(cut.before, len(brief))}",
        OURS: run_compact(cut, room),
        FIRST_TAIL: first_and_tail(cut.before, room),
        TAIL_LINES: tail_and_lines(cut.before, room),
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


def tail_and_lines(events: Sequence[Event], room: int) -> str:
    """Returns the newest events, and in a quarter of the room lines from before them, those with the rarest names."""
    newest = tail(events, int(room * (1 - _SAMPLE_SHARE)))
    seen = set(newest.splitlines())
    every = (line for event in events for line in rendered(event).splitlines())
    of_line = {line: names(line) for line in every if line not in seen and len(line) <= _MOST_OF_LINE}
    often = Counter(name for found in of_line.values() for name in found)
    ranked = sorted(of_line, key=lambda line: -sum(1 / often[name] for name in of_line[line]))
    left = room - len(newest) - 2
    chosen: set[str] = set()
    for line in ranked:
        if len(line) + 3 <= left:
            chosen.add(line)
            left -= len(line) + 3
    quoted = "\n".join(f"> {line}" for line in of_line if line in chosen)
    return f"{quoted}\n\n{newest}"


# Controls


def controls(page: str, truth: Truth, seed: int) -> dict[str, str]:
    """Returns pages that say nothing: a page's lines and words in any order, the names alone, and none."""
    chance = random.Random(seed)
    lines = page.splitlines()
    chance.shuffle(lines)
    every = page.split()
    chance.shuffle(every)
    rest = iter(every)
    shuffled = "\n".join(re.sub(r"\S+", lambda _: next(rest, ""), line) for line in page.splitlines())
    return {SHUFFLED_LINES: "\n".join(lines), SHUFFLED_WORDS: shuffled, NAMES: "\n".join(_bare(truth)), EMPTY: ""}


def _bare(truth: Truth) -> Iterable[str]:
    yield from (file.path for file in truth.files)
    yield from (name for file in truth.files for name in sorted(file.edited))
    yield from (task.subject for task in truth.tasks)
    yield from (run.command for run in truth.runs)
    yield from (commit.sha for commit in truth.commits)
    yield from (name for problem in truth.problems for name in sorted(problem.signs | problem.mend))
