"""Measures the archive search in a large store: what its index takes, and how long a search takes.

The store has `MESSAGES` messages: the first characters of those of recorded conversations, each conversation many times
as a session of its own, so that every word is as common as it would be in a store of this size. The questions are those
that `search_questions.py` makes of the conversations. Times are of the processor, of whole searches with a complete
index. The index's size is that of its tables, without the file's free pages.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count, cycle
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benches.report import Report, at_most, percentile, recorded
from benches.search_questions import conversation, make_questions
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.message import Message, TextBlock
from ullage.store import open_store
from ullage.store.search.indexed_text import message_text
from ullage.store.table_store import TableStore

MESSAGES = 100_000
# Characters of a message that are kept: most have fewer, and the longest would be most of the store.
_CHARS = 1_500
_QUESTIONS = 150
_SIZE_AIM, _P50_AIM_MS = 0.5, 30.0


def run(paths: Sequence[Path]) -> Report:
    """Returns a row for the index and one for each searched place."""
    recordings = [messages for _, transcript in recorded(paths) if (messages := conversation(transcript))]
    questions = [(number, one.text) for number, messages in enumerate(recordings) for one in make_questions(messages)]
    questions = questions[:: max(1, len(questions) // _QUESTIONS)]
    with TemporaryDirectory(prefix="ullage-search-") as folder, open_store(Path(folder) / "s.db") as store:
        text = sum(fill(store, recordings, MESSAGES))
        before = store.path.stat().st_size
        started = time.process_time()
        while store.index_some():
            pass
        seconds = time.process_time() - started
        size = _index_size(store.path)
        indexing = {
            "messages": MESSAGES,
            "text mb": text / 1e6,
            "log mb": before / 1e6,
            "index mb": size / 1e6,
            "index / text": size / text,
            "seconds to index": seconds,
        }
        searched = [
            _searched("all", questions, lambda _, query: store.search(query, None)),
            _searched("one session", questions, lambda number, query: store.search(query, f"s{number}")),
        ]
    aims = [at_most("index / text", size / text, _SIZE_AIM)]
    aims += [at_most(f"{row['searched']}: p50 ms of the processor", row["p50 ms"], _P50_AIM_MS) for row in searched]
    return Report(bench="search-large", rows=[indexing, *searched], aims=aims)


def fill(store: TableStore, recordings: Sequence[Sequence[Message]], left: int) -> Iterator[int]:
    """Fills the store with so many messages. Yields the bytes of the searchable text of each session."""
    for number, messages in zip(count(), cycle(recordings)):
        if left <= 0:
            return
        texts = [message_text(message)[:_CHARS] for message in messages[:left]]
        left -= len(texts)
        events = [
            SessionCreated(),
            *(
                MessageAppended(message=Message(id=message.id, role=message.role, content=(TextBlock(text=text),)))
                for message, text in zip(messages, texts, strict=False)
            ),
        ]
        store.create(f"s{number}", [Record(position=at, timestamp=at, event=event) for at, event in enumerate(events)])
        yield sum(len(text.encode("utf-8", "replace")) for text in texts)


def _searched(where: str, questions: Sequence[tuple[int, str]], search: Callable[[int, str], object]) -> dict[str, Any]:
    times: list[float] = []
    for number, query in questions:
        started = time.process_time()
        search(number, query)
        times.append(1e3 * (time.process_time() - started))
    return {
        "searched": where,
        "questions": len(times),
        "p50 ms": percentile(times, 0.5),
        "p95 ms": percentile(times, 0.95),
    }


def _index_size(path: Path) -> int:
    """Returns the bytes of the index's tables: of their content, which their pages hold nearly nothing besides."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql IS NOT NULL")
            if name.startswith(("message_words_", "message_text_", "message_chunks"))
        ]
        return sum(_table_size(connection, table) for table in tables)


def _table_size(connection: sqlite3.Connection, table: str) -> int:
    columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
    # A number is counted as 4 bytes, which few of these need.
    sizes = " + ".join(
        f"CASE typeof({name}) WHEN 'integer' THEN 4 ELSE coalesce(length(CAST({name} AS BLOB)), 0) END"
        for name in columns
    )
    return connection.execute(f"SELECT coalesce(sum({sizes}), 0) FROM {table}").fetchone()[0]
