"""Counts a session after a turn, as `ullage context` does, for the note with the next prompt.

It is a process of its own, which the agent does not wait for. Sessions that another process follows need none.
"""

import asyncio
import gc
import os
import sys
import time
from _thread import interrupt_main, start_new_thread
from collections.abc import Sequence

import msgspec

from ullage.api.values import usage_result
from ullage.cli.hooks.counted_reading import reported_figures
from ullage.cli.hooks.kept import Kept
from ullage.cli.reported_figures import Figures, figures_of
from ullage.cli.session_source import open_source
from ullage.cli.store_choice import chosen_store, local_store
from ullage.cli.typed_arguments import ReadingOptions

# Seconds, far more than the longest transcripts take on a busy machine; and those in which it may still end by itself
# after that, so that its temporary store is deleted.
_LIFE, _LAST = 60, 10


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
    asyncio.run(_count(source, path, int(asked_at), Kept(local_store(store), session)))


async def _count(options: ReadingOptions, path: str, asked_at: int, kept: Kept) -> None:
    """Keeps the figure with the names that it has in a row of the live file."""
    figure = await _figures(options, path, kept)
    row = {
        "asked_at": asked_at,
        "used": figure.used,
        "used_source": figure.source,
        "window": figure.window,
        "compacts_at": figure.compacts_at,
        "calls_left": (figure.calls_left.low, figure.calls_left.high) if figure.calls_left else None,
    }
    kept.note_figure(msgspec.json.encode(row))


async def _figures(options: ReadingOptions, path: str, kept: Kept) -> Figures:
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


if __name__ == "__main__":
    main(sys.argv[1:])
