"""Counts a session after a turn, as `ullage context` does, for the note with the next prompt.

It is a process of its own, which the agent does not wait for. A file of 65 MB takes seconds to read, and most of it was
there after the turn before. So the state of its reader and a snapshot of the conversation are kept, and only what was
added is read.
"""

import asyncio
import gc
import os
import sys
import time
from _thread import interrupt_main, start_new_thread
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage import __version__
from ullage.agents.transcripts import detect_format, format_named
from ullage.api.protocol import usage_result
from ullage.cli.arguments import ReadingOptions
from ullage.cli.hooks.hook_state import HookState
from ullage.cli.reports import Figures, figures_of
from ullage.cli.session_source import open_source, throwaway_copy
from ullage.cli.store_choice import chosen_store, local_store
from ullage.formats.transcripts.format import OpenReading, open_reading, reading_from
from ullage.model.events import EditReverted, Event, MessageAppended, SessionCreated
from ullage.model.usage import Breakdown, MessageCount, UsageSource
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.projection import counted
from ullage.service.ports.agent_files import Appended, Mark, Pieces, Replaced
from ullage.service.ports.store import StoredSession
from ullage.system.growing_files import GrowingFiles

# Seconds, far more than the longest transcripts take on a busy machine; and those in which it may still end by itself
# after that, so that its temporary store is deleted.
_LIFE, _LAST = 60, 10
# Bytes of a file from which on its reading is kept, and the part by which it has grown until it is kept again: as much
# is read in a tenth of a second, and what is written of a large file stays a small multiple of it.
_WORTH, _GROWN = 1 << 20, 8


def main(words: Sequence[str]) -> None:
    """Counts the session in a file: `words` are the place of the store, "" for the usual one, the session,
    the file's path, or "" if the session is found by its id, when this was asked for, in Unix nanoseconds, and the
    model's window if the agent names it. Raises `UllageError` or `OSError` if the file can't be read or the figure
    can't be kept."""
    # A search for garbage finds none in what is read, and takes a third of the time.
    gc.disable()
    store, session, path, asked_at, *window = words
    source = ReadingOptions(
        store=chosen_store(store), target=path or session, window=int(window[0]) if window else None
    )
    start_new_thread(_end_in_time, ())
    asyncio.run(_count(source, path, int(asked_at), HookState(local_store(store), session)))


async def _count(options: ReadingOptions, path: str, asked_at: int, kept: HookState) -> None:
    """Keeps the figure with the names that it has in a row of the live file."""
    figure = await _figures(options, path, kept)
    row = {
        "asked_at": asked_at,
        "used": figure.used,
        "used_source": figure.source,
        "window": figure.window,
        "compacts_at": figure.compacts_at,
        "warns_at": figure.warns_at,
        "calls_left": (figure.calls_left.low, figure.calls_left.high) if figure.calls_left else None,
    }
    kept.note_figure(msgspec.json.encode(row))


async def _figures(options: ReadingOptions, path: str, kept: HookState) -> Figures:
    figures = await reported_figures(options, path, kept) if path else None
    if figures is not None:
        return figures
    async with open_source(options) as source:
        return figures_of(usage_result(source.conversation))


def _end_in_time() -> None:
    time.sleep(_LIFE)
    interrupt_main()
    time.sleep(_LAST)
    os._exit(0)


class _KeptReading(Struct, frozen=True, kw_only=True):
    """A reading that is kept. `by` is the version of Ullage that has read the file at `path` up to `mark`, as `format`;
    `state` is the reader's. `snapshot` is the conversation's, whose log has `records` records."""

    by: str
    path: str
    format: str
    mark: Mark
    state: bytes
    snapshot: bytes
    records: int


class _Open(Struct, frozen=True, kw_only=True):
    """A file that was read up to `mark`; `kept` is what the reading began with, None if it began with the file."""

    reading: OpenReading
    mark: Mark
    kept: _KeptReading | None


async def reported_figures(options: ReadingOptions, path: str, kept: HookState) -> Figures | None:
    """Returns the figures of the session in the file at `path`, whose parts are not those of an import. Returns None if
    the file must be read and counted whole: if it is no file of lines that an agent adds to, or if its figures are not
    those that the agent's provider reported. Raises `UllageError` or `OSError`."""
    before = _read_kept(kept, path)
    found = _opened(Path(path), before) if before else None
    found = found or _opened(Path(path), None)
    return await _figured(options, found, kept, path) if found else None


async def _figured(options: ReadingOptions, found: _Open, kept: HookState, path: str) -> Figures | None:
    builder, before = found.reading.builder, found.kept
    events = builder.drain()
    builder.forget()
    state = found.reading.state() if builder.first_model and _is_worth(found) else None
    found.reading.finish()
    rest, transcript = builder.drain(), builder.finish()
    # A snapshot lacks what is archived, so nothing can come back to it.
    if any(isinstance(event, EditReverted) for event in (*(events if before else ()), *rest)):
        return None
    with throwaway_copy(replace(transcript, model=builder.model), options) as workspace:
        if before is None:
            events = (SessionCreated(cwd=builder.cwd, model=builder.first_model, title=builder.title), *events)
        records = before.records if before else 0
        draft = workspace.project(StoredSession(records=()), builder.model)
        # What came before the provider's last report is not counted: the report has it.
        new = await counted(draft, events) if before else _uncounted(draft.counter.name, events)
        snapshot = before.snapshot if before else None
        stored = StoredSession(
            records=tuple(workspace.records(records, new)), snapshot=snapshot, snapshot_position=records - 1
        )
        projection = workspace.project(stored, builder.model)
        if state is not None:
            reading = _KeptReading(
                by=__version__,
                path=path,
                format=found.reading.format,
                mark=replace(found.mark, stat=()),
                state=state,
                snapshot=projection.snapshot(),
                records=records + len(new),
            )
            kept.note_reading(msgspec.msgpack.encode(reading))
        projection.apply(workspace.records(records + len(new), await counted(draft, rest)))
        if projection.tracker.reading.source is not UsageSource.REPORTED:
            return None
        return figures_of(usage_result(Conversation("", workspace, projection, lambda _: None)))


def _opened(path: Path, kept: _KeptReading | None) -> _Open | None:
    """Reads a file from its beginning, or on from where it was `kept`. Returns None if that is not possible."""
    files = GrowingFiles()
    growth = files.read_on(path, kept.mark if kept else None, pieces=Pieces.NONE)
    if kept is None:
        if not isinstance(growth, Replaced) or growth.mark.offset < 0:
            return None
        reading = open_reading(detect_format(growth.document), growth.document)
        return _Open(reading=reading, mark=growth.mark, kept=None) if reading and reading.goes_on else None
    reading = reading_from(format_named(kept.format), kept.state)
    while reading and isinstance(growth, Appended) and reading.goes_on_with(growth.lines):
        reading.take(growth.lines)
        if not growth.more:
            return _Open(reading=reading, mark=growth.mark, kept=kept)
        growth = files.read_on(path, growth.mark)
    return None


def _read_kept(kept: HookState, path: str) -> _KeptReading | None:
    try:
        found = msgspec.msgpack.decode(kept.reading(), type=_KeptReading)
    except msgspec.DecodeError:
        return None
    return found if (found.by, found.path) == (__version__, path) else None


def _is_worth(found: _Open) -> bool:
    known = found.kept.mark.offset if found.kept else 0
    return found.mark.offset - known >= max(_WORTH, known // _GROWN)


def _uncounted(counter: str, events: tuple[Event, ...]) -> list[Event]:
    nothing = MessageCount(counter=counter, parts=Breakdown())
    return [replace(event, count=nothing) if isinstance(event, MessageAppended) else event for event in events]


if __name__ == "__main__":
    main(sys.argv[1:])
