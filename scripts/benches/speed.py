"""Measures what a session's length and a compaction cost, as ratios to a floor measured in the same run."""

import asyncio
import gc
import json
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benches import speed_fitting
from benches.report import Aim, Report, at_most, median, read_file, transcript_files
from benches.speed_fitting import made_up
from ullage.app.compose import open_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.settings import ContextSettings, Settings
from ullage.service import imports, sessions
from ullage.service.archive import undo as history
from ullage.service.compact.by_hand import ManualRequest, compact_by_hand
from ullage.service.conversation import projection
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.tokens.counter import forget_pieces
from ullage.tokens.vocabulary import load_encoding

SHORT, LONG = 100, 50_000
APPENDS = 400
RUNS = 5
APPEND_AIM = 1.5
COMPACT_AIM = 10.0
MODEL = "bench-model"

Measured = tuple[dict[str, Any], Aim]


def run(paths: Sequence[Path]) -> Report:
    """Measures appends to a short and a long session, offline compaction of the largest transcript, and fitting."""
    transcripts = [_read(path) for path in transcript_files(paths)]
    measured = [
        asyncio.run(_with_workspace(measure_appends)),
        *(asyncio.run(_with_workspace(measure_compaction, each)) for each in _largest(transcripts)),
    ]
    fitting = speed_fitting.measure(transcripts)
    return Report(
        bench="speed",
        rows=[*(row for row, _ in measured), *fitting.rows],
        aims=[*(aim for _, aim in measured), *fitting.aims],
    )


async def measure_appends(workspace: Workspace) -> Measured:
    """Returns the median time of an append with its new total, in turn for both sessions, so that load slows both
    equally."""
    short, long = await _session(workspace, SHORT), await _session(workspace, LONG)
    gc.collect()
    times: dict[str, list[float]] = {short.id: [], long.id: []}
    for number in range(APPENDS):
        for session, at in ((short, LONG + 2 * number), (long, LONG + 2 * number + 1)):
            (message,) = made_up(at, at + 1)
            began = time.perf_counter()
            await sessions.append(session, [message], None)
            assert session.used > 0
            times[session.id].append(time.perf_counter() - began)
    what = f"append to {LONG:,} messages, floor: to {SHORT}"
    return _compare(what, median(times[short.id]), median(times[long.id]), APPEND_AIM)


async def measure_compaction(workspace: Workspace, transcript: ImportedTranscript) -> Measured:
    """Compares a whole offline compaction, stored and published, with tokenizing the same text once without a cache."""
    session = await imports.import_transcript(workspace, transcript, "")
    encoding = load_encoding("o200k_base")
    floors: list[float] = []
    ours: list[float] = []
    saved = 0
    for _ in range(RUNS):
        texts = [text for message in session.transcript.view for text in _texts(message)]
        floors.append(_time(lambda texts=texts: [encoding.encode_ordinary(text) for text in texts]))
        forget_pieces()
        began = time.perf_counter()
        done = await compact_by_hand(session, ManualRequest())
        ours.append(time.perf_counter() - began)
        saved = done.edit.tokens_saved
        history.undo(session, None)
    what = f"compact {len(transcript.events):,} events ({saved:,} tokens saved), floor: tokenise once"
    return _compare(what, median(floors), median(ours), COMPACT_AIM)


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _texts(message: Message) -> Iterator[str]:
    for block in message.content:
        match block:
            case TextBlock(text=text) | ThinkingBlock(thinking=text):
                yield text
            case ToolUseBlock(input=given):
                yield json.dumps(given)
            case ToolResultBlock(content=parts):
                yield from (part.text for part in parts if isinstance(part, TextBlock))
            case _:
                pass


def _compare(what: str, floor: float, ours: float, aim: float) -> Measured:
    row = {"what": what, "floor_ms": 1000 * floor, "ours_ms": 1000 * ours, "ratio": ours / floor}
    return row, at_most(f"{what}: ratio", ours / floor, aim)


async def _with_workspace(measure: Callable[..., Awaitable[Measured]], *rest: object) -> Measured:
    """Runs a measurement on a temporary store. No window is so small that anything would be compacted automatically."""
    settings = Settings(context=ContextSettings(enabled=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workspace(Path(folder) / "bench.db", settings) as workspace,
    ):
        return await measure(workspace, *rest)


async def _session(workspace: Workspace, messages: int) -> Conversation:
    session = sessions.new_session(workspace, SessionCreated(model=MODEL))
    for start in range(0, messages, 1_000):
        await sessions.append(session, made_up(start, min(start + 1_000, messages)), None)
    return session


def _largest(transcripts: list[ImportedTranscript]) -> list[ImportedTranscript]:
    return sorted(transcripts, key=_characters)[-1:]


def _characters(transcript: ImportedTranscript) -> int:
    return sum(
        projection.counting_work(event.message) for event in transcript.events if isinstance(event, MessageAppended)
    )


def _read(path: Path) -> ImportedTranscript:
    return read_file(path)
