"""Measures the archive search: what it finds (`search-published`), and what it takes in a large store (`search-large`).

What it finds is asked by published questions about long conversations (`search_datasets.py` reads them). Each
conversation is a store of its own, each of its sittings a session, and every search is of the whole store. The share of
a question's evidence that is among the first 5 (or 10) hits is its recall; `hit@5` is the share of questions with any
evidence there, and `session hit@5` the share with a hit of a session that has evidence, which is what others publish.
Conversations are assigned in turn to `even` and `odd`: numbers are chosen on the even ones. Times are of the processor.
With `--embeddings URL MODEL`, that server orders what the words find; then they are of little use. Nothing is measured
unless files are named, because the sets are not part of Ullage.

A large store has the first characters of recorded messages, each conversation many times as a session of its own, so
that every word is as common as it would be in a store of this size. A question is three rare words of a message in a
sentence. The index's size is that of its tables, without the file's free pages.
"""

import asyncio
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import count, cycle
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
from msgspec import Struct

from benches.report import Aim, Report, Row, at_least, at_most, in_turns, percentile, recorded
from benches.search_datasets import Place, Talk, Turn, read_talks
from support.postgres_server import PostgresServer
from ullage.app.compose import workspace_on
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.message import Message, TextBlock
from ullage.model.settings import SearchSettings, Settings
from ullage.service.archive.search import search
from ullage.service.ports.models import SearchWait
from ullage.store import open_store
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres
from ullage.store.postgres.text_index import read_expression
from ullage.store.search.word_index import message_text, stem
from ullage.store.table_store import TableStore

MESSAGES = 100_000
# Characters of a message that are kept: most have fewer, and the longest would be most of the store.
_CHARS = 1_500
_SIZE_AIM, _P50_AIM_MS = 0.5, 30.0
# Questions in SQLite and in PostgreSQL, and in the latter the messages.
_QUESTIONS, _FEW_QUESTIONS = 150, 60
IN_POSTGRES = 5_000
_SENTENCE = "where did {} and {} come up before, and what was {}?"
_WORD = re.compile(r"[A-Za-z]{4,}")

_HITS = 10
# Seconds that an embeddings server may take for a question.
_PATIENCE = 600.0
# Recall among the first 5 and the first 10 hits.
_AIMS = {"LoCoMo": (0.68, 0.77), "BEAM": (0.42, 0.55)}


class _Answer(Struct, frozen=True, kw_only=True):
    """The outcome of one question: its recall in the first 5 and 10 hits, the rank of the first evidence and of the
    first hit in a session with evidence (None if there is none), and the search's time in ms."""

    recall5: float
    recall10: float
    rank: int | None
    session_rank: int | None
    ms: float


def run(paths: Sequence[Path], embeddings: Sequence[str] = ("", "")) -> Report:
    """Returns a row for each set of questions and half of it, and one for the whole. `embeddings` are the address
    and the model of the server that orders what the words find. Raises `RuntimeError` if it gives no vectors."""
    server = SearchSettings(embeddings_url=embeddings[0], embeddings_model=embeddings[1])
    groups: dict[tuple[str, str], list[_Answer]] = defaultdict(list)
    counts: dict[str, count[int]] = defaultdict(count)
    for talk in (talk for path in paths for talk in read_talks(path) if talk.questions):
        half = ("even", "odd")[next(counts[talk.dataset]) % 2]
        for answer in _answers(talk, server):
            groups[talk.dataset, half].append(answer)
            groups[talk.dataset, "all"].append(answer)
    rows = [_row(*key, answers) for key, answers in sorted(groups.items())]
    return Report(bench="search-published", rows=rows, aims=list(_aims(groups)))


def _answers(talk: Talk, server: SearchSettings) -> Iterator[_Answer]:
    with TemporaryDirectory(prefix="ullage-search-") as folder, open_store(Path(folder) / "s.db") as store:
        for number, turns in enumerate(talk.sessions):
            store.create(f"s{number}", _log(turns))
        while store.index_some():
            pass
        workspace = workspace_on(store, Settings(search=server))
        workspace.search_wait = SearchWait(embeddings=_PATIENCE)
        for question in talk.questions:
            started = time.process_time()
            answer = asyncio.run(search(workspace, None, question.text, _HITS))
            ms = 1e3 * (time.process_time() - started)
            if answer.note:
                raise RuntimeError(answer.note)
            found: list[Place] = [(int(hit.session_id[1:]), hit.index) for hit in answer.hits]
            sessions = {session for session, _ in question.evidence}
            recalls = [len(question.evidence.intersection(found[:most])) / len(question.evidence) for most in (5, 10)]
            yield _Answer(
                recall5=recalls[0],
                recall10=recalls[1],
                rank=next((rank for rank, place in enumerate(found, 1) if place in question.evidence), None),
                session_rank=next((rank for rank, (session, _) in enumerate(found, 1) if session in sessions), None),
                ms=ms,
            )


def _log(turns: Sequence[Turn]) -> list[Record]:
    first = turns[0].time if turns else 0
    appended = (
        Record(position=at, timestamp=turn.time, event=MessageAppended(message=turn.message))
        for at, turn in enumerate(turns, 1)
    )
    return [Record(position=0, timestamp=first, event=SessionCreated()), *appended]


def _row(dataset: str, half: str, answers: Sequence[_Answer]) -> Row:
    return {
        "questions of": dataset,
        "half": half,
        "questions": len(answers),
        "recall@5": mean(one.recall5 for one in answers),
        "recall@10": mean(one.recall10 for one in answers),
        "hit@5": _within([one.rank for one in answers]),
        "mrr": mean(1 / one.rank if one.rank else 0.0 for one in answers),
        "session hit@5": _within([one.session_rank for one in answers]),
        "p50 ms": percentile([one.ms for one in answers], 0.5),
    }


def _within(ranks: Sequence[int | None]) -> float:
    return mean(rank is not None and rank <= 5 for rank in ranks)


def _aims(groups: dict[tuple[str, str], list[_Answer]]) -> Iterator[Aim]:
    for dataset, (aim5, aim10) in _AIMS.items():
        if answers := groups.get((dataset, "all")):
            yield at_least(f"{dataset}: recall@5", mean(one.recall5 for one in answers), aim5)
            yield at_least(f"{dataset}: recall@10", mean(one.recall10 for one in answers), aim10)


# A large store


def large(paths: Sequence[Path]) -> Report:
    """Returns a row for the index and one for each searched place."""
    recordings = _recordings(paths)
    questions = questions_of(recordings, _QUESTIONS)
    with TemporaryDirectory(prefix="ullage-search-") as folder, open_store(Path(folder) / "s.db") as store:
        text = sum(fill(store, recordings, MESSAGES))
        before = store.path.stat().st_size
        started = time.process_time()
        while store.index_some():
            pass
        indexing = {"messages": MESSAGES, "text mb": text / 1e6, "log mb": before / 1e6}
        indexing |= {"seconds to index": time.process_time() - started, "index mb": _index_size(store.path) / 1e6}
        indexing["index / text"] = indexing["index mb"] / indexing["text mb"]
        searched = [
            _taken("all", questions, lambda _, query: store.search(query, None)),
            _taken("one session", questions, lambda number, query: store.search(query, f"s{number}")),
        ]
    aims = [at_most("index / text", indexing["index / text"], _SIZE_AIM)]
    aims += [at_most(f"{row['searched']}: p50 ms of the processor", row["p50 ms"], _P50_AIM_MS) for row in searched]
    return Report(bench="search-large", rows=[indexing, *searched], aims=aims)


def _recordings(paths: Sequence[Path]) -> list[list[Message]]:
    found = (
        [event.message for event in one.events if isinstance(event, MessageAppended)] for _, one in recorded(paths)
    )
    return [messages for messages in found if messages]


def questions_of(recordings: Sequence[Sequence[Message]], most: int) -> list[tuple[int, str]]:
    """Returns questions, spread over all messages, each with the number of its conversation."""
    texts = [(number, message_text(one)) for number, messages in enumerate(recordings) for one in messages]
    spread = Counter(word for _, text in texts for word in {*_WORD.findall(text)})
    found: list[tuple[int, str]] = []
    for number, text in texts:
        # A word of one message alone may be a part of data.
        words = sorted({word for word in _WORD.findall(text) if spread[word] > 1}, key=lambda one: (spread[one], one))
        if len(words) >= 3:
            found.append((number, _SENTENCE.format(*words[:3])))
    return found[:: max(1, len(found) // most)]


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


def _taken(where: str, questions: Sequence[tuple[int, str]], find: Callable[[int, str], object]) -> Row:
    times: list[float] = []
    for number, query in questions:
        started = time.process_time()
        find(number, query)
        times.append(1e3 * (time.process_time() - started))
    p50, p95 = percentile(times, 0.5), percentile(times, 0.95)
    return {"searched": where, "questions": len(times), "p50 ms": p50, "p95 ms": p95}


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


# In PostgreSQL


def in_postgres(server: PostgresServer, paths: Sequence[Path]) -> Row:
    """Returns a row for the search among some thousand messages."""
    recordings = _recordings(paths)
    address = server.new_schema()
    schema = address.rpartition("%3D")[2]
    with open_postgres(address) as store, psycopg.connect(server.address(schema), autocommit=True) as bare:
        sum(fill(store, recordings, IN_POSTGRES))
        while store.index_some():
            pass
        bare.execute("VACUUM ANALYZE")
        return _searched(store, bare, [text for _, text in questions_of(recordings, _FEW_QUESTIONS)])


def _searched(store: PostgresStore, bare: psycopg.Connection[Any], questions: Sequence[str]) -> Row:
    """The floor is one bare query for the same words, ranked by PostgreSQL itself."""

    def rank(number: int) -> object:
        words = " OR ".join(f'"{stem(word)}"' for word in questions[number].lower().split() if word.isalpha())
        return bare.execute(
            "SELECT row_id FROM message_words, CAST(%s AS tsquery) AS query WHERE tokens @@ query "
            "ORDER BY ts_rank(tokens, query) DESC LIMIT 10",
            (read_expression(words or '"a"'),),
        ).fetchall()

    floor, ours = in_turns(len(questions), rank, lambda number: store.find_passages(questions[number]))
    row: Row = {"search among messages, floor: ranked by ts_rank": f"{IN_POSTGRES:,}"}
    for share in (0.5, 0.95):
        mine, theirs, name = percentile(ours, share), percentile(floor, share), f"p{100 * share:.0f}"
        row |= {f"{name} floor_ms": 1000 * theirs, f"{name} ours_ms": 1000 * mine, f"{name} ratio": mine / theirs}
    return row
