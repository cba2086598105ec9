"""Providers that ask no model: one plays a script, for tests, demonstrations and users without a key, one a recording.

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

A recorded transcript is replayed with one answer and its usage for each request, and with the recorded results of the
tools that the answers call.
"""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from ullage.agents import transcripts
from ullage.bounds import LARGEST_VALUE, SCRIPT, read_plain, read_text
from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseEnd,
    ToolUseResult,
    ToolUseStart,
    UsageDelta,
)
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
from ullage.model.events import Event, MessageAppended, UsageReported
from ullage.model.message import Block, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.settings import ProviderSettings
from ullage.model.usage import Usage
from ullage.service.ports.models import ProviderCapabilities
from ullage.tokens.counter import get_counter

# A word with the white space before it: about as much as one event of a model's stream.
_PIECE = re.compile(r"\s*\S+|\s+$")
_SIGNATURE = "scripted"
_PART = re.compile(r"^-{3,}[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"([a-z]+):[ \t]*(.*)")
_TOOL = re.compile(r"([\w-]+)\s*(\{.*\})?", re.DOTALL)
_NO_RESULT = "[The recording holds no result of this call.]"


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
    """Returns the script in a text. Raises `InvalidRequest`, which names the line, or if there is no answer."""
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
            match = _TOOL.fullmatch(value)
            if match is None:
                raise ValueError("expected a tool's name and, if it has input, a JSON object")
            return CallTool(match[1], json.loads(match[2] or "{}"))
        case "wait":
            return Wait(float(value))
        case "fail":
            return Fail(_error(value))
        case _:
            raise ValueError("not a word of the script language")


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


def make_scripted_provider(name: str, settings: ProviderSettings, _key: str, /) -> "ScriptedProvider":
    """Returns the provider that plays the script in the settings' `file`. Raises `InvalidRequest`."""
    try:
        text = read_text(Path(settings.file).expanduser(), SCRIPT)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidRequest(f"ullage.providers.{name}.file: cannot read {settings.file!r}: {reason}") from error
    return ScriptedProvider(name, parse_script(text))


class ScriptedProvider:
    """Plays a script's answers in order, as far as the answers' conditions allow. Each is played once, or again after
    all others if the script says `again`. All sessions share that order, because a script is one conversation."""

    def __init__(self, name: str, script: Script) -> None:
        self.name = name
        self._script = script
        self._played: set[int] = set()
        self._calls = 0

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(counts_tokens=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        answer = self._next(request)
        pace, said = 0.0, list[str]()
        for step in answer.steps:
            if isinstance(step, Wait):
                pace = step.seconds
                continue
            if isinstance(step, Fail):
                raise step.error
            for fragment in self._fragments(step):
                await asyncio.sleep(pace)
                yield fragment
            said.append(step.text if isinstance(step, Say | Think) else f"{step.name} {json.dumps(step.input)}")
        yield UsageDelta(usage=answer.usage or self._count(request, "\n".join(said)))
        yield Finished(stop_reason=answer.stop or _stop_of(answer))

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return self._prompt_tokens(request)

    async def check(self, model: str) -> str:
        return f"plays a script of {len(self._script.answers)} answers as {model or 'any model'}"

    async def close(self) -> None:
        """Does nothing, because there are no connections."""

    def _next(self, request: ModelRequest) -> ScriptedAnswer:
        """Returns the first answer not yet played that fits the request, and marks it as played. An answer whose `when`
        matches comes before one without `when`.

        If none fits and the script says `again`, all answers count as not played. Raises `AnswerBroken` if still none
        fits.
        """
        answers = self._script.answers
        fitting = [at for at in self._unplayed() if _fits(answers[at], request)]
        if not fitting and self._script.again:
            self._played.clear()
            fitting = [at for at in self._unplayed() if _fits(answers[at], request)]
        if not fitting:
            raise AnswerBroken(f"{self.name}: the script has no answer left for this request")
        chosen = min(fitting, key=lambda at: (not answers[at].when, at))
        self._played.add(chosen)
        return answers[chosen]

    def _unplayed(self) -> Iterator[int]:
        return (at for at in range(len(self._script.answers)) if at not in self._played)

    def _fragments(self, step: Think | Say | CallTool) -> Iterator[Fragment]:
        match step:
            case Say(text=text):
                yield from (TextDelta(text=piece) for piece in _PIECE.findall(text))
            case Think(text=text):
                yield from (ThinkingDelta(text=piece) for piece in _PIECE.findall(text))
                yield ThinkingDelta(signature=_SIGNATURE)
            case CallTool(name=name, input=given):
                self._calls += 1
                call_id = f"call_{self._calls}"
                yield ToolUseStart(id=call_id, name=name)
                yield ToolInputDelta(id=call_id, text=json.dumps(given))
                yield ToolUseEnd(id=call_id, name=name, input=given)

    def _count(self, request: ModelRequest, said: str) -> Usage:
        """Returns the usage of a scripted answer `said`, counted locally with the tokenizer of the request's model."""
        output = get_counter(request.model).count(said)
        return Usage(input_tokens=self._prompt_tokens(request), output_tokens=output)

    def _prompt_tokens(self, request: ModelRequest) -> int:
        counter = get_counter(request.model)
        asked = counter.count(request.instructions or request.reminder)
        return counter.count_messages(request.messages) + counter.count_tools(request.tools) + asked


def _fits(answer: ScriptedAnswer, request: ModelRequest) -> bool:
    for_summary = bool(request.instructions)
    return answer.for_summary is for_summary and answer.when.lower() in _newest(request).lower()


def _newest(request: ModelRequest) -> str:
    """Returns the text of the request's last message, of a prompt or of tool results; "" without messages."""
    if not request.messages:
        return ""
    texts: list[str] = []
    for block in request.messages[-1].content:
        if isinstance(block, TextBlock):
            texts.append(block.text)
        elif isinstance(block, ToolResultBlock):
            texts += [part.text for part in block.content if isinstance(part, TextBlock)]
    return "\n".join(texts)


def _stop_of(answer: ScriptedAnswer) -> StopReason:
    calls = any(isinstance(step, CallTool) for step in answer.steps)
    return StopReason.TOOL_USE if calls else StopReason.END_TURN


class RecordedAnswer(Struct, frozen=True, kw_only=True):
    """One recorded answer: its blocks, and the usage of its request, None if the recording has none."""

    content: tuple[Block, ...]
    usage: Usage | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """A conversation's answers in order, and the results of their tool uses by the use's id."""

    answers: tuple[RecordedAnswer, ...]
    results: Mapping[str, ToolResultBlock]


def make_replay_provider(name: str, settings: ProviderSettings, _key: str, /) -> "ReplayProvider":
    """Returns the provider that replays the transcript in the settings' `file`. Raises `InvalidRequest` if the file
    cannot be read, and `UnknownFormat` or `UnreadableTranscript` if it is no transcript."""
    path = Path(settings.file).expanduser()
    try:
        data = read_plain(path, LARGEST_VALUE)
    except OSError as error:
        reason = error.strerror or error
        raise InvalidRequest(f"ullage.providers.{name}.file: cannot read {settings.file!r}: {reason}") from error
    return ReplayProvider(name, read_recording(transcripts.read(data, settings.file).events))


def read_recording(events: Sequence[Event]) -> Recording:
    """Returns the recorded answers and tool results of a conversation's events."""
    results = {
        block.tool_use_id: block
        for event in events
        if isinstance(event, MessageAppended)
        for block in event.message.content
        if isinstance(block, ToolResultBlock)
    }
    return Recording(answers=_answers(events), results=results)


def _answers(events: Sequence[Event]) -> tuple[RecordedAnswer, ...]:
    """Returns the recorded answers in order. Consecutive assistant messages become one answer."""
    usages = {event.message_id: event.usage for event in events if isinstance(event, UsageReported)}
    answers: list[RecordedAnswer] = []
    follows = False
    for event in events:
        if not isinstance(event, MessageAppended) or event.message.role is Role.SYSTEM:
            continue
        message = event.message
        if message.role is Role.ASSISTANT:
            earlier = answers.pop() if follows else RecordedAnswer(content=())
            usage = usages.get(message.id) or earlier.usage
            answers.append(RecordedAnswer(content=earlier.content + message.content, usage=usage))
        follows = message.role is Role.ASSISTANT
    return tuple(answers)


class ReplayProvider:
    """Replays a recording's answers in order, one per request; after the last it raises `AnswerBroken`."""

    def __init__(self, name: str, recording: Recording) -> None:
        self.name = name
        self._answers = recording.answers
        self._results = recording.results
        self._played = 0

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(replays=True)

    async def stream(self, _request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        if self._played >= len(self._answers):
            raise AnswerBroken(f"{self.name}: the recording is over after {len(self._answers)} answers")
        answer = self._answers[self._played]
        self._played += 1
        for block in answer.content:
            for fragment in _fragments(block):
                yield fragment
            if isinstance(block, ToolUseBlock):
                yield ToolUseResult(
                    result=self._results.get(block.id)
                    or ToolResultBlock(tool_use_id=block.id, content=(TextBlock(text=_NO_RESULT),), is_error=True)
                )
        if answer.usage is not None:
            yield UsageDelta(usage=answer.usage)
        calls = any(isinstance(block, ToolUseBlock) for block in answer.content)
        yield Finished(stop_reason=StopReason.TOOL_USE if calls else StopReason.END_TURN)

    async def count_tokens(self, _request: ModelRequest, /) -> int | None:
        return None

    async def check(self, _model: str, /) -> str:
        return f"plays a recording of {len(self._answers)} answers"

    async def close(self) -> None:
        """Does nothing, because there are no connections."""


def _fragments(block: Block) -> Iterator[Fragment]:
    match block:
        case TextBlock(text=text):
            yield TextDelta(text=text)
        case ThinkingBlock():
            yield ThinkingDelta(text=block.thinking)
            yield ThinkingDelta(signature=block.signature, redacted=block.redacted)
        case ToolUseBlock():
            yield ToolUseStart(id=block.id, name=block.name)
            yield ToolInputDelta(id=block.id, text="")
            yield ToolUseEnd(id=block.id, name=block.name, input=block.input)
        case _:
            pass
