"""Measures how well the tracker predicts the size of the next prompt, on recorded conversations with the provider's
usage.

For each assistant message with a usage, the tracker's figure before that message is the prediction, and the usage gives
the true size of the prompt. Two kinds of usage are left out: the first of a session, because the overhead is not known
yet, and the first after an edit or a change to another tokenizer. No session starts with a learned calibration. Errors
are shares of the reported prompt. Two more aims check errors that users are shown: of the first figure after an
agent's own compaction, and that of the approximate counter.

The compactions and the first prompt after each are found in the logs of Claude Code as JSON lines, by nothing of
Ullage's: what a reader overlooks would else be missing in the figure and in the truth that it is compared with. The
recordings of other agents have no usage on both sides of a compaction.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple, cast

from msgspec import Struct

from benches.report import Aim, Report, at_least, at_most, percentile, recorded
from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import ContextEdited, MessageAppended, ModelChanged, Record, UsageReported
from ullage.model.message import Role
from ullage.model.usage import UsageSource
from ullage.policy.evidence import Compacted
from ullage.service.conversation.projection import Projection
from ullage.system.growing_files import parse_transcript
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import ERROR_SHARE, ApproximateCounter, TokenCounter, get_counter
from ullage.tokens.families import family_of


class First(NamedTuple):
    """The first prompt after a compaction: how many lines of the file come before its answer, and its tokens as the
    provider reported them."""

    lines: int
    prompt: int


def first_prompts(file: Path) -> list[First]:
    """Returns the first prompts after the compactions of a log, in order; none if the file is no log of Claude Code. A
    compaction before which no usage was reported is left out: nothing has shown then what the log does not hold."""
    found: list[First] = []
    waits, begun, has_reported = False, -1, False
    for number, line in enumerate(map(_read, file.read_bytes().split(b"\n"))):
        if _at(line, "subtype") == "compact_boundary":
            waits, begun = has_reported, -1
        elif _is_answer(line):
            begun = number if begun < 0 else begun
            usage = _at(line, "message", "usage")
            passes = [one for one in _at(usage, "iterations") or () if _at(one, "type") == "message"]
            last = (passes or [usage])[-1]
            prompt = sum(_at(last, f"{name}input_tokens") or 0 for name in ("", "cache_read_", "cache_creation_"))
            if prompt and waits:
                found.append(First(begun, prompt))
            waits, has_reported = waits and not prompt, has_reported or prompt > 0
    return found


def _is_answer(line: Any) -> bool:
    is_model = _at(line, "type") == "assistant" and _at(line, "message", "model") != "<synthetic>"
    return is_model and _at(line, "isSidechain") is not True


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


MEDIAN_AIM, P95_AIM = 0.003, 0.015


def run(paths: Sequence[Path]) -> Report:
    """Returns one row per conversation with at least three usages. The aims hold for the worst session."""
    transcripts = recorded(paths)
    rows = [row for path, transcript in transcripts if (row := measure(path, transcript)) is not None]
    return Report(
        bench="accuracy",
        rows=rows,
        aims=[
            at_most("median error, worst session", max((row["median"] for row in rows), default=1.0), MEDIAN_AIM),
            at_most("95th percentile, worst session", max((row["p95"] for row in rows), default=1.0), P95_AIM),
            *_after_compactions(transcripts),
            at_most(
                "mean error of the approximate counter",
                mean(error for _, transcript in transcripts for error in approximate_errors(transcript)),
                ERROR_SHARE,
            ),
        ],
    )


def _after_compactions(recordings: Sequence[tuple[Path, ImportedTranscript]]) -> list[Aim]:
    """Returns the aims for the first figure after an agent's own compaction, for conversations alone and for those of
    which the agent's other conversations are known. Which prompts are looked for is read from the logs alone."""
    prompts = {path: first_prompts(path) for path, _ in recordings}
    seen = {path: (known.format, _folded(known).evidence.compactions) for path, known in recordings if prompts[path]}
    aims: list[Aim] = []
    for what in ("alone", "others known"):
        firsts: list[FirstFigure] = []
        for path, (format_name, _) in seen.items():
            same = [found for other, (name, found) in seen.items() if other != path and name == format_name]
            others = tuple(one for found in same for one in found if one.tells or one.rest > one.hidden)
            lines = path.read_bytes().split(b"\n")
            for first in prompts[path]:
                begin = read_document(parse_transcript(b"\n".join(lines[: first.lines]) + b"\n", str(path)))
                reading = _folded(begin, others if what != "alone" else ()).tracker.reading
                off = abs(reading.used - first.prompt)
                firsts.append(FirstFigure(off=off / first.prompt, is_within=off <= reading.error_share * reading.used))
        off = [first.off for first in firsts] or [1.0]
        name = f"after an agent's compaction, {what}"
        aims += [
            at_most(f"{name}: median error", median(off), 0.06),
            at_most(f"{name}: 90th percentile", percentile(off, 0.9), 0.2),
            at_least(f"{name}: share within the error stated", mean([one.is_within for one in firsts] or [0.0]), 0.9),
        ]
    return aims


def _folded(transcript: ImportedTranscript, others: tuple[Compacted, ...] = ()) -> Projection:
    """Returns a conversation read to its end. `others` are the compactions of the agent's other conversations."""
    counter = get_counter(transcript.model)
    session = Projection(counter, _calibration(counter), others=lambda _format: others)
    session.apply([Record(position=at, timestamp=at, event=event) for at, event in enumerate(transcript.events)])
    return session


def measure(path: Path, transcript: ImportedTranscript) -> dict[str, Any] | None:
    """Returns the errors of one conversation, or None if fewer than two prompts can be predicted."""
    errors = [abs(predicted - reported) / reported for predicted, reported in predictions(transcript)]
    if len(errors) < 2:
        return None
    return {
        "session": f"{path.parent.name}/{path.name}",
        "model": transcript.model,
        "predicted": len(errors),
        "median": median(errors),
        "p95": percentile(errors, 0.95),
        "max": max(errors),
    }


def predictions(transcript: ImportedTranscript) -> Iterator[tuple[int, int]]:
    """Yields (predicted, reported) tokens of each prompt for which the tracker's figure is not only an estimate."""
    counter = get_counter(transcript.model)
    session = Projection(counter, _calibration(counter))
    known: dict[str, Calibration] = {}
    expected: dict[str, int] = {}
    for position, event in enumerate(transcript.events):
        reading = session.tracker.reading
        match event:
            case MessageAppended(message=message) if message.role is Role.ASSISTANT:
                if reading.source is not UsageSource.ESTIMATED:
                    expected[message.id] = reading.used
            case UsageReported() if event.usage.prompt and event.message_id in expected:
                yield expected.pop(event.message_id), event.usage.prompt
            case ModelChanged(model=model):
                known[session.transcript.model] = session.tracker.calibration
                counter = get_counter(model)
                if counter.name != session.counter.name:
                    session.use_counter(counter, known.get(model, _calibration(counter)))
                    expected.clear()
            case ContextEdited():
                expected.clear()
            case _:
                pass
        session.apply([Record(position=position, timestamp=position, event=event)])


class FirstFigure(Struct, frozen=True, kw_only=True):
    """The first figure after a compaction: its error as a share of the reported prompt, and whether that is within the
    error that it states."""

    off: float
    is_within: bool


def approximate_errors(transcript: ImportedTranscript) -> Iterator[float]:
    """Yields the approximate counter's error against o200k for each message of at least 20 tokens."""
    exact, approximate = get_counter("gpt-4o"), ApproximateCounter(family_of("gpt-4o"))
    for event in transcript.events:
        if isinstance(event, MessageAppended) and (counted := exact.count_message(event.message)) >= 20:
            yield abs(approximate.count_message(event.message) - counted) / counted


def _calibration(counter: TokenCounter) -> Calibration:
    return Calibration.prior(counter.error_share)
