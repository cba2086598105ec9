"""Measures what each cheap rung of the ladder saves on recorded conversations, and what planning it costs in time.

Each rung is planned alone on the whole conversation, and its saving is a share of the conversation's tokens. `together`
plans all rungs one after another, which a real run does only until the target is met. Settings are the defaults and the
window is 200,000 tokens. `lost` counts lines of files that repeated reads removed and that no later message shows; it
must be 0.
"""

from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any

from benches.report import Report, at_most, read_file, transcript_files
from ullage.agents.file_lines import file_lines
from ullage.edits.counted import CountedView, Stamp
from ullage.model.blocks import ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import MessageAppended, Record
from ullage.model.message import Message
from ullage.model.settings import ContextSettings
from ullage.policy.budget import make_budget
from ullage.policy.decision import result_tokens
from ullage.service.conversation.projection import Projection
from ullage.service.plan.ladder import CHEAP, REPEATS, Rung, Terms, climb
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter

_WINDOW = 200_000
# Shorter conversations never come near a threshold.
_LEAST = 3_000


def run(paths: Sequence[Path]) -> Report:
    """Returns one row per conversation. The aim holds for all conversations."""
    rows = [row for path in transcript_files(paths) if (row := measure(path)) is not None]
    lost = sum(row["lost"] for row in rows)
    return Report(bench="edits", rows=rows, aims=[at_most("lines of files lost", lost, 0)])


def measure(path: Path) -> dict[str, Any] | None:
    """Returns the savings of one conversation, or None if the conversation is too short."""
    session = _open(path)
    view = session.counted_view()
    if view.used < _LEAST:
        return None
    shares = {rung.what: _saved(view, session, (rung,)) / view.used for rung in CHEAP}
    start = perf_counter()
    together = _saved(view, session, CHEAP) / view.used
    seconds = perf_counter() - start
    return {
        "session": f"{path.parent.name}/{path.name}",
        "messages": len(view.items),
        "tokens": view.used,
        **shares,
        "together": together,
        "ms": seconds * 1_000,
        "lost": lost_lines(view, session),
    }


def lost_lines(view: CountedView, session: Projection) -> int:
    """Counts the lines that are removed with repeated reads and are in no later message."""
    after = view
    for _, edit in climb((REPEATS,), view, _terms(session)):
        after = view.after(edit)
    later: set[str] = set()
    lost = 0
    for before, now in zip(reversed(view.messages), reversed(after.messages), strict=True):
        later |= set(_lines(now))
        lost += len(set(_lines(before)) - later)
    return lost


def _open(path: Path) -> Projection:
    """Opens the conversation as it was before its own edits."""
    transcript = read_file(path)
    counter = get_counter(transcript.model)
    session = Projection(counter, Calibration.prior(counter.error_share))
    messages = (event for event in transcript.events if isinstance(event, MessageAppended))
    session.apply([Record(position=i, timestamp=i, event=event) for i, event in enumerate(messages)])
    return session


def _saved(view: CountedView, session: Projection, rungs: Sequence[Rung]) -> int:
    return sum(edit.tokens_saved for _, edit in climb(rungs, view, _terms(session)))


def _terms(session: Projection) -> Terms:
    numbers = count()
    settings = ContextSettings()
    return Terms(
        limit=0,
        usable=0,
        settings=settings,
        transcript=session.transcript,
        new_stamp=lambda: Stamp(id=f"e{next(numbers)}", timestamp=0),
        relied=frozenset(),
        result_tokens=result_tokens(make_budget(_WINDOW, None, settings), settings.max_result_tokens),
    )


def _lines(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case TextBlock(text=text) | ResourceBlock(text=str(text)):
                texts = [text]
            case ToolResultBlock(content=parts):
                texts = [part.text for part in parts if isinstance(part, TextBlock)]
            case ToolUseBlock(input=given):
                texts = [value for value in given.values() if isinstance(value, str)]
            case _:
                texts = []
        for text in texts:
            yield from (line.text for line in file_lines(text))
