"""Measures how often the archive search finds the answer to a question, compared with plain FTS5 on the same messages.

Questions and their evidence are made from recorded conversations; `search_questions.py` states the rule. The messages
before a question's cut, those of all conversations together, are in one store. The store is searched twice: within the
question's own session, and everywhere. *Plain* is an FTS5 table with one message per row, SQLite's default tokenizer
and `bm25`, and it matches any word of the question.

A question is answered if one of the first 5 (or 10) hits is evidence. MRR is the mean of 1/rank of the first evidence.
Conversations are assigned in turn to `dev`, on which the search was tuned, and to `held-out`, on which it was not
tuned. The aims hold for `held-out`. Times are of whole searches with a complete index.
"""

import re
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from benches.report import Aim, Report, at_most, percentile, read_file, transcript_files
from benches.search_questions import CUTS, Question, conversation, make_questions
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.message import Message
from ullage.store import open_store
from ullage.store.search.indexed_text import message_text

HALVES = ("dev", "held-out")
HITS = 10
# Clearly better than plain: of the questions that plain leaves unanswered, at most this share may stay unanswered.
LEFT_AIM = 0.5
P95_AIM_MS = 50.0

Found = Sequence[tuple[str, int]]
Search = Callable[[str, str | None], Found]


class Asked(Struct, frozen=True, kw_only=True):
    """A conversation in the archive, with the questions about it."""

    session_id: str
    half: str
    messages: Sequence[Message]
    questions: Sequence[Question]


class Answer(Struct, frozen=True, kw_only=True):
    """The outcome of one question: the rank of the first evidence, from 1, or None if no hit is evidence; and the
    search's time in ms."""

    half: str
    where: str
    search: str
    kind: str
    rank: int | None
    ms: float


def run(paths: Sequence[Path]) -> Report:
    """Returns one row for each combination of half, searched place and search."""
    asked = list(_ask(paths))
    answers = [answer for share in range(len(CUTS)) for answer in _answers_at(asked, share)]
    groups: dict[tuple[str, str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.half, answer.where, answer.search].append(answer)
    rows = [_row(*key, group) for key, group in sorted(groups.items())]
    return Report(bench="search", rows=rows, aims=list(_aims(groups)))


def _ask(paths: Sequence[Path]) -> Iterator[Asked]:
    number = 0
    for path in transcript_files(paths):
        messages = conversation(read_file(path))
        questions = make_questions(messages)
        if questions:
            half = HALVES[number % len(HALVES)]
            yield Asked(session_id=f"s{number}", half=half, messages=messages, questions=questions)
            number += 1


def _answers_at(asked: Sequence[Asked], share: int) -> Iterator[Answer]:
    """Yields the answers to the questions of one cut, from an archive of the messages before that cut."""
    archive = {one.session_id: one.messages[: int(len(one.messages) * CUTS[share])] for one in asked}
    with TemporaryDirectory() as folder, open_store(Path(folder) / "s.db") as store, closing(_plain(archive)) as plain:
        for session_id, messages in archive.items():
            store.create(session_id, _log(messages))

        def ullage(text: str, session_id: str | None) -> Found:
            return [(hit.session_id, hit.index) for hit in store.search(text, session_id, HITS)]

        ullage("everything is indexed by the first search", None)
        searches: dict[str, Search] = {"ullage": ullage, "plain": lambda text, one: _search_plain(plain, text, one)}
        for one in asked:
            for question in one.questions:
                if question.cut == len(archive[one.session_id]):
                    yield from _answers(one, question, searches)


def _answers(one: Asked, question: Question, searches: dict[str, Search]) -> Iterator[Answer]:
    evidence = {(one.session_id, index) for index in question.evidence}
    for where, session_id in (("session", one.session_id), ("all", None)):
        for name, search in searches.items():
            start = time.perf_counter()
            found = search(question.text, session_id)
            ms = (time.perf_counter() - start) * 1e3
            rank = next((rank for rank, hit in enumerate(found, 1) if hit in evidence), None)
            yield Answer(half=one.half, where=where, search=name, kind=question.kind, rank=rank, ms=ms)


def _log(messages: Sequence[Message]) -> list[Record]:
    events = [SessionCreated(), *(MessageAppended(message=message) for message in messages)]
    return [Record(position=position, timestamp=position, event=event) for position, event in enumerate(events)]


def _plain(archive: dict[str, Sequence[Message]]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE plain USING fts5 (text, session_id UNINDEXED, number UNINDEXED)")
    connection.executemany(
        "INSERT INTO plain VALUES (?, ?, ?)",
        (
            (message_text(message).encode("utf-8", "replace").decode(), session_id, number)
            for session_id, messages in archive.items()
            for number, message in enumerate(messages)
        ),
    )
    return connection


def _search_plain(connection: sqlite3.Connection, text: str, session_id: str | None) -> Found:
    words = " OR ".join(f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text)))
    return connection.execute(
        "SELECT session_id, number FROM plain WHERE plain MATCH :words AND (:id IS NULL OR session_id = :id) "
        "ORDER BY rank LIMIT :hits",
        {"words": words, "id": session_id, "hits": HITS},
    ).fetchall()


def _within(answers: Sequence[Answer], rank: int) -> float:
    return mean(answer.rank is not None and answer.rank <= rank for answer in answers)


def _row(half: str, where: str, search: str, answers: Sequence[Answer]) -> dict[str, Any]:
    kinds: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        kinds[answer.kind].append(answer)
    return {
        "conversations": half,
        "searched": where,
        "search": search,
        "questions": len(answers),
        "top5": _within(answers, 5),
        "top10": _within(answers, HITS),
        "mrr": mean(1 / answer.rank if answer.rank else 0.0 for answer in answers),
        **{f"top5 {kind}": _within(group, 5) for kind, group in sorted(kinds.items())},
        "p50 ms": percentile([answer.ms for answer in answers], 0.5),
        "p95 ms": percentile([answer.ms for answer in answers], 0.95),
    }


def _aims(groups: dict[tuple[str, str, str], list[Answer]]) -> Iterator[Aim]:
    half = HALVES[-1]
    for where in ("session", "all"):
        ours, plain = groups.get((half, where, "ullage"), []), groups.get((half, where, "plain"), [])
        for rank in (5, HITS) if ours else ():
            missed, missed_plain = (1 - _within(answers, rank) for answers in (ours, plain))
            what = f"{half}, {where}: unanswered in the top {rank}, as a share of what plain FTS5 leaves"
            yield at_most(what, missed / missed_plain if missed_plain else float(missed > 0), LEFT_AIM)
        yield at_most(f"{half}, {where}: p95 ms", percentile([answer.ms for answer in ours], 0.95), P95_AIM_MS)
