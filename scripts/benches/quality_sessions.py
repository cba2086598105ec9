"""Conversations as the quality bench replays them. Ullage fits them offline, without model, window or calibration."""

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from benches.report import read_file, transcript_files
from ullage.app.compose import open_workspace
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import CompactionBlock
from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited, Event, MessageAppended
from ullage.model.message import Message
from ullage.model.settings import ContextSettings, Settings
from ullage.service import imports
from ullage.service.archive.export import provider_request
from ullage.service.compact.to_budget import fit_budget
from ullage.service.conversation.workspace import Workspace
from ullage.tokens.counter_choice import get_counter
from ullage.transcript.cut_points import cut_points

# One exact tokenizer counts all transcripts, whatever their model, so that a budget means the same for each.
MODEL = "gpt-4o"
COUNTER = get_counter(MODEL)
_BEFORE_CALLS = ("assistant",)


class RealCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent itself made: the messages before `at` were replaced by `block`. `events` are
    the messages and the agent's compactions so far, this one included."""

    at: int
    block: CompactionBlock
    events: tuple[Event, ...]


class Recorded(Struct, frozen=True, kw_only=True):
    """A recorded conversation, the format of its agent's transcript, its messages' tokens, and the compactions that
    its agent made."""

    name: str
    format: str
    messages: tuple[Message, ...]
    tokens: tuple[int, ...]
    compactions: tuple[RealCompaction, ...]

    def place(self, tokens: float) -> int | None:
        """Returns the first place after that many tokens where a model would be asked: a cut is legal, and an answer
        follows. Returns None if there is no such place."""
        legal = set(cut_points(self.messages))
        size = 0
        for index, counted in enumerate(self.tokens):
            if size >= tokens and index in legal and self.messages[index].role.value in _BEFORE_CALLS:
                return index
            size += counted
        return None


class Fitted(Struct, frozen=True, kw_only=True):
    """A context that Ullage produced: its messages, its size, and the providers' rules that it breaks."""

    messages: tuple[Message, ...]
    used: int
    requests: dict[str, list[dict[str, object]]]


def read_recorded(paths: Sequence[Path], sessions: int | None = None) -> list[Recorded]:
    """Reads all conversations in the given files and folders, or only `sessions` of them: those that their agent
    compacted before the others, and the larger ones before the smaller."""
    found = [_recorded(path) for path in transcript_files(paths)]
    chosen = sorted(found, key=lambda each: (-len(each.compactions), -sum(each.tokens)))[:sessions]
    return [each for each in found if each in chosen] if sessions is not None else found


def _recorded(path: Path) -> Recorded:
    transcript = read_file(path)
    messages = tuple(event.message for event in transcript.events if isinstance(event, MessageAppended))
    return Recorded(
        name=f"{path.parent.name}/{path.name}",
        format=transcript.format,
        messages=messages,
        tokens=tuple(COUNTER.count_message(message) for message in messages),
        compactions=tuple(_compactions(transcript)),
    )


def _compactions(transcript: ImportedTranscript) -> list[RealCompaction]:
    """Returns the compactions with a text. A summary that only its provider can read can't be measured."""
    found: list[RealCompaction] = []
    so_far: list[Event] = []
    count = 0
    for event in transcript.events:
        count += isinstance(event, MessageAppended)
        if isinstance(event, MessageAppended):
            so_far.append(event)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            so_far.append(event)
            block = compaction_block(event.edit)
            if block.summary.strip():
                found.append(RealCompaction(at=count, block=block, events=tuple(so_far)))
    return found


@asynccontextmanager
async def open_recorded(messages: Sequence[Message]) -> AsyncGenerator[tuple[Workspace, str]]:
    """Opens a session with these messages in a temporary store."""
    async with open_events(tuple(MessageAppended(message=message) for message in messages)) as opened:
        yield opened


@asynccontextmanager
async def open_events(events: Sequence[Event]) -> AsyncGenerator[tuple[Workspace, str]]:
    """Opens a session with these events in a temporary store."""
    settings = Settings(model=MODEL, context=ContextSettings(enabled=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workspace(Path(folder) / "bench.db", settings) as workspace,
    ):
        transcript = ImportedTranscript(format="bench", events=tuple(events), model=MODEL)
        session = await imports.import_transcript(workspace, transcript, "")
        yield workspace, session.id


async def fit(workspace: Workspace, session_id: str, budget: int) -> Fitted:
    """Brings the session to at most `budget` tokens. If it cannot be brought so far, returns the context as it then
    is."""
    with suppress(CannotFit):
        await fit_budget(workspace.open(session_id), budget)
    conversation = workspace.open(session_id)
    requests = {shape: await provider_request(conversation, shape) for shape in ("anthropic", "openai")}
    return Fitted(
        messages=tuple(conversation.transcript.view),
        used=conversation.used,
        requests={shape: request["messages"] for shape, request in requests.items()},
    )


async def fit_once(messages: Sequence[Message], budget: int) -> Fitted:
    """Brings a conversation to at most `budget` tokens in one call."""
    async with open_recorded(messages) as (workspace, session_id):
        return await fit(workspace, session_id, budget)
