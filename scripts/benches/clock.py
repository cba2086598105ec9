"""Measures how well the clock of the prompt cache foretells, on recorded conversations of Claude Code.

Before each answer the clock says whether the prompt is still in the provider's cache, and what it costs. Whether it was
is read here from the file itself: the provider read at least half as many tokens from its cache as the request before
had in all. Nearly all requests follow soon and find it, so two controls stand beside the clock: one that always says
"kept", and the clock with the times of the requests in another order.
"""

import json
import random
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benches.report import Report, at_least, at_most, median, recorded
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import price_of
from ullage.model.events import MessageAppended, Record, SessionCreated, UsageReported
from ullage.model.message import Role
from ullage.model.usage import PromptCache, Usage
from ullage.policy.prompt_cache import prompt_cache
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter


class Request(Struct, frozen=True):
    """A request as the file has it: its time in Unix milliseconds, its tokens, and those of the request before it."""

    at: int
    new: int
    read: int
    written: int
    before: int

    @property
    def was_kept(self) -> bool:
        return self.read >= self.before / 2


class Foretold(Struct, frozen=True):
    """What the clock said before a request, and what came."""

    cache: PromptCache
    request: Request
    cost: float | None

    def says_kept(self, at: int) -> bool:
        return at < self.cache.until


def run(paths: Sequence[Path]) -> Report:
    """Returns a row of the clock and one of each control."""
    found = recorded(paths)
    told = [one for path, transcript in found for one in _foretold(path, transcript)]
    times = [one.request.at for one in told]
    random.Random(5).shuffle(times)
    rows = [
        _row("clock", [(one.says_kept(one.request.at), one.request.was_kept) for one in told]),
        _row("control: always kept", [(True, one.request.was_kept) for one in told]),
        _row(
            "control: times shuffled",
            [(one.says_kept(at), one.request.was_kept) for one, at in zip(told, times, strict=True)],
        ),
    ]
    off = [error for one in told if (error := _price_error(one)) is not None]
    ours, always, shuffled = rows
    return Report(
        bench="clock",
        rows=[*rows, {"prices": len(off), "median error": round(median(off), 4), "within 5 %": _share(off)}],
        aims=[
            at_least("foretold", ours["right"], 0.98),
            at_most("wrong beside the control that always says kept", ours["wrong"] / max(1, always["wrong"]), 0.75),
            at_most("control: times shuffled, misses foretold that were none", shuffled["gone, right"], 0.1),
            at_most("price of the next request, median error", median(off), 0.05),
        ],
    )  # fmt: skip


def _row(name: str, said: Sequence[tuple[bool, bool]]) -> dict[str, Any]:
    right = sum(told == was for told, was in said)
    gone = [was for told, was in said if not told]
    missed = [told for told, was in said if not was]
    return {
        "what": name,
        "requests": len(said),
        "right": round(right / max(1, len(said)), 4),
        "wrong": len(said) - right,
        "misses": len(missed),
        "misses foretold": sum(not told for told in missed),
        "gone, right": round(sum(not was for was in gone) / max(1, len(gone)), 4),
    }


def _share(off: Sequence[float]) -> float:
    return round(sum(error <= 0.05 for error in off) / max(1, len(off)), 4)


def _price_error(one: Foretold) -> float | None:
    said = one.cache.warm if one.says_kept(one.request.at) else one.cache.cold
    return None if said is None or not one.cost else abs(said - one.cost) / one.cost


def _requests(path: Path) -> Iterator[Request]:
    """Yields the requests of a file of Claude Code, in its order: each answer once, of the conversation itself."""
    answers: dict[str, tuple[int, dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = json.loads(line)
            message = record["message"]
            used, at = message["usage"], int(datetime.fromisoformat(record["timestamp"]).timestamp() * 1_000)
        except (ValueError, KeyError, TypeError):
            continue
        if record.get("type") == "assistant" and not record.get("isSidechain") and message["model"] != "<synthetic>":
            answers[message["id"]] = (answers.get(message["id"], (at, used))[0], used)
    before = 0
    for at, used in answers.values():
        new, read, written = (
            int(used.get(name) or 0)
            for name in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        yield Request(at, new, read, written, before)
        before = new + read + written


def _foretold(path: Path, transcript: ImportedTranscript) -> Iterator[Foretold]:
    """Yields what the clock said before each request that the file and the reading of it have alike."""
    if not _is_log(path, transcript):
        return
    requests = list(_requests(path))
    projection = Projection(get_counter(transcript.model), Calibration.prior(0.15), cost=_cost)
    said: dict[str, PromptCache | None] = {}
    done: set[str] = set()
    for position, event in enumerate((SessionCreated(model=transcript.model), *transcript.events), 1):
        if isinstance(event, MessageAppended) and event.message.role is Role.ASSISTANT:
            used = projection.tracker.reading.used
            said.setdefault(event.message.id, prompt_cache(projection.cached, used, projection.price))
        if isinstance(event, UsageReported) and event.message_id not in done:
            done.add(event.message_id)
            cache, usage = said.get(event.message_id), event.usage
            counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
            found = next((one for one in requests if (one.new, one.read, one.written) == counts), None)
            if found is not None:
                requests = requests[requests.index(found) + 1 :]
                if cache is not None and found.before:
                    yield Foretold(cache, found, projection.price(replace(usage, output_tokens=0)))
        projection.apply([Record(position=position, timestamp=0, event=event)])


def _is_log(path: Path, transcript: ImportedTranscript) -> bool:
    return path.suffix == ".jsonl" and transcript.agent == "Claude Code"


def _cost(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.cost(usage)
