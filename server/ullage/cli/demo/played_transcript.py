"""A transcript as a client would live through it: message by message, in a window it will fill."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from msgspec import Struct

from ullage.agents import transcripts
from ullage.catalog.limits import ContextLimits
from ullage.cli.session_source import read_transcript
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.events import Event, MessageAppended, ToolsDeclared, UsageReported
from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Usage
from ullage.tokens.counter_choice import get_counter

# The sample counts about 33,000 tokens: enough to cross warning and compaction in this window.
SAMPLE_WINDOW = 32_000
# A conversation much smaller than its model's window would show nothing; it is played in this share of its size.
_WINDOW_SHARE = 0.8
# Below this there is no room for a first message, a summary and a tail.
_SMALLEST_WINDOW = 8_000
_UNKNOWN_MODEL = "unknown model"


class Step(Struct, frozen=True, kw_only=True):
    """One message, and the provider's account that came with it."""

    message: Message
    usage: Usage | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """What is played: the steps, the tools declared, and the window to play it in, tokens."""

    title: str
    model: str
    window: int
    tools: tuple[ToolDefinition, ...]
    steps: tuple[Step, ...]


class ConversationOptions(Struct, frozen=True, kw_only=True):
    """Which conversation to play, and in which window."""

    file: Path | None = None
    format: str | None = None
    run: int | None = None
    window: int | None = None


def load_conversation(options: ConversationOptions) -> Conversation:
    """The transcript in the file, or the sample. Raises `InputError`."""
    path, window = options.file, options.window
    if path is None:
        data = files("ullage.cli").joinpath("data/sample.jsonl").read_bytes()
        transcript = transcripts.read(data, "the sample")
        window = window or SAMPLE_WINDOW
    else:
        transcript = read_transcript(path, options.format, options.run)
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
    """The model's own window if the conversation fills it, or one that it does fill."""
    counter = get_counter(model)
    counted = sum(counter.count_message(step.message) for step in steps)
    largest = max((step.usage.total for step in steps if step.usage), default=0)
    filled = max(_SMALLEST_WINDOW, int(max(counted, largest) * _WINDOW_SHARE))
    known = ContextLimits.for_model(transcript.model).input
    return min(filled, known) if known else filled
