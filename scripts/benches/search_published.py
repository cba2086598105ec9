"""Measures the archive search on published questions about long conversations (`search_datasets.py` reads them).

Each conversation is a store of its own, each of its sittings a session, and every search is of the whole store. The
share of a question's evidence that is among the first 5 (or 10) hits is its recall; `hit@5` is the share of questions
with any evidence there, and `session hit@5` the share with a hit of a session that has evidence, which is what others
publish. Conversations are assigned in turn to `even` and `odd`: numbers are chosen on the even ones. Times are of the
processor. With `--embeddings URL MODEL`, that server orders what the words find; then they are of little use.
Nothing is measured unless files are named, because the sets are not part of Ullage.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from benches.report import Aim, Report, at_least, percentile
from benches.search_datasets import Place, Talk, Turn, read_talks
from ullage.app.compose import workspace_on
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.settings import SearchSettings, Settings
from ullage.service.archive.search import search
from ullage.service.ports.world import SearchWait
from ullage.store import open_store

_HITS = 10
# Seconds that an embeddings server may take for a question.
_PATIENCE = 600.0
# Recall among the first 5 and the first 10 hits.
_AIMS = {"LoCoMo": (0.68, 0.77), "BEAM": (0.42, 0.55), "LongMemEval": (0.96, 0.98)}


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


def _row(dataset: str, half: str, answers: Sequence[_Answer]) -> dict[str, Any]:
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
