"""Measures whether the contexts that Ullage fits are valid and keep their budget, and how many of the names that an
agent writes later they have. No judge, deterministic.

Every fitted context is checked by the providers' rules and against its budget. Names are the second figure, next to
other ways to fit a conversation. A bare list of names has them all, so names say nothing of what a context means: that
is measured by the bench `state`.

- An *anchor* is a path, a file name, a compound identifier (an underscore or an inner capital) or a hash.
- An anchor is *carried* over a cut if the agent itself writes it after the cut (in its text or a tool's input, not in
  its thinking), a message before the cut has it, and no tool result or user message after the cut showed it first.
- A context *has* an anchor letter for letter, not as a part of a longer word.

Cuts are at the places where a model would be asked, at 30, 45, 60, 75 and 90 % of a conversation's tokens, for each
budget of which the head has at least three. Rows named `real compaction` use the places where the recorded agent
compacted: its own summary is the whole context there, and the others get a budget of that summary's size. Where Ullage
refuses a budget, because the user's newest message alone is larger, nothing is compared; `refused` counts these.
Names are counted at cuts over which at least five are carried. Shares are taken over all cuts of a conversation, then
averaged over conversations, so that no long conversation outweighs the others.
"""

import asyncio
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from heapq import heapify, heappop, heappush
from pathlib import Path
from statistics import mean
from typing import Any, cast

from msgspec import Struct

from benches.report import Aim, Report, at_least, at_most, read_file, transcript_files
from support.provider_rules import anthropic_violations, openai_violations
from ullage.app.compose import open_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import CannotFit
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, compaction_block
from ullage.model.message import (
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.archive.export import provider_request
from ullage.service.compact.by_hand import fit_budget
from ullage.tokens.counter import get_counter
from ullage.transcript.view import cut_points

BUDGETS = (4_000, 8_000, 16_000, 32_000)
CUTS, HEAD_FACTOR, FEWEST_ANCHORS = (0.3, 0.45, 0.6, 0.75, 0.9), 3, 5
OURS, THEIRS, REAL, BASELINE = "ullage", "own summary", "real compaction", "tail + lines"
# Points of names that Ullage may be under the baseline.
MOST_UNDER = 2.0
# One exact tokenizer counts all transcripts, whatever their model, so that a budget means the same for each.
MODEL = "gpt-4o"
COUNTER = get_counter(MODEL)
# Characters of a line that is quoted at most, and tokens of a message without its text.
LONGEST_LINE, FRAME = 300, 10

_PATH = r"(?<![\w/:.~-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"
_FILE = r"(?<![\w/.-])[\w-]+\.(?:[a-z]{1,4}|[a-z]{2}\d|json[l5]|html)(?![\w(])"
_IDENTIFIER = r"(?<![\w/.-])[A-Za-z_]\w{4,80}(?!\w)"
_HASH = r"(?<!\w)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?!\w)"
_ANCHOR = re.compile(f"({_PATH})|({_FILE})|({_HASH})|({_IDENTIFIER})")
_COMPOUND = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_PATH_END = re.compile(r"\.[A-Za-z]\w{0,5}$")


class Score(Struct, frozen=True, kw_only=True):
    """One way at one place: how many names its context has, of how many; the context's share of the budget, and the
    number of rules that it breaks. `label` names the rows of the place."""

    way: str
    label: int | str
    recorded: str
    names: int
    of: int
    used: float
    violations: int


def run(paths: Sequence[Path]) -> Report:
    """Returns a row per budget and way."""
    with ProcessPoolExecutor(2) as pool:
        measured = [each for many in pool.map(_measure, transcript_files(paths)) for each in many]
    scores = [each for each in measured if isinstance(each, Score)]
    refused = Counter(each for each in measured if not isinstance(each, Score))
    rows = [
        _row(own, refused[label])
        for label in (*BUDGETS, REAL)
        for way in (*WAYS, THEIRS, OURS)
        if (own := [score for score in scores if (score.label, score.way) == (label, way)])
    ]
    return Report(bench="quality", rows=rows, aims=[*_aims(scores), *_names_aims(rows)])


def _messages(transcript: ImportedTranscript) -> tuple[Message, ...]:
    return tuple(event.message for event in transcript.events if isinstance(event, MessageAppended))


def _compactions(transcript: ImportedTranscript) -> Iterator[tuple[int, str]]:
    """Yields the compactions that the recorded agent made: how many messages are before each, and its text. A summary
    that only its provider can read can't be measured."""
    count = 0
    for event in transcript.events:
        count += isinstance(event, MessageAppended)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            block = compaction_block(event.edit)
            if block.summary.strip():
                yield count, render_marker(block)


def _measure(path: Path) -> list[Score | int | str]:
    """Returns the scores at all places of a conversation, and the labels of the places where Ullage refuses."""
    transcript, name = read_file(path), f"{path.parent.name}/{path.name}"
    messages = _messages(transcript)
    tokens = [COUNTER.count_message(message) for message in messages]
    legal = [at for at in cut_points(messages) if at < len(messages) and messages[at].role is Role.ASSISTANT]
    before = [sum(tokens[:at]) for at in range(len(messages) + 1)]
    wanted = {next((at for at in legal if before[at] >= share * before[-1]), None) for share in CUTS} - {None}
    found: list[Score | int | str] = []
    for at in sorted(cast("set[int]", wanted)):
        for budget in BUDGETS:
            if before[at] >= HEAD_FACTOR * budget:
                found += _contend(name, messages, at, budget)
    for at, summary in _compactions(transcript):
        found += _contend(name, messages, at, COUNTER.count(summary), summary)
    return found


def _contend(
    name: str, messages: Sequence[Message], at: int, budget: int, summary: str = ""
) -> Iterator[Score | int | str]:
    head, label = messages[:at], REAL if summary else budget
    fitted = asyncio.run(_fit(head, budget))
    if fitted is None:
        yield label
        return
    ours, wrong = fitted
    anchors = carried(messages, at)
    anchors = anchors if len(anchors) >= FEWEST_ANCHORS else []

    def score(way: str, text: str, used: int, violations: int) -> Score:
        names = sum(has(text, anchor) for anchor in anchors)
        return Score(
            way=way, label=label, recorded=name, names=names, of=len(anchors), used=used / budget, violations=violations
        )

    if summary:
        yield score(THEIRS, summary, budget, 0)
    for way, context in ({way: make(head, budget) for way, make in WAYS.items()} | {OURS: ours}).items():
        used = sum(map(COUNTER.count_message, context))
        text = "\n".join(render_marker(block) if (block := one.compaction) else text_of(one) for one in context)
        yield score(way, text, used, unpaired(context, head) + (used > budget) + (wrong if way == OURS else 0))


async def _fit(messages: Sequence[Message], budget: int) -> tuple[list[Message], int] | None:
    """Brings a conversation to at most `budget` tokens, offline in a temporary store. Returns the context and how many
    of the providers' rules its requests break; None if Ullage refuses."""
    events = tuple(MessageAppended(message=message) for message in messages)
    settings = Settings(model=MODEL, context=ContextSettings(enabled=False))
    with tempfile.TemporaryDirectory() as folder, open_workspace(Path(folder) / "bench.db", settings) as workspace:
        transcript = ImportedTranscript(format="bench", events=events, model=MODEL)
        session = await sessions.import_transcript(workspace, transcript, "")
        try:
            await fit_budget(session, budget)
        except CannotFit:
            return None
        anthropic, openai = [(await provider_request(session, name))["messages"] for name in ("anthropic", "openai")]
        return [*session.transcript.view], len(anthropic_violations(anthropic) + openai_violations(openai))


def _row(own: Sequence[Score], refused: int) -> dict[str, Any]:
    counted = [[one for one in own if one.recorded == name] for name in {score.recorded: None for score in own}]
    shares = [100 * sum(one.names for one in many) / of for many in counted if (of := sum(one.of for one in many))]
    return {
        "budget": own[0].label,
        "contender": own[0].way,
        "cuts": len(own),
        "refused": refused,
        "of names": sum(score.of for score in own),
        "names": mean(shares or [0.0]),
        "used": mean(score.used for score in own),
        "least used": min(score.used for score in own),
        "violations": sum(score.violations for score in own),
    }


def _aims(scores: Sequence[Score]) -> Iterator[Aim]:
    ours = [score for score in scores if score.way == OURS]
    if ours:
        yield at_most("rules of providers broken", sum(score.violations for score in ours), 0)
        yield at_most("share of the budget used, largest", max(score.used for score in ours), 1.0)
        yield at_least("share of the budget used, least", min(score.used for score in ours), 0.95)


def _names_aims(rows: Sequence[dict[str, Any]]) -> Iterator[Aim]:
    names = {(row["budget"], row["contender"]): row["names"] for row in rows}
    for (label, way), value in names.items():
        if way == OURS:
            yield at_least(f"names at {label}, ullage - baseline", value - names[label, BASELINE], -MOST_UNDER)


# Other ways to fit a conversation, simple on purpose


def tail(messages: Sequence[Message], budget: int) -> list[Message]:
    """Keeps the newest messages that fit, one by one."""
    kept: list[Message] = []
    for message in reversed(messages):
        budget -= COUNTER.count_message(message)
        if budget < 0:
            break
        kept.append(message)
    return kept[::-1]


def tail_and_lines(messages: Sequence[Message], budget: int) -> list[Message]:
    """Keeps the newest messages in three quarters of the budget, and quotes in the rest lines of the older ones: always
    the line with the most names per character that nothing chosen has yet, of equals the newer one."""
    kept = tail(messages, budget * 3 // 4)
    while kept and any(isinstance(block, ToolResultBlock) for block in kept[0].content):
        kept.pop(0)
    seen = {name for message in kept for name in find_anchors(text_of(message))}
    older = [line for each in messages[: len(messages) - len(kept)] for line in text_of(each).splitlines()]
    names = {line: {*find_anchors(line)} for line in reversed(older) if len(line) <= LONGEST_LINE}
    waiting = [(-len(found) / len(line), age, line) for age, (line, found) in enumerate(names.items()) if found]
    heapify(waiting)
    left, chosen = budget - sum(map(COUNTER.count_message, kept)) - FRAME, set[str]()
    while waiting and left > 0:
        worth, age, line = heappop(waiting)
        new = names[line] - seen
        if new and worth < -len(new) / len(line):
            heappush(waiting, (-len(new) / len(line), age, line))
        elif new and (cost := COUNTER.count(line) + 1) <= left:
            left, seen = left - cost, seen | new
            chosen.add(line)
    quoted = "\n".join(line for line in dict.fromkeys(older) if line in chosen)
    return [Message(id="lines", role=Role.USER, content=(TextBlock(text=quoted),)), *kept]


WAYS: dict[str, Callable[[Sequence[Message], int], list[Message]]] = {"tail": tail, BASELINE: tail_and_lines}


def unpaired(messages: Sequence[Message], recorded: Sequence[Message]) -> int:
    """Counts tool results without an earlier call, and calls without a result. Providers refuse both. A call that has
    no result in the recorded messages either was interrupted: that is no context's fault, and requests answer it."""
    answered = {block.tool_use_id for each in recorded for block in each.content if isinstance(block, ToolResultBlock)}
    open_calls, wrong = set[str](), 0
    for block in (block for message in messages for block in message.content):
        if isinstance(block, ToolUseBlock):
            open_calls.add(block.id)
        elif isinstance(block, ToolResultBlock):
            wrong += block.tool_use_id not in open_calls
            open_calls.discard(block.tool_use_id)
    return wrong + len(open_calls & answered)


# Names


def find_anchors(text: str) -> Iterator[str]:
    """Yields the anchors in a text."""
    for match in _ANCHOR.finditer(text):
        path, file, digest, identifier = match.groups()
        if path:
            inner = path.strip("./~").count("/")
            if len(path) >= 6 and (path[0] in "/~" or inner > 1 or _PATH_END.search(path)):
                yield path
        elif file or digest or _COMPOUND.search(identifier):
            yield match[0]


def has(text: str, name: str) -> bool:
    """Whether a text has `name` where it is not a part of a longer word."""
    start = text.find(name)
    while start >= 0:
        stop = start + len(name)
        if not re.search(r"\w", text[max(0, start - 1) : start] + text[stop : stop + 1]):
            return True
        start = text.find(name, start + 1)
    return False


def carried(messages: Sequence[Message], at: int) -> list[str]:
    """Returns the anchors that are carried over a cut before message `at`, each once."""
    head, shown, found = "\n".join(map(text_of, messages[:at])), "", dict[str, bool]()
    for message in messages[at:]:
        if message.role is not Role.ASSISTANT:
            shown = f"{shown}\n{text_of(message)}"
            continue
        written = "\n".join(_texts(*(one for one in message.content if isinstance(one, TextBlock | ToolUseBlock))))
        for name in find_anchors(written):
            if name not in found:
                found[name] = not has(shown, name) and has(head, name)
    return [name for name, is_carried in found.items() if is_carried]


def text_of(message: Message) -> str:
    """Returns all text of a message that a model is sent, one line per part."""
    return "\n".join(_texts(*message.content))


def _texts(*blocks: object) -> Iterator[str]:
    for block in blocks:
        match block:
            case TextBlock(text=text) | ThinkingBlock(thinking=text) | str(text):
                yield text
            case ToolUseBlock(input=given):
                yield from _texts(*given.values())
            case Mapping():
                yield from _texts(*cast("Mapping[str, Any]", block).values())
            case ToolResultBlock(content=parts):
                yield from _texts(*parts)
            case list():
                yield from _texts(*cast("list[Any]", block))
            case ResourceBlock(uri=uri, text=text):
                yield f"{uri}\n{text or ''}"
            case _:
                pass
