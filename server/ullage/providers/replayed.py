"""The provider that replays a recorded transcript: one recorded answer with its usage for each request, and the
recorded results of the tools that the answers call."""

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ullage.agents import transcripts
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
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import AnswerBroken, InvalidRequest
from ullage.model.events import Event, MessageAppended, UsageReported
from ullage.model.message import Role
from ullage.model.settings import ProviderSettings
from ullage.model.usage import Usage
from ullage.service.ports.models import ProviderCapabilities

_NO_RESULT = "[The recording holds no result of this call.]"


class RecordedAnswer(Struct, frozen=True, kw_only=True):
    """One recorded answer: its blocks, and the usage of its request, None if the recording has none."""

    content: tuple[Block, ...]
    usage: Usage | None = None


class Recording(Struct, frozen=True, kw_only=True):
    """A conversation's answers in order, and the results of their tool uses by the use's id."""

    answers: tuple[RecordedAnswer, ...]
    results: Mapping[str, ToolResultBlock]


def make_provider(name: str, settings: ProviderSettings, _key: str, /) -> "ReplayProvider":
    """Returns the provider that replays the transcript in the settings' `file`. Raises `InvalidRequest` if the file
    cannot be read, and `UnknownFormat` or `UnreadableTranscript` if it is no transcript."""
    path = Path(settings.file).expanduser()
    try:
        data = path.read_bytes()
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
    """Replays a recording's answers in order, one per request, whatever the request asks. After the last one, requests
    raise `AnswerBroken`."""

    def __init__(self, name: str, recording: Recording) -> None:
        self._name = name
        self._answers = recording.answers
        self._results = recording.results
        self._played = 0

    @property
    def name(self) -> str:
        return self._name

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(replays=True)

    async def stream(self, _request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        if self._played >= len(self._answers):
            raise AnswerBroken(f"{self._name}: the recording is over after {len(self._answers)} answers")
        answer = self._answers[self._played]
        self._played += 1
        for block in answer.content:
            for fragment in _fragments(block):
                yield fragment
            if isinstance(block, ToolUseBlock):
                yield ToolUseResult(result=self._results.get(block.id) or _unknown(block))
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


def _unknown(use: ToolUseBlock) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=use.id, content=(TextBlock(text=_NO_RESULT),), is_error=True)


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
