"""The language of scripts: answers for a provider that plays them instead of asking a model.

A script is text. Answers are separated by lines of three or more dashes and played in order. Each line of an answer is
`word: value`, a value continues on lines indented by two spaces, and a line that begins with `#` is a comment::

    when: login              plays only if the newest prompt or tool result contains this; such answers come first
    for: summary             plays when a summary is asked for, else never
    think: Where is it read?
    say: I'll look at the file.
    tool: read_file {"path": "src/login.py"}
    usage: 1200 30 cached=400
    wait: 0.02               seconds before each piece from here on
    fail: rate_limited 2     seconds to wait; or unavailable, authentication, too_long, refused, broken
    stop: max_tokens         or refusal; end_turn and tool_use follow from the answer

The line `again:` alone in the last answer starts the script over when it is through.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ullage.model.answer import StopReason
from ullage.model.errors import (
    AnswerBroken,
    AuthenticationFailed,
    ContextTooLong,
    InvalidRequest,
    ProviderError,
    ProviderUnavailable,
    RateLimited,
    RequestRefused,
)
from ullage.model.usage import Usage

_PART = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"([a-z]+):[ \t]*(.*)")
_TOOL = re.compile(r"([\w-]+)\s*(\{.*\})?", re.DOTALL)


class Think(Struct, frozen=True):
    """A step of a scripted answer that writes reasoning."""

    text: str


class Say(Struct, frozen=True):
    """A step of a scripted answer that writes text."""

    text: str


class CallTool(Struct, frozen=True):
    """A step of a scripted answer that calls a tool."""

    name: str
    input: dict[str, Any]


class Wait(Struct, frozen=True):
    """A step of a scripted answer: from here on, the player waits this number of seconds before each fragment."""

    seconds: float


class Fail(Struct, frozen=True):
    """A step of a scripted answer: the answer ends here with this error."""

    error: ProviderError


Step = Think | Say | CallTool | Wait | Fail


class ScriptedAnswer(Struct, frozen=True, kw_only=True):
    """One answer of a script. `when` is text that the newest message must contain for the answer to be played, and
    `for_summary` says that it is played only for a request for a summary. If `usage` is None, the player counts the
    request itself; if `stop` is None, the stop reason follows from the steps."""

    steps: tuple[Step, ...] = ()
    when: str = ""
    for_summary: bool = False
    usage: Usage | None = None
    stop: StopReason | None = None


class Script(Struct, frozen=True, kw_only=True):
    """All answers of a script. `again` says that they start over after the last one."""

    answers: tuple[ScriptedAnswer, ...]
    again: bool = False


def parse_script(text: str) -> Script:
    """Returns the script that a text holds. Raises `InvalidRequest`, which names the line, if a line is not of the
    language or there is no answer."""
    answers: list[ScriptedAnswer] = []
    again = False
    line = 1
    for part in _PART.split(text):
        entries = list(_entries(part, line))
        again = again or any(word == "again" for word, _, _ in entries)
        entries = [entry for entry in entries if entry[0] != "again"]
        if entries:
            answers.append(_answer(entries))
        line += part.count("\n")
    if not answers:
        raise InvalidRequest("the script holds no answer; write at least one line such as `say: Hello.`")
    return Script(answers=tuple(answers), again=again)


def _entries(part: str, first: int) -> Iterator[tuple[str, str, int]]:
    word, value, at = "", list[str](), first
    for number, line in enumerate(part.splitlines(), start=first):
        if line.startswith("#") or (not line.strip() and not value):
            continue
        if line.startswith("  ") or not line.strip():
            value.append(line[2:])
            continue
        if word:
            yield word, "\n".join(value).rstrip(), at
        match = _LINE.fullmatch(line)
        if match is None:
            raise _fault(number, line, "expected `word: value`")
        word, value, at = match[1], [match[2]], number
    if word:
        yield word, "\n".join(value).rstrip(), at


def _answer(entries: list[tuple[str, str, int]]) -> ScriptedAnswer:
    steps: list[Step] = []
    rest: dict[str, Any] = {}
    for word, value, line in entries:
        try:
            match word:
                case "when":
                    rest["when"] = value
                case "for" if value == "summary":
                    rest["for_summary"] = True
                case "usage":
                    rest["usage"] = _usage(value)
                case "stop":
                    rest["stop"] = StopReason(value)
                case _:
                    steps.append(_step(word, value))
        except (ValueError, KeyError) as error:
            raise _fault(line, f"{word}: {value}", str(error)) from None
    return ScriptedAnswer(steps=tuple(steps), **rest)


def _step(word: str, value: str) -> Step:
    match word:
        case "think":
            return Think(value)
        case "say":
            return Say(value)
        case "tool":
            return _tool(value)
        case "wait":
            return Wait(float(value))
        case "fail":
            return Fail(_error(value))
        case _:
            raise ValueError("not a word of the script language")


def _tool(value: str) -> CallTool:
    match = _TOOL.fullmatch(value)
    if match is None:
        raise ValueError("expected a tool's name and, if it has input, a JSON object")
    return CallTool(match[1], json.loads(match[2] or "{}"))


def _usage(value: str) -> Usage:
    prompt, output, *more = value.split()
    cached = int(more[0].removeprefix("cached=")) if more else 0
    return Usage(input_tokens=int(prompt) - cached, output_tokens=int(output), cache_read_input_tokens=cached)


def _error(value: str) -> ProviderError:
    kind, _, detail = value.partition(" ")
    text = "the script says so"
    busy = {"rate_limited": RateLimited, "unavailable": ProviderUnavailable}
    if kind in busy:
        return busy[kind](text, float(detail) if detail else None)
    kinds: dict[str, type[ProviderError]] = {
        "authentication": AuthenticationFailed,
        "too_long": ContextTooLong,
        "refused": RequestRefused,
        "broken": AnswerBroken,
    }
    if kind not in kinds:
        raise ValueError(f"expected one of {', '.join((*busy, *kinds))}")
    return kinds[kind](detail or text)


def _fault(line: int, text: str, why: str) -> InvalidRequest:
    return InvalidRequest(f"line {line} of the script, {text.strip()[:60]!r}: {why}")
