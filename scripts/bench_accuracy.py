#!/usr/bin/env python3
"""How well the next prompt is predicted, on recorded conversations that carry the provider's usage.

Before each assistant message that a report belongs to, the tracker's figure is taken as prediction of the prompt that
the report gives. Left out: a session's first report (nothing is known of the hidden part yet) and the first one after
an edit of the context or a change of model. Every session starts without anything learned.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from ullage.formats import read
from ullage.formats.imported import ImportedTranscript
from ullage.model.events import ContextEdited, MessageAppended, ModelChanged, Record, UsageReported
from ullage.model.message import Message, Role
from ullage.model.usage import UsageSource
from ullage.service.session import Session
from ullage.tokens.approximate import ApproximateCounter
from ullage.tokens.calibration import Calibration
from ullage.tokens.families import family_of
from ullage.tokens.registry import get_counter

MEDIAN_AIM, P95_AIM = 0.005, 0.03


def run(paths: Sequence[Path]) -> dict[str, Any]:
    """One row per conversation with at least three reports, and whether all of them are within the aims."""
    rows = [row for path in paths if (row := measure(path)) is not None]
    return {
        "bench": "accuracy",
        "rows": rows,
        "aims": [
            _aim("largest median error of a session", [row["median"] for row in rows], MEDIAN_AIM),
            _aim("largest 95th percentile of a session", [row["p95"] for row in rows], P95_AIM),
        ],
    }


def measure(path: Path) -> dict[str, Any] | None:
    """One conversation's errors as shares of the reported prompts; None when it has too few reports."""
    transcript = read(path.read_bytes(), path.name)
    errors = [abs(predicted - actual) / actual for predicted, actual in predictions(transcript)]
    if len(errors) < 2:
        return None
    return {
        "session": f"{path.parent.name}/{path.name}",
        "model": transcript.model,
        "reports": len(errors),
        "median": median(errors),
        "p95": percentile(errors, 0.95),
        "max": max(errors),
    }


def predictions(transcript: ImportedTranscript) -> Iterator[tuple[int, int]]:
    """(predicted, reported) tokens of each prompt but those where no report speaks of the context."""
    session = Session("bench", get_counter(transcript.model), Calibration())
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
                known[session.model] = session.tracker.calibration
                session.use_counter(get_counter(model), known.get(model, Calibration()))
                expected.clear()
            case ContextEdited():
                expected.clear()
            case _:
                pass
        session.apply([Record(position=position, timestamp=position, event=event)])


def approximate_error(paths: Sequence[Path]) -> float:
    """Mean error of the approximate counter against o200k over single messages of at least 20 tokens."""
    exact = get_counter("gpt-4o")
    approximate = ApproximateCounter(family_of("gpt-4o"))
    errors = [
        abs(approximate.count_message(message) - counted) / counted
        for path in paths
        for message in _messages(path)
        if (counted := exact.count_message(message)) >= 20
    ]
    return mean(errors)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of all do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def _messages(path: Path) -> Iterator[Message]:
    for event in read(path.read_bytes(), path.name).events:
        if isinstance(event, MessageAppended):
            yield event.message


def _aim(what: str, values: Sequence[float], aim: float) -> dict[str, Any]:
    worst = max(values, default=0.0)
    return {"what": what, "value": worst, "aim": aim, "met": bool(values) and worst <= aim}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--approximate", action="store_true", help="measure the approximate counter instead")
    parser.add_argument("paths", type=Path, nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.approximate:
        print(f"{approximate_error(arguments.paths):.1%}")
        return
    for row in run(arguments.paths)["rows"]:
        print(f"{row['median']:8.3%} {row['p95']:8.3%} {row['max']:8.3%} {row['reports']:4} {row['session']}")


if __name__ == "__main__":
    main()
