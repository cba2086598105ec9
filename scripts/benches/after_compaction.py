"""Finds, in recorded logs, the compactions that an agent made and the prompt that came first after each.

The logs are read as JSON lines, by nothing of Ullage's: what a reader overlooks would else be missing in the figure and
in the truth that it is compared with. Known are the logs of Claude Code, Codex and pi.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

COMPACTS, ANSWERS, REPORTS = "compacts", "answers", "reports"
# What a line does, and the tokens that it reports.
_Step = tuple[str, int]


class First(NamedTuple):
    """The first prompt after a compaction: how many lines of the file come before its answer, and its tokens as the
    provider reported them."""

    lines: int
    prompt: int


def first_prompts(file: Path) -> list[First]:
    """Returns the first prompts after the compactions of a log, in order; none if the file is no log of these agents. A
    compaction before which no usage was reported is left out: nothing has shown then what the log does not hold."""
    lines = [_read(line) for line in file.read_bytes().split(b"\n")]
    steps = next((steps for is_known, steps in _AGENTS if any(map(is_known, lines))), None)
    return list(_firsts(lines, steps)) if steps else []


def _firsts(lines: Sequence[Any], steps: Callable[[Any], Iterator[_Step]]) -> Iterator[First]:
    waits, begun, has_reported = False, -1, False
    for number, (kind, prompt) in ((at, step) for at, line in enumerate(lines) for step in steps(line)):
        if kind == COMPACTS:
            waits, begun = has_reported, -1
        elif kind == ANSWERS:
            begun = number if begun < 0 else begun
        else:
            has_reported = True
            if waits and begun >= 0:
                yield First(begun, prompt)
            waits = False


def _claude_code(line: Any) -> Iterator[_Step]:
    if _at(line, "subtype") == "compact_boundary":
        yield COMPACTS, 0
    elif _at(line, "type") == "assistant" and _at(line, "message", "model") != "<synthetic>" and not _is_side(line):
        yield ANSWERS, 0
        usage = _at(line, "message", "usage")
        passes = [one for one in _at(usage, "iterations") or () if _at(one, "type") == "message"]
        yield from _reported((passes or [usage])[-1], "", "cache_read_", "cache_creation_", ending="input_tokens")


def _is_side(line: Any) -> bool:
    return _at(line, "isSidechain") is True


def _codex(line: Any) -> Iterator[_Step]:
    kind = _at(line, "payload", "type")
    if _at(line, "type") == "compacted":
        yield COMPACTS, 0
    elif kind in ("reasoning", "function_call") or _at(line, "payload", "role") == "assistant":
        yield ANSWERS, 0
    elif kind == "token_count":
        yield from _reported(_at(line, "payload", "info", "last_token_usage"), "input_tokens")


def _pi(line: Any) -> Iterator[_Step]:
    if _at(line, "type") == "compaction":
        yield COMPACTS, 0
    elif _at(line, "message", "role") == "assistant":
        yield ANSWERS, 0
        yield from _reported(_at(line, "message", "usage"), "input", "cacheRead", "cacheWrite")


_AGENTS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Iterator[_Step]]], ...] = (
    (lambda line: _at(line, "subtype") == "compact_boundary", _claude_code),
    (lambda line: _at(line, "type") == "compacted" and _at(line, "payload") is not None, _codex),
    (lambda line: _at(line, "type") == "session" and _at(line, "cwd") is not None, _pi),
)


def _reported(usage: Any, *names: str, ending: str = "") -> Iterator[_Step]:
    if tokens := sum(_at(usage, name + ending) or 0 for name in names):
        yield REPORTS, tokens


def _at(value: Any, *keys: str) -> Any:
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def _read(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
