"""Measures how well the clock of the prompt cache foretells, on recorded conversations of Claude Code.

Before each answer the clock says whether the prompt is still in the provider's cache, and what it costs. Whether it was
is read here from the file itself: the provider read at least half as many tokens from its cache as the request before
had in all. Nearly all requests follow soon and find it, so two controls stand beside the clock: one that always says
"kept", and the clock with the times of the requests in another order.

The advice to go on in a new session is replayed in money: what all requests of the recordings would have cost if the
user had taken it, had begun a new session after every turn, and had never made room, beside what they did cost. A new
session has all that is said after it, what `ullage continue` hands over, and the files that it has to read again: those
that the agent changed afterwards without reading them, since it had them in its context. Beside the money stands what
the new session would have lacked: what was true at that moment by the reading of the state bench, which shares no code
with Ullage, and what the page that is handed over does not say, or says wrongly. An empty page is the control.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from benches.report import Report, at_least, at_most, median, recorded
from benches.state import judge
from benches.state_agents import read_recording
from benches.state_arms import CHARS, Cut, run_compact
from benches.state_page import read_page
from benches.state_records import CALL, RESULT
from benches.state_truth import fold
from benches.state_verdicts import RIGHT, Kind
from ullage.app.compose import throwaway_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import price_of
from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    MessageAppended,
    Record,
    SessionCreated,
    UsageReported,
    compaction_block,
)
from ullage.model.message import Message, Role, ToolResultBlock
from ullage.model.settings import Settings
from ullage.model.usage import PromptCache, Usage
from ullage.policy.prompt_cache import prompt_cache
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.projection import Projection
from ullage.service.conversation.usage import HANDED_OVER, LONG, good_moment
from ullage.service.conversation.workspace import Workspace
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
    logs = [(path, one) for path, one in found if _is_log(path, one)]
    with throwaway_workspace(Settings()) as workspace:
        replayed = {choice: [_replayed(choice, *log, workspace) for log in logs] for choice in CHOICES}
    advised = [_spent(choice, each) for choice, each in replayed.items()]
    taken = {choice: [one for _, handed in replayed[choice] for one in handed] for choice in CHOICES[2:]}
    lacks = {
        choice: [row for row in map(partial(_lacking, choice, ones), Kind) if row] for choice, ones in taken.items()
    }
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
    dollars = {row["choice"]: row["dollars"] for row in advised}
    return Report(
        bench="clock",
        rows=[
            *rows,
            {"prices": len(off), "median error": round(median(off), 4), "within 5 %": _share(off)},
            *advised,
            *chain.from_iterable(lacks.values()),
        ],
        aims=[
            at_least("foretold", ours["right"], 0.98),
            at_most("wrong beside the control that always says kept", ours["wrong"] / max(1, always["wrong"]), 0.75),
            at_most("control: times shuffled, misses foretold that were none", shuffled["gone, right"], 0.1),
            at_most("price of the next request, median error", median(off), 0.05),
            at_most("dollars with the advice, to those without", dollars["advice"] / (dollars["agent's own"] or 1), 1),
            at_most("control: what a page without a word says", sum(one.by_nothing for one in taken["always"]), 0),
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


# What a user may do at the end of a turn.
CHOICES = ("agent's own", "never", "always", "advice")


def _is_log(path: Path, transcript: ImportedTranscript) -> bool:
    return path.suffix == ".jsonl" and transcript.agent == "Claude Code"


class HandOver(Struct, frozen=True, kw_only=True):
    """What a new session would have known at one moment: of the state then, by kind, how much there is and how much the
    page says rightly. `again` are the tokens of files that it would have had to read once more. `by_nothing` is what an
    empty page says."""

    there: Counter[Kind]
    said: Counter[Kind]
    again: int
    by_nothing: int


@cache
def _handed_over(path: Path, message_id: str) -> HandOver | None:
    """Returns what is handed over before a prompt, None if the state bench does not read the file so far."""
    recording = read_recording(path)
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    line = next((number for number, text in enumerate(lines) if f'"uuid":"{message_id}"' in text), len(lines))
    at = next((at for at, event in enumerate(recording.events if recording else ()) if event.line >= line), 0)
    if recording is None or not at:
        return None
    cut = Cut(recording=recording, at=at)
    truth = fold(cut.before, recording.folder)
    verdicts = judge(read_page(run_compact(cut, HANDED_OVER * CHARS)), truth)
    return HandOver(
        there=Counter(one.kind for one in verdicts if not one.extra),
        said=Counter(one.kind for one in verdicts if one.end == RIGHT and not one.extra),
        again=_read_again(cut),
        by_nothing=sum(one.end == RIGHT for one in judge(read_page(""), truth)),
    )


def _read_again(cut: Cut) -> int:
    """Returns the tokens of the files that the agent changed after the cut without reading them, by its last look."""
    calls, known, later = dict[str, str](), dict[str, int](), dict[str, int]()
    for number, event in enumerate(cut.recording.events):
        place = str(event.input.get("file_path") or "")
        if event.kind == CALL and place:
            calls[event.id] = place
            if number >= cut.at:
                later.setdefault(place, 0 if event.name == "Read" else known.get(place, 0))
        elif event.kind == RESULT and number < cut.at and (read := calls.get(event.id)):
            known[read] = max(known.get(read, 0), len(event.text) // CHARS)
    return sum(later.values())


def _lacking(choice: str, taken: Sequence[HandOver], kind: Kind) -> dict[str, Any]:
    """Returns the row of one kind of state: how much of it the new sessions of a choice would have lacked."""
    there, said = (sum(getattr(one, name)[kind] for one in taken) for name in ("there", "said"))
    return {"new sessions by": choice, "kind": kind.value, "true then": there, "lacked": there - said} if there else {}


def _spent(choice: str, replayed: Sequence[tuple[float, list[HandOver]]]) -> dict[str, Any]:
    """Returns the row of a choice: how often a new session was begun, what all requests cost then, and the tokens that
    had to be read again, which are in that."""
    taken = [one for _, handed in replayed for one in handed]
    return {
        "choice": choice,
        "new sessions": len(taken),
        "read again": sum(one.again for one in taken),
        "dollars": round(sum(cost for cost, _ in replayed), 2),
    }


def _replayed(
    choice: str, path: Path, transcript: ImportedTranscript, workspace: Workspace
) -> tuple[float, list[HandOver]]:
    """Returns what the requests of a conversation cost with a choice, in dollars, and the new sessions that it took."""
    projection = Projection(get_counter(transcript.model), Calibration.prior(0.15), cost=_cost)
    conversation = Conversation(str(path), workspace, projection, lambda _: None)
    # `gone` are the tokens that a request has no more of its recorded prompt; they are negative if it has more.
    gone, taken, dollars, is_new = 0, list[HandOver](), 0.0, False
    done: set[str] = set()
    for position, event in enumerate((SessionCreated(model=transcript.model), *transcript.events), 1):
        match event:
            case MessageAppended(message=message) if message.role is Role.USER and not _is_result(message):
                used, moment = projection.tracker.reading.used - gone, good_moment(conversation)
                tokens = projection.tracker.reading.breakdown.overhead + HANDED_OVER
                is_time = choice == "always" or (choice == "advice" and moment and used >= LONG)
                if used > 2 * tokens and is_time and (handed := _handed_over(path, message.id)):
                    gone, is_new = gone + used - tokens - handed.again, True
                    taken.append(handed)
            case ContextEdited(edit=CompactionEdit() as edit) if edit.by_agent:
                block = compaction_block(edit)
                lost = max(0, block.context_size_before - block.context_size_after)
                gone = gone - lost if choice == "never" else 0
            case UsageReported(usage=usage, message_id=answer) if answer not in done and usage.prompt:
                done.add(answer)
                dollars += projection.price(_without(usage, gone, is_new=is_new)) or 0.0
                is_new = False
            case _:
                pass
        projection.apply([Record(position=position, timestamp=0, event=event)])
    return dollars, taken


def _is_result(message: Message) -> bool:
    return any(isinstance(block, ToolResultBlock) for block in message.content)


def _without(usage: Usage, gone: int, *, is_new: bool) -> Usage:
    """Returns the usage of a request whose prompt has `gone` tokens less, of those that were read from the cache if it
    has so many. A new session reads nothing from it."""
    read = max(0, usage.cache_read_input_tokens - gone)
    written = max(0, usage.cache_creation_input_tokens - max(0, gone - usage.cache_read_input_tokens))
    if is_new:
        read, written = 0, written + read
    hour = usage.cache_creation_1h_input_tokens
    return replace(
        usage,
        cache_read_input_tokens=read,
        cache_creation_input_tokens=written,
        cache_creation_1h_input_tokens=written if hour else 0,
    )


def _cost(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.cost(usage)
