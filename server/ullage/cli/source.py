"""Opens the transcript that a command reads: a file, in a temporary store, or a stored session.

Makes the `--json` object.
"""

import tempfile
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents import transcripts
from ullage.api.values import usage_result
from ullage.app.compose import open_workspace
from ullage.cli.options import ReadingOptions
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import CompactionBlock
from ullage.model.errors import InputError, SessionNotFound
from ullage.model.events import (
    ContextEdited,
    Event,
    MessageAppended,
    ModelChanged,
    Record,
    SessionCreated,
    SessionForked,
    UsageReported,
)
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.service.archive.export import provider_request
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import import_transcript


class Source(Struct, frozen=True, kw_only=True):
    """An open session. `is_copy` is true if the session is in a temporary store, so that no change to it is kept."""

    workspace: Workspace
    conversation: Conversation
    is_copy: bool


@asynccontextmanager
async def open_source(options: ReadingOptions, *, reports: bool = True) -> AsyncGenerator[Source]:
    """Opens the file or session that the arguments name. Raises `InputError` if there is neither.

    If `reports` is false, a copy is counted without the agent's hidden prompt, which isn't part of the result: its
    tokens are those of messages and tools, calibrated by the usage in the transcript.
    """
    if Path(options.target).exists():
        transcript = read_transcript(Path(options.target), options.format, options.run)
    else:
        with open_workspace(options.store) as workspace:
            conversation = _stored(workspace, options.target)
            if options.as_stored:
                yield Source(workspace=workspace, conversation=conversation, is_copy=False)
                return
            transcript = _copied(conversation, workspace.ports.store.read(conversation.id))
    transcript = _as_asked(transcript, options)
    with throwaway_workspace(reading_settings(transcript.model, options.window)) as workspace:
        conversation = await import_transcript(workspace, transcript, "")
        if not reports:
            conversation = _without_reports(workspace, conversation)
        yield Source(workspace=workspace, conversation=conversation, is_copy=True)


def read_transcript(path: Path, format_name: str | None, run: int | None) -> ImportedTranscript:
    """Reads a transcript file as events. Raises `InputError`."""
    return transcripts.read(_read_bytes(path), str(path), format_name, run)


@contextmanager
def throwaway_workspace(settings: Settings) -> Generator[Workspace]:
    """Opens a workspace on a store that is deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_workspace(Path(folder) / "sessions.db", settings) as workspace,
    ):
        yield workspace


def reading_settings(model: str, window: int | None) -> Settings:
    """Returns settings for reading a transcript.

    Nothing is compacted automatically, no file but the transcript is read, and no model writes summaries.
    """
    models = {model: ModelSettings(window=window)} if window else {}
    context = ContextSettings(enabled=False, bring_back="off")
    return Settings(model=model, models=models, context=context, summary=SummarySettings(writer="offline"))


async def result_object(
    conversation: Conversation, provider: str, compaction: CompactionBlock | None
) -> dict[str, Any]:
    """Returns the object that `--json` prints. Other programs read it, so its keys must stay.

    The keys are `messages` (as in a provider's request, with `system` if the provider has it there), `used` and `size`
    in tokens, `source`, the `edits` in force, and the `compaction`, which is null if there is none.
    """
    request = await provider_request(conversation, provider)
    usage = usage_result(conversation)
    beside = {"system": request["system"]} if request.get("system") else {}
    return beside | {
        "messages": request["messages"],
        "used": usage.used,
        "size": usage.size,
        "source": usage.meta.ullage.source.value,
        "edits": msgspec.to_builtins(conversation.transcript.edits_in_force),
        "compaction": msgspec.to_builtins(compaction),
    }


def first_messages(events: Sequence[Event], count: int) -> Iterator[Event]:
    """Yields the events up to the message number `count` and that message's usage: the conversation as it was then."""
    for event in events:
        if isinstance(event, MessageAppended):
            count -= 1
        if count < 0 or (count == 0 and isinstance(event, ContextEdited)):
            return
        yield event


def _stored(workspace: Workspace, session_id: str) -> Conversation:
    try:
        return workspace.open(session_id)
    except SessionNotFound as error:
        raise InputError(f"{session_id}: there is no such file, and no stored session of this id") from error


def _copied(conversation: Conversation, records: Sequence[Record]) -> ImportedTranscript:
    events = tuple(record.event for record in records if not isinstance(record.event, SessionCreated | SessionForked))
    model = next((record.event.model for record in records if isinstance(record.event, SessionCreated)), "")
    return ImportedTranscript(format="session", events=events, model=model, title=conversation.transcript.title)


def _as_asked(transcript: ImportedTranscript, options: ReadingOptions) -> ImportedTranscript:
    events = transcript.events
    if options.at is not None:
        events = tuple(first_messages(events, options.at))
    if options.model is not None:
        events = tuple(event for event in events if not isinstance(event, ModelChanged))
    return replace(transcript, events=events, model=options.model or transcript.model)


def _without_reports(workspace: Workspace, conversation: Conversation) -> Conversation:
    learned = replace(conversation.projection.tracker.calibration, hidden=0)
    workspace.ports.store.save_calibration(conversation.model, msgspec.json.encode(learned))
    first, *rest = (record.event for record in workspace.ports.store.read(conversation.id))
    copy = workspace.adopt(workspace.ports.ids.new("s"), [first])
    copy.record(*(event for event in rest if not isinstance(event, UsageReported)))
    return copy


def _read_bytes(path: Path) -> bytes:
    """Returns a file's contents. Raises `InputError` if the file can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
