"""Measures how well the tracker predicts the size of the next prompt, on recorded conversations with the provider's
usage.

For each assistant message with a usage, the tracker's figure before that message is the prediction, and the usage gives
the true size of the prompt. Two kinds of usage are left out: the first of a session, because the overhead is not known
yet, and the first after an edit or a change to another tokenizer. No session starts with a learned calibration. Errors
are shares of the reported prompt. Two more aims check errors that users are shown: of the first figure after an
agent's own compaction, and that of the approximate counter.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from msgspec import Struct

from benches.report import Aim, Report, at_most, percentile, recorded
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.edits import CompactionEdit
from ullage.model.events import ContextEdited, MessageAppended, ModelChanged, Record, UsageReported
from ullage.model.message import Role
from ullage.model.usage import Usage, UsageSource
from ullage.policy.evidence import Compacted
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import ERROR_SHARE, ApproximateCounter, TokenCounter, get_counter
from ullage.tokens.families import family_of
from ullage.tokens.tracker import ContextReading

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
            *_after_compactions([transcript for _, transcript in transcripts]),
            at_most(
                "mean error of the approximate counter",
                mean(error for _, transcript in transcripts for error in approximate_errors(transcript)),
                ERROR_SHARE,
            ),
        ],
    )


def _after_compactions(transcripts: Sequence[ImportedTranscript]) -> list[Aim]:
    """Returns the aims for the first figure after an agent's own compaction, for conversations alone and for those of
    which the agent's other conversations are known."""
    transcripts = [transcript for transcript in transcripts if after_compactions(transcript).seen]
    alone = [after_compactions(transcript) for transcript in transcripts]
    known = [after_compactions(transcript, _others(transcript, transcripts, alone)) for transcript in transcripts]
    aims: list[Aim] = []
    for what, replays in (("alone", alone), ("others known", known)):
        firsts = [first for replay in replays for first in replay.firsts] or [FirstFigure(off=1.0, said=0.0)]
        off = [first.off for first in firsts]
        aims += [
            at_most(f"after an agent's compaction, {what}: median error", median(off), 0.06),
            at_most(f"after an agent's compaction, {what}: 90th percentile", percentile(off, 0.9), 0.2),
            at_most(
                f"after an agent's compaction, {what}: mean error less the mean error stated",
                mean(off) - mean(first.said for first in firsts),
                0.01,
            ),
        ]
    return aims


def _others(
    transcript: ImportedTranscript, transcripts: Sequence[ImportedTranscript], replays: Sequence["Compactions"]
) -> tuple[Compacted, ...]:
    same = zip(transcripts, replays, strict=True)
    others = [replay for other, replay in same if other is not transcript and other.format == transcript.format]
    return tuple(one for replay in others for one in replay.seen if one.tells)


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
    """The first figure after a compaction: its error, and the error that it states, as shares of the reported prompt
    and of the figure."""

    off: float
    said: float


class Compactions(Struct, frozen=True, kw_only=True):
    """The compactions of one conversation by its agent, and the first figure after each that a usage follows. Left out
    are those before which no usage had shown the hidden part."""

    firsts: tuple[FirstFigure, ...]
    seen: tuple[Compacted, ...]


def after_compactions(transcript: ImportedTranscript, others: tuple[Compacted, ...] = ()) -> Compactions:
    """Replays a conversation. `others` are the compactions of the agent's other conversations that are known."""
    counter = get_counter(transcript.model)
    session = Projection(counter, _calibration(counter), others=lambda _format: others)
    waits, expected = False, dict[str, ContextReading]()
    firsts: list[FirstFigure] = []
    for position, event in enumerate(transcript.events):
        reading = session.tracker.reading
        match event:
            case ContextEdited(edit=CompactionEdit(by_agent=True)):
                waits = session.tracker.totals != Usage()
            case MessageAppended(message=message) if waits and message.role is Role.ASSISTANT:
                expected, waits = {message.id: reading}, False
            case UsageReported(usage=usage, message_id=answer) if answer in expected and usage.prompt:
                first = expected.pop(answer)
                off = abs(first.used - usage.prompt) / usage.prompt
                firsts.append(FirstFigure(off=off, said=first.error_share))
            case _:
                pass
        session.apply([Record(position=position, timestamp=position, event=event)])
    return Compactions(firsts=tuple(firsts), seen=session.evidence.compactions)


def approximate_errors(transcript: ImportedTranscript) -> Iterator[float]:
    """Yields the approximate counter's error against o200k for each message of at least 20 tokens."""
    exact, approximate = get_counter("gpt-4o"), ApproximateCounter(family_of("gpt-4o"))
    for event in transcript.events:
        if isinstance(event, MessageAppended) and (counted := exact.count_message(event.message)) >= 20:
            yield abs(approximate.count_message(event.message) - counted) / counted


def _calibration(counter: TokenCounter) -> Calibration:
    return Calibration.prior(counter.error_share)
