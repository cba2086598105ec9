"""Loads a transcript for the demo: its messages in order, and a window small enough for them to fill."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from ullage.agents import transcripts
from ullage.catalog.limits import ContextLimits
from ullage.cli.session_source import read_transcript
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Usage
from ullage.tokens.counter import get_counter

# Tokens. The sample has about 33,000, enough to cross the warning and compaction thresholds of this window.
SAMPLE_WINDOW = 32_000
# A conversation that doesn't fill its model's window is played in a window of this share of its size, so that it fills
# it.
_WINDOW_SHARE = 0.8
# Tokens. A smaller window has no room for a first message, a summary and a tail.
_SMALLEST_WINDOW = 8_000
_UNKNOWN_MODEL = "unknown model"


class Step(Struct, frozen=True, kw_only=True):
    """One message of the demo's conversation, and the usage that the provider reported with it, or None."""

    message: Message
    usage: Usage | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """The conversation that the demo plays: its messages in order, its tools, and its window in tokens."""

    title: str
    model: str
    window: int
    tools: tuple[ToolDefinition, ...]
    steps: tuple[Step, ...]


class ConversationOptions(Struct, frozen=True, kw_only=True):
    """Which conversation the demo plays: a transcript's file, or None for the sample; its format and the number of the
    conversation in it; and the window in tokens, or None to choose one."""

    file: Path | None = None
    format: str | None = None
    run: int | None = None
    window: int | None = None


def load_conversation(options: ConversationOptions) -> Conversation:
    """Returns the conversation in the file, or the sample if no file is given. Raises `InputError` if the file can't be
    read."""
    path, window = options.file, options.window
    if path is None:
        data = files("ullage.cli").joinpath("data/sample.jsonl").read_bytes()
        transcript = transcripts.read(data, "the sample")
        window = window or SAMPLE_WINDOW
    else:
        transcript = read_transcript(str(path), options.format, options.run)
    steps = tuple(_steps(transcript.events))
    model = transcript.model or _UNKNOWN_MODEL
    return Conversation(
        title=transcript.title or (path.name if path else ""),
        model=model,
        window=window or _fitting_window(model, transcript, steps),
        tools=next((event.tools for event in transcript.events if isinstance(event, ToolsDeclared)), ()),
        steps=steps,
    )


def _steps(events: tuple[Event, ...]) -> Iterator[Step]:
    reports = {event.message_id: event.usage for event in events if isinstance(event, UsageReported)}
    for event in events:
        if isinstance(event, MessageAppended):
            yield Step(message=event.message, usage=reports.get(event.message.id))


def _fitting_window(model: str, transcript: ImportedTranscript, steps: tuple[Step, ...]) -> int:
    """Returns the model's own window in tokens, or a smaller one if the conversation doesn't fill that."""
    counter = get_counter(model)
    counted = sum(counter.count_message(step.message) for step in steps)
    largest = max((step.usage.total for step in steps if step.usage), default=0)
    filled = max(_SMALLEST_WINDOW, int(max(counted, largest) * _WINDOW_SHARE))
    known = ContextLimits.for_model(transcript.model).input
    return min(filled, known) if known else filled
