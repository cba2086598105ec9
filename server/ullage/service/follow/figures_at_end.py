"""The figures that the end of a large file says, before the rest of the file has been read."""

import asyncio
from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.transcripts import detect_format, format_named
from ullage.formats.parsing import Document
from ullage.model.errors import InputError
from ullage.model.events import ContextEdited, Event, UsageReported
from ullage.model.usage import UsageSource
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import project_transcript
from ullage.service.ports.agent_files import FoundFile, Replaced, TranscriptFiles

# Bytes at the end of a large file in which its figures are looked for, one after the other: mostly the last answer
# is within as many, unless long results of tools follow it.
_ENDS = (32 << 10, 128 << 10, 1 << 20)


async def figures_at_end(
    workspace: Workspace, files: TranscriptFiles, found: FoundFile, format_name: str
) -> Conversation | None:
    """Returns a conversation of which only the figures are right: those that the end of the file says. Returns None if
    it doesn't say them. `format_name` is the file's format, "" if it is not known."""
    for most in _ENDS:
        document = await asyncio.to_thread(files.read_ends, found.path, most)
        if document is None:
            break
        if ahead := await _project(workspace, document, found, format_name):
            return ahead
    else:
        return None
    growth = await asyncio.to_thread(files.read_on, found.path, None, found.origin_id)
    if not isinstance(growth, Replaced) or growth.more:
        return None
    return await _project(workspace, growth.document, found, format_name)


def named(document: Document, found: FoundFile) -> Document:
    """Returns the document with the conversation that is followed, of several in it, named."""
    return replace(document, run=found.run, origin_id=found.origin_id)


async def _project(workspace: Workspace, document: Document, found: FoundFile, format_name: str) -> Conversation | None:
    try:
        known = format_named(format_name) if format_name else detect_format(document)
        # The end of a file with several conversations need not be of the one that is followed.
        if known.begins_another:
            return None
        transcript = known.read(named(document, found))
    except InputError:
        return None
    if not _ends_with_newest(transcript.events):
        return None
    conversation = await project_transcript(workspace, transcript)
    return None if conversation.projection.tracker.reading.source is UsageSource.ESTIMATED else conversation


def _ends_with_newest(events: Sequence[Event]) -> bool:
    """Returns whether the last report of a usage is the newest of what changes the size of the context. Of lines whose
    parents are in an unread part of a file, a reader can't know the order."""
    reports = [event.timestamp for event in events if isinstance(event, UsageReported)]
    edits = [event.edit.timestamp for event in events if isinstance(event, ContextEdited)]
    return not reports or reports[-1] >= max([*reports, *edits])
