"""Shortening: replaces the middles of large blocks by a notice.

`shorten` is hard truncation: it cuts the largest blocks until the context fits, whatever their content. What the user
typed in the newest message is never cut. Every block may keep as much as the others (water-filling), so short messages
stay whole and only very large blocks are cut.

`shorten_results` cuts long tool results, each to its own limit, and keeps their most informative part (`excerpt`): head
and tail, lines that report errors, and lines with names that the agent wrote afterwards or that the focus names.
"""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import typed_blocks
from ullage.agents.results import ToolResult, tool_results, tool_uses
from ullage.edits.clear import MEMORY_TOOLS
from ullage.edits.counted import CountedView, Stamp
from ullage.model.events import Replacement, ShortenEdit
from ullage.model.message import (
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    is_sealed,
    text_and_resources,
)
from ullage.transcript.view import groups, replace_block

_PICTURE = "[A picture was left out to make room.]"
_DOCUMENT = "[The content of {title} was left out to make room.]"
# Replaces words, pictures or documents that were removed altogether, because providers refuse a request whose messages
# are all empty.
_NOTHING_LEFT = "…"
# The key that holds the rest of an input with too many parts to keep each of them.
_CUT_INPUT = "cut"
# Each round cuts by the measured excess. Characters per token differ within a text, so one round may not be enough.
_ROUNDS = 12


class _Candidate(Struct, frozen=True):
    message: Message
    block: int
    chars: int
    tokens: int


def shorten(view: CountedView, limit: int, stamp: Stamp, untouched: Collection[str] = ()) -> ShortenEdit | None:
    """Returns the edit that brings the context to at most `limit` tokens by cutting the middle out of large blocks.
    Returns None if the context fits already or nothing can be cut. Messages with an id in `untouched` stay whole. If
    these and the other messages without content exceed `limit`, the result exceeds it, too."""
    if view.used <= limit:
        return None
    candidates = [candidate for candidate in _candidates(view) if candidate.message.id not in untouched]
    room = limit - (view.used - sum(candidate.tokens for candidate in candidates))
    edit: ShortenEdit | None = None
    for done in range(_ROUNDS):
        cap = _level([candidate.tokens for candidate in candidates], room)
        edit = _cut_all(view, candidates, cap, stamp)
        if edit is None or (excess := view.used - edit.tokens_saved - limit) <= 0 or cap <= 0:
            break
        # The first rounds cut in proportion, which takes no more than needed; the later ones subtract, because notices
        # alone may fill what a proportional cut leaves.
        scaled = room * room // (room + excess) if done < _ROUNDS // 2 else room - excess
        # A notice may cost as much as the cut saves, so a step by the excess alone might make no progress.
        room = min(scaled, room - max(len(candidates) // 4, 1 << done))
    return edit if edit is not None and edit.tokens_saved > 0 else None


def cap_blocks(view: CountedView, cap: int, stamp: Stamp, only: Collection[str]) -> ShortenEdit | None:
    """Returns the edit that cuts every block of more than `cap` tokens to about `cap`, in the messages with an id in
    `only`. Returns None if that saves nothing."""
    cap = max(0, cap)
    large = [candidate for candidate in _candidates(view, over=cap) if candidate.message.id in only]
    edit = _cut_all(view, large, cap, stamp)
    # The notice in the gap can cost more than cutting a block that is just over the cap saves.
    return edit if edit is not None and edit.tokens_saved > 0 else None


def _candidates(view: CountedView, over: int = 0) -> Iterator[_Candidate]:
    for item, tokens in zip(view.items, view.tokens, strict=True):
        if tokens <= over:
            continue
        typed = typed_blocks(item.message) if item.message is view.newest else ()
        for i, block in enumerate(item.message.content):
            chars = _chars(block)
            if chars is not None and i not in typed:
                alone = view.measure(replace(item.message, content=(block,)))
                empty = view.measure(replace(item.message, content=(_cut(block, 0),)))
                yield _Candidate(item.message, i, chars, max(0, alone - empty))


def _chars(block: Block) -> int | None:
    """Returns the characters of a block's content, to which its cut is proportional; None if it must stay."""
    match block:
        case _ if is_sealed(block):
            return None
        case ThinkingBlock(redacted=str(redacted)):
            return len(redacted)
        case ToolUseBlock(input=given):
            return len(_json(given))
        case ImageBlock():
            return len(_PICTURE)
        case ResourceBlock(data=str(data)) if data:
            return len(_left_out(block))
        case _:
            text = _text(block)
            return None if text is None else len(text)


def _text(block: Block) -> str | None:
    match block:
        case TextBlock(text=text) | ThinkingBlock(thinking=text):
            return text
        case ToolResultBlock(content=parts):
            return text_and_resources(parts)
        case ResourceBlock(text=text):
            return text
        case _:
            return None


def _replacement(block: Block, chars: int) -> tuple[str | None, dict[str, Any] | None]:
    """Returns the text or the input that a block keeps when it is cut to about `chars` characters. A placeholder
    replaces an image or a document, and redacted thinking becomes empty, because neither can be cut in the middle."""
    match block:
        case ToolUseBlock(input=given):
            return None, _cut_input(given, chars)
        case ImageBlock():
            return _PICTURE if chars > 0 else _NOTHING_LEFT, None
        case ResourceBlock(data=str(data)) if data:
            return _left_out(block) if chars > 0 else _NOTHING_LEFT, None
        case ThinkingBlock(redacted=str()):
            return "", None
        case TextBlock(text=text) if text.strip():
            left = cut_middle(text, chars)
            return left if left.strip() else _NOTHING_LEFT, None
        case _:
            return cut_middle(_text(block) or "", chars), None


def _left_out(block: ResourceBlock) -> str:
    return _DOCUMENT.format(title=block.title)


def _cut(block: Block, chars: int) -> Block:
    text, given = _replacement(block, chars)
    return replace_block(block, Replacement(message_id="", block=0, text=text, input=given))


def _cut_input(given: dict[str, Any], chars: int) -> dict[str, Any]:
    """Returns a tool input in which the values share `chars` characters. Small values stay whole and large strings and
    lists lose their middle. If there is no room for the keys, one key holds the beginning and end of the whole input.
    """
    keys = sum(len(key) + 1 for key in given)
    if keys > chars:
        return {_CUT_INPUT: cut_middle(_json(given), chars)} if chars > 0 else {}
    texts = {key: value if isinstance(value, str) else _json(value) for key, value in given.items()}
    cap = _level([len(text) for text in texts.values()], chars - keys)
    return {
        key: given[key] if len(text) <= cap or not isinstance(given[key], str | list | dict) else cut_middle(text, cap)
        for key, text in texts.items()
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _level(sizes: Sequence[int], room: int) -> int:
    """Returns the largest cap such that the sizes, each cut to it, sum to at most `room`."""
    left = room
    for done, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - done)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)


def _cut_all(view: CountedView, candidates: list[_Candidate], cap: int, stamp: Stamp) -> ShortenEdit | None:
    replacements = tuple(_cut_to(candidate, cap) for candidate in candidates if candidate.tokens > cap)
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    saved = view.used - view.after(draft).used
    return replace(draft, tokens_saved=saved)


def _cut_to(candidate: _Candidate, cap: int) -> Replacement:
    block = candidate.message.content[candidate.block]
    text, given = _replacement(block, int(candidate.chars * cap / candidate.tokens))
    return Replacement(message_id=candidate.message.id, block=candidate.block, text=text, input=given)


# Words that a compiler, a test runner, a shell or a failing program writes.
_TROUBLE = re.compile(
    r"\b(?:error|errors|failed|failure|failures|fatal|panic|panicked|exception|traceback|denied|refused|undefined"
    r"|unresolved|segfault|abort(?:ed)?|assert(?:ion)?|cannot|can't|not found|no such)\b|(?<=\w)(?:Error|Exception)\b"
    r"|^\s*(?:E  |FAIL|ERROR|--- FAIL|✗|✖|not ok)",
    re.IGNORECASE,
)
# Names rather than words: with a digit, a separator or a capital inside. They are found in two steps, because a
# lookahead at every position of a long run of letters would take quadratic time.
_RUN = re.compile(r"[A-Za-z_/.][\w./:-]{4,99}")
_LIKE_A_NAME = re.compile(r"[\d_./:-]|[a-z][A-Z]")
# The share of the kept text for informative lines. The head and the tail share the rest, the tail because outcomes come
# last.
_TELLING_SHARE = 0.4
_HEAD_SHARE = 0.4
# One line may take this share of the kept text; otherwise a line of minified text would take all of it.
_LINE_SHARE = 0.25
# Characters of the notice in a gap between lines or within a line.
GAP_CHARS = 40
_CUT_HEAD_SHARE = 0.6


def names(text: str) -> set[str]:
    """Returns the identifiers, paths and numbers in a text (of 5 to 100 characters, with a digit, a separator or a
    capital inside), without punctuation at their ends."""
    return {found.rstrip("./:-") for found in _RUN.findall(text) if _LIKE_A_NAME.search(found)}


def excerpt(text: str, chars: int, wanted: Collection[str] = ()) -> str:
    """Returns the most informative lines of a text, in at most about `chars` characters: its head, its tail, and lines
    that report errors or hold names in `wanted`. A notice in each gap states how many lines are missing. A long line
    loses its middle. A text that is short enough is returned unchanged."""
    if len(text) <= chars:
        return text
    longest = max(GAP_CHARS, int(chars * _LINE_SHARE))
    lines = [cut_middle(line, longest) for line in text.split("\n")]
    stays = _telling(lines, int(chars * _TELLING_SHARE), wanted)
    room = chars - sum(_cost(lines[at]) for at in stays)
    head = _fill(lines, range(len(lines)), int(room * _HEAD_SHARE), stays)
    tail = _fill(lines, range(len(lines) - 1, -1, -1), room - int(room * _HEAD_SHARE), stays | head)
    return "\n".join(_with_gaps(lines, sorted(stays | head | tail)))


def cut_middle(text: str, chars: int) -> str:
    """Returns at most `chars` characters of a text with a notice in the middle, or only the head if none fits."""
    if len(text) <= chars:
        return text
    gap = f"\n[… {len(text) - chars:,} characters left out to make room …]\n"
    room = chars - len(gap)
    if room < len(gap):
        return text[: max(0, chars)]
    head = int(room * _CUT_HEAD_SHARE)
    return text[:head] + gap + text[len(text) - (room - head) :]


def _telling(lines: Sequence[str], room: int, wanted: Collection[str]) -> set[int]:
    """Returns the indices of the most informative lines within `room` characters: lines that report errors first,
    then lines with wanted names, rare names before common ones. A repeated line counts once."""
    found = [names(line).intersection(wanted) if wanted else set[str]() for line in lines]
    often = Counter(name for each in found for name in each)
    scores = {
        at: (bool(_TROUBLE.search(line)), sum(1 / often[name] for name in found[at])) for at, line in enumerate(lines)
    }
    taken: set[int] = set()
    said: set[str] = set()
    for at in sorted(scores, key=lambda at: (scores[at], -at), reverse=True):
        if not any(scores[at]) or room < GAP_CHARS:
            break
        if lines[at].strip() in said or _cost(lines[at]) + GAP_CHARS > room:
            continue
        said.add(lines[at].strip())
        taken.add(at)
        room -= _cost(lines[at]) + GAP_CHARS
    return taken


def _fill(lines: Sequence[str], order: Sequence[int], room: int, taken: Collection[int]) -> set[int]:
    """Returns the indices of lines, taken in the given order while they together have at most `room` characters.
    Indices in `taken` are skipped and cost nothing."""
    filled: set[int] = set()
    for at in order:
        if at in taken:
            continue
        room -= _cost(lines[at])
        if room < 0:
            break
        filled.add(at)
    return filled


def _cost(line: str) -> int:
    return len(line) + 1


def _with_gaps(lines: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    before = -1
    for at in (*places, len(lines)):
        if at - before > 1:
            yield f"[… {at - before - 1:,} lines left out …]"
        if at < len(lines):
            yield lines[at]
        before = at


# Characters per token differ within a text, so a first cut may be slightly too long.
_RESULT_ROUNDS = 3


class ResultLimits(Struct, frozen=True, kw_only=True):
    """The most tokens that one tool result may take: `max_result_tokens`, or the tool's own limit in `by_tool`. Results
    of `exclude_tools` and of the memory tools have no limit."""

    max_result_tokens: int
    by_tool: Mapping[str, int] = {}
    exclude_tools: frozenset[str] = frozenset()

    def limit(self, tool: str) -> int | None:
        """Returns the tokens that a result of the tool may take, or None if there is no limit."""
        if tool in MEMORY_TOOLS or tool in self.exclude_tools:
            return None
        return self.by_tool.get(tool, self.max_result_tokens)


def shorten_results(
    view: CountedView, limits: ResultLimits, stamp: Stamp, untouched: Collection[str] = ()
) -> ShortenEdit | None:
    """Returns the edit that shortens every older tool result to its limit, or None if no result exceeds its limit. The
    last group of messages, which is still to be answered, and messages with an id in `untouched` stay as they are."""
    long = _long(view, limits, _fixed(view.messages, untouched))
    replacements = tuple(_shortened(view, long))[::-1]
    if not replacements:
        return None
    draft = ShortenEdit(id=stamp.id, timestamp=stamp.timestamp, trigger=stamp.trigger, replacements=replacements)
    return view.saving(draft)


def _fixed(messages: Sequence[Message], untouched: Collection[str]) -> frozenset[str]:
    last = groups(messages)[-1] if messages else range(0)
    return frozenset({*untouched, *(messages[i].id for i in last)})


def _long(view: CountedView, limits: ResultLimits, fixed: Collection[str]) -> dict[int, list[tuple[ToolResult, int]]]:
    """Returns the tool results that may exceed their limits, each with its limit in tokens, by the index of their
    message. A result is included if its whole message exceeds the limit, so the result itself may be within it. Results
    with pictures, and results in messages in `fixed`, are left out."""
    found: dict[int, list[tuple[ToolResult, int]]] = {}
    for result in tool_results(view.messages):
        limit = limits.limit(result.tool)
        # Only text can be shortened. The message's tokens are known, so a short message need not be counted again.
        if limit is None or result.pictures or result.message_id in fixed or view.tokens[result.position] <= limit:
            continue
        if is_sealed(view.messages[result.position].content[result.block]):
            continue
        found.setdefault(result.position, []).append((result, limit))
    return found


def _shortened(view: CountedView, long: Mapping[int, Sequence[tuple[ToolResult, int]]]) -> Iterator[Replacement]:
    """Yields the shortened results, from the newest to the oldest, so that the names which the assistant wrote after
    each result are known. Lines with these names are kept first."""
    messages, wanted = view.messages, set[str]()
    for position in range(len(messages) - 1, min(long, default=len(messages)) - 1, -1):
        message = messages[position]
        if message.role is Role.ASSISTANT:
            wanted |= names(_text_and_inputs(message))
        for result, limit in reversed(long.get(position, ())):
            text = _fit(view, message, result, limit, wanted)
            if text is not None:
                yield Replacement(message_id=message.id, block=result.block, text=text)


def _fit(view: CountedView, message: Message, result: ToolResult, limit: int, wanted: Collection[str]) -> str | None:
    """Returns a result cut to `limit` tokens, as nearly as a few tries allow; None if it fits already."""
    tokens = _measure(view, message, result, result.text)
    if tokens <= limit:
        return None
    text, chars = result.text, len(result.text)
    for _ in range(_RESULT_ROUNDS):
        chars = int(chars * limit / tokens)
        text = excerpt(result.text, chars, wanted)
        tokens = _measure(view, message, result, text)
        if tokens <= limit:
            break
    return text


def _measure(view: CountedView, message: Message, result: ToolResult, text: str) -> int:
    alone = Replacement(message_id=message.id, block=result.block, text=text)
    return view.measure(replace(message, content=(replace_block(message.content[result.block], alone),)))


def _text_and_inputs(message: Message) -> str:
    return "\n".join([message.text, *(str(value) for use in tool_uses([message]) for value in use.input.values())])
