"""Conversations as the quality bench replays them. Ullage fits them offline, without model, window or calibration."""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from benches.report import read_file, transcript_files
from ullage.app.compose import open_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import CannotFit
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, compaction_block
from ullage.model.message import CompactionBlock, Message, Role
from ullage.model.settings import ContextSettings, Settings
from ullage.service import imports
from ullage.service.archive.export import provider_request
from ullage.service.compact.by_hand import fit_budget
from ullage.tokens.counter import get_counter
from ullage.transcript.view import cut_points

# One exact tokenizer counts all transcripts, whatever their model, so that a budget means the same for each.
MODEL = "gpt-4o"
COUNTER = get_counter(MODEL)


class RealCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the recorded agent itself made: the messages before `at` were replaced by `block`."""

    at: int
    block: CompactionBlock


class Recorded(Struct, frozen=True, kw_only=True):
    """A recorded conversation, its messages' tokens, and the compactions that its agent made."""

    name: str
    messages: tuple[Message, ...]
    tokens: tuple[int, ...]
    compactions: tuple[RealCompaction, ...]

    def place(self, tokens: float) -> int | None:
        """Returns the first place after that many tokens where a model would be asked: a cut is legal, and an answer
        follows. Returns None if there is no such place."""
        legal = set(cut_points(self.messages))
        size = 0
        for index, counted in enumerate(self.tokens):
            if size >= tokens and index in legal and self.messages[index].role is Role.ASSISTANT:
                return index
            size += counted
        return None


class Fitted(Struct, frozen=True, kw_only=True):
    """A context that Ullage produced: its messages, and those of the request to each provider."""

    messages: tuple[Message, ...]
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
        messages=messages,
        tokens=tuple(COUNTER.count_message(message) for message in messages),
        compactions=tuple(_compactions(transcript)),
    )


def _compactions(transcript: ImportedTranscript) -> Iterator[RealCompaction]:
    """Yields the compactions with a text. A summary that only its provider can read can't be measured."""
    count = 0
    for event in transcript.events:
        count += isinstance(event, MessageAppended)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            block = compaction_block(event.edit)
            if block.summary.strip():
                yield RealCompaction(at=count, block=block)


async def fit_once(messages: Sequence[Message], budget: int) -> Fitted | None:
    """Brings a conversation to at most `budget` tokens in a temporary store. Returns None if Ullage refuses, because
    what must stay is larger: pinned messages, and what the user typed last."""
    events = tuple(MessageAppended(message=message) for message in messages)
    settings = Settings(model=MODEL, context=ContextSettings(enabled=False))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_workspace(Path(folder) / "bench.db", settings) as workspace,
    ):
        transcript = ImportedTranscript(format="bench", events=events, model=MODEL)
        session = await imports.import_transcript(workspace, transcript, "")
        try:
            await fit_budget(session, budget)
        except CannotFit:
            return None
        return Fitted(
            messages=tuple(session.transcript.view),
            requests={shape: (await provider_request(session, shape))["messages"] for shape in ("anthropic", "openai")},
        )
