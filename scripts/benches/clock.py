"""Measures how well the clock of the prompt cache foretells, on recorded conversations of Claude Code.

Before each answer the clock says whether the prompt is still in the provider's cache, and what it costs. Whether it was
says the next report: the provider read at least half as many tokens from its cache as the request before had in all.
Nearly all requests follow soon and find it, so two controls stand beside the clock: one that always says
"kept", and the clock with the times of the requests in another order.
"""

import random
from collections.abc import Iterator, Sequence
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


class Foretold(Struct, frozen=True):
    """What the clock said before a request, and what came: when, in Unix milliseconds, whether the provider had kept
    the last prompt, and the cost of this one in US dollars."""

    cache: PromptCache
    at: int
    was_kept: bool
    cost: float | None

    def says_kept(self, at: int) -> bool:
        return at < self.cache.until


def run(paths: Sequence[Path]) -> Report:
    """Returns a row of the clock and one of each control."""
    told = [one for _, transcript in recorded(paths) for one in _foretold(transcript)]
    times = [one.at for one in told]
    random.Random(5).shuffle(times)
    rows = [
        _row("clock", [(one.says_kept(one.at), one.was_kept) for one in told]),
        _row("control: always kept", [(True, one.was_kept) for one in told]),
        _row(
            "control: times shuffled",
            [(one.says_kept(at), one.was_kept) for one, at in zip(told, times, strict=True)],
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
    said = one.cache.warm if one.says_kept(one.at) else one.cache.cold
    return None if said is None or not one.cost else abs(said - one.cost) / one.cost


def _foretold(transcript: ImportedTranscript) -> Iterator[Foretold]:
    """Yields what the clock said before each request of a conversation of Claude Code, but the first."""
    if transcript.agent != "Claude Code":
        return
    projection = Projection(get_counter(transcript.model), Calibration.prior(0.15), cost=_cost)
    said: dict[str, PromptCache | None] = {}
    before = 0
    for position, event in enumerate((SessionCreated(model=transcript.model), *transcript.events), 1):
        if isinstance(event, MessageAppended) and event.message.role is Role.ASSISTANT:
            used = projection.tracker.reading.used
            said.setdefault(event.message.id, prompt_cache(projection.cached, used, projection.price))
        if isinstance(event, UsageReported) and event.message_id in said:
            cache, usage = said.pop(event.message_id), event.usage
            if cache is not None and before:
                kept = usage.cache_read_input_tokens >= before / 2
                yield Foretold(cache, event.timestamp, kept, projection.price(replace(usage, output_tokens=0)))
            before = usage.prompt
        projection.apply([Record(position=position, timestamp=0, event=event)])


def _cost(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.cost(usage)
