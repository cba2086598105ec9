"""The provider that plays a script: for tests, demonstrations and users without a key."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ToolInputDelta,
    ToolUseEnd,
    ToolUseStart,
    UsageDelta,
)
from ullage.model.blocks import TextBlock, ToolResultBlock
from ullage.model.errors import AnswerBroken, InvalidRequest
from ullage.model.settings import ProviderSettings
from ullage.model.usage import Usage
from ullage.providers.script import CallTool, Fail, Say, Script, ScriptedAnswer, Think, Wait, parse_script
from ullage.service.ports.models import ProviderCapabilities
from ullage.tokens.counter_choice import get_counter

# A word with the white space before it: about as much as one event of a model's stream.
_PIECE = re.compile(r"\s*\S+|\s+$")
_SIGNATURE = "scripted"


def make_provider(name: str, settings: ProviderSettings, _key: str, /) -> "ScriptedProvider":
    """Returns the provider that plays the script in the settings' `file`. Raises `InvalidRequest` if the file cannot be
    read or parsed."""
    try:
        text = Path(settings.file).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise InvalidRequest(f"ullage.providers.{name}.file: cannot read {settings.file!r}: {reason}") from error
    return ScriptedProvider(name, parse_script(text))


class ScriptedProvider:
    """Plays a script's answers in order, as far as the answers' conditions allow. Each is played once, or again after
    all others if the script says `again`. All sessions share that order, because a script is one conversation."""

    def __init__(self, name: str, script: Script) -> None:
        self._name = name
        self._script = script
        self._played: set[int] = set()
        self._calls = 0

    @property
    def name(self) -> str:
        return self._name

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
            raise AnswerBroken(f"{self._name}: the script has no answer left for this request")
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
    """Returns the text of the request's last message: of a prompt or of tool results. Empty if there are no
    messages."""
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
