"""How much of an earlier summary is still text after later compactions: sentences kept, in their order.

A session begins with a summary; the conversation continues as recorded and is compacted again, up to five
times, at equal distances. Each time there is at least as much new text as the room holds; where less was recorded,
fewer compactions follow. Counted are the sentences of the first summary (five words or more, each once) that are in
the text of the later one in the same order: the longest sequence whose order is that of the first. Code is not
counted, nor are sections that a later state replaces (plan, state, next step, open tasks, lists of files and names),
nor the line with which an agent's program opens its summary. The user's messages move to the front of a page; if an
agent's summary lists them at its end, they count as lost.

Two kinds of summaries are followed: the agent's own at recorded compactions, and Ullage's at the same places and of at
most the same size. The room of the later compactions is three times that size; further rows, without an aim,
have only that size.
"""

import re
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct

from benches.quality_page import read_page
from benches.quality_sessions import COUNTER, RealCompaction, Recorded, fit, open_events
from benches.report import Aim, at_least
from ullage.agents.inserted import is_summary
from ullage.model.blocks import CompactionBlock
from ullage.model.events import Event, MessageAppended
from ullage.model.marker import render_marker
from ullage.model.message import Message
from ullage.service import sessions

ROOMS = (3, 1)
ROUNDS = 5
AIMS = {1: 90, ROUNDS: 70}
_FEWEST_WORDS = 5
_SUPERSEDED = re.compile(
    r"^(?:files|commands|identifiers|details)$"
    r"|\b(?:plan|state of work|status|next|open|pending|remaining|current|progress|last modified|where to look)\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?;])\s+")
_NOT_WORDS = re.compile(r"[^\w/.-]+")


class Kept(Struct, frozen=True, kw_only=True):
    """The number of the first summary's sentences, and how many of them were kept in order after each later
    compaction."""

    whose: str
    room: int
    sentences: int
    rounds: tuple[int, ...]


async def earlier_rows(recorded: Sequence[Recorded], names: tuple[str, str]) -> tuple[list[dict[str, Any]], list[Aim]]:
    """Returns a row per kind of summary and room, and the aims for the larger room. `names` are those of Ullage's and
    of the agent's summaries."""
    followed = [kept for each in recorded for c in each.compactions async for kept in _follow(each, c, names)]
    rows: list[dict[str, Any]] = []
    aims: list[Aim] = []
    for room in ROOMS:
        for whose in names:
            own = [kept for kept in followed if (kept.whose, kept.room) == (whose, room)]
            shares = {rounds: _share(own, rounds) for rounds in AIMS}
            rows += [_row(own, shares)] if own else []
            for rounds, share in shares.items():
                if room == ROOMS[0] and share is not None:
                    what = f"sentences of an earlier summary ({whose}) in order after {rounds} more"
                    aims.append(at_least(what, share, AIMS[rounds]))
    return rows, aims


def _row(own: Sequence[Kept], shares: dict[int, float | None]) -> dict[str, Any]:
    return {
        "earlier summary": own[0].whose,
        "room": f"{own[0].room} x its size",
        "summaries": len(own),
        "sentences": sum(kept.sentences for kept in own),
        "in order after 1": shares[1],
        f"with {ROUNDS}": sum(len(kept.rounds) >= ROUNDS for kept in own),
        f"in order after {ROUNDS}": shares[ROUNDS],
    }


def _share(followed: Sequence[Kept], rounds: int) -> float | None:
    own = [kept for kept in followed if len(kept.rounds) >= rounds]
    whole = sum(kept.sentences for kept in own)
    return 100 * sum(kept.rounds[rounds - 1] for kept in own) / whole if whole else None


async def _follow(recorded: Recorded, compaction: RealCompaction, names: tuple[str, str]) -> AsyncIterator[Kept]:
    ours, theirs = names
    size = COUNTER.count(render_marker(compaction.block))
    head = tuple(MessageAppended(message=message) for message in recorded.messages[: compaction.at])
    for whose, events, first in ((ours, head, size), (theirs, compaction.events, None)):
        for room in ROOMS:
            places = _places(recorded, compaction.at, room * size)
            kept = await _compact_on(recorded, [compaction.at, *places], events, (first, room * size))
            if kept and kept[0]:
                yield Kept(whose=whose, room=room, sentences=len(kept[0]), rounds=tuple(map(len, kept[1:])))


def _places(recorded: Recorded, at: int, room: int) -> list[int]:
    """Returns where the session is compacted after message `at`: up to five places, a room apart at least."""
    before, behind = sum(recorded.tokens[:at]), sum(recorded.tokens[at:])
    count = min(ROUNDS, behind // room)
    found = [recorded.place(before + behind * step / count) for step in range(1, count)]
    return [*(place for place in found if place), len(recorded.messages)] if count else []


async def _compact_on(
    recorded: Recorded, places: Sequence[int], events: Sequence[Event], rooms: tuple[int | None, int]
) -> list[list[str]]:
    """Returns the sentences of the summary at the first place, and those of them that are left after each compaction.
    The first of `rooms` is for a summary that is still to be made, the second for all later ones."""
    if len(places) < 2:
        return []
    async with open_events(events) as (workspace, session_id):
        if rooms[0] is not None:
            await fit(workspace, session_id, rooms[0])
        marker = _marker(workspace.open(session_id).transcript.view)
        if marker is None:
            return []
        wanted = sentences_of(render_marker(marker))
        kept = [wanted]
        for start, stop in pairwise(places):
            await sessions.append(workspace.open(session_id), list(recorded.messages[start:stop]), None)
            newer = _marker((await fit(workspace, session_id, rooms[1])).messages)
            if newer is not None and newer.compaction_number > marker.compaction_number:
                kept.append(in_order(wanted, render_marker(newer)))
                marker = newer
    return kept


def _marker(messages: Sequence[Message]) -> CompactionBlock | None:
    return next((block for message in messages if (block := message.compaction)), None)


def sentences_of(page: str) -> list[str]:
    """Returns the sentences of a summary that should last, as words, each once."""
    return list(dict.fromkeys(_sentences(page)))


def _sentences(page: str) -> Iterator[str]:
    for entry in read_page(page).entries:
        framed = entry.text.startswith("[Compaction ") or is_summary(entry.text)
        if not _SUPERSEDED.search(entry.heading) and not framed:
            for sentence in _END.split(entry.text):
                words = _words(sentence)
                if len(words.split()) >= _FEWEST_WORDS:
                    yield words


def in_order(sentences: Sequence[str], page: str) -> list[str]:
    """Returns the longest part of `sentences` that is on a page in this order."""
    text = f" {_words(page)} "
    placed = [(place, sentence) for sentence in sentences if (place := text.find(f" {sentence} ")) >= 0]
    # Chains by their length: the last place of the best chain of each length, and the chain.
    ends: list[int] = []
    chains: list[list[str]] = []
    for place, sentence in placed:
        length = bisect_left(ends, place)
        chain = [*(chains[length - 1] if length else []), sentence]
        ends[length : length + 1] = [place]
        chains[length : length + 1] = [chain]
    return chains[-1] if chains else []


def _words(text: str) -> str:
    return " ".join(_NOT_WORDS.sub(" ", text.lower()).split())
