"""Conversations as the quality bench replays them. Ullage fits them offline, without model, window or calibration."""

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from msgspec import Struct

from benches.report import transcript_files
from ullage.agents import transcripts
from ullage.app.compose import build_workspace
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.blocks import CompactionBlock
from ullage.model.edits import CompactionEdit, compaction_block
from ullage.model.errors import CannotFit
from ullage.model.events import ContextEdited, MessageAppended
from ullage.model.message import Message
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.archive.export import provider_request
from ullage.service.compact.to_budget import fit_budget
from ullage.service.conversation.workspace import Workspace
from ullage.tokens.registry import get_counter
from ullage.transcript.cut_points import cut_points

# One exact tokenizer counts all transcripts, whatever their model, so that a budget means the same for each.
MODEL = "gpt-4o"
COUNTER = get_counter(MODEL)
_BEFORE_CALLS = ("assistant",)


class RealCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent itself made: the messages before `at` were replaced by `block`."""

    at: int
    block: CompactionBlock


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


def read_recorded(paths: Sequence[Path]) -> list[Recorded]:
    """Reads all conversations in the given files and folders."""
    return [_recorded(path) for path in transcript_files(paths)]


def _recorded(path: Path) -> Recorded:
    transcript = transcripts.read(path.read_bytes(), str(path))
    messages = tuple(event.message for event in transcript.events if isinstance(event, MessageAppended))
    return Recorded(
        name=f"{path.parent.name}/{path.name}",
        format=transcript.format,
        messages=messages,
        tokens=tuple(COUNTER.count_message(message) for message in messages),
        compactions=tuple(_compactions(transcript)),
    )


def _compactions(transcript: ImportedTranscript) -> list[RealCompaction]:
    found: list[RealCompaction] = []
    count = 0
    for event in transcript.events:
        count += isinstance(event, MessageAppended)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            found.append(RealCompaction(at=count, block=compaction_block(event.edit)))
    return found


@asynccontextmanager
async def open_recorded(messages: Sequence[Message]) -> AsyncGenerator[tuple[Workspace, str]]:
    """Opens a session with these messages in a temporary store."""
    settings = Settings(model=MODEL, context=ContextSettings(enabled=False))
    events = tuple(MessageAppended(message=message) for message in messages)
    with tempfile.TemporaryDirectory() as folder:
        workspace = build_workspace(Path(folder) / "bench.db", settings)
        transcript = ImportedTranscript(format="bench", events=events, model=MODEL)
        session = await sessions.import_transcript(workspace, transcript, "")
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
