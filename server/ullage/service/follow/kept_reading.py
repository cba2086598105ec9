"""Keeps how far a file was read, and with what, so that the next process reads it on instead of from its beginning.

What is kept is true of a beginning of the file, so it need not be new: what was added since is read. It is not used if
there is any doubt: if that beginning has another digest, if the store has lost the session or a part of it, or if the
reader can't take it. The file is then read from its beginning, as without it.
"""

import asyncio
import logging

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.transcripts import format_named
from ullage.formats.transcripts.format import OpenReading, reading_from
from ullage.model.errors import SessionNotFound, StoreError, UnknownFormat
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import FoundFile, KeptReading, KeptReadings, Mark, TranscriptFiles

log = logging.getLogger(__name__)
# Bytes of a file from which on its reading is kept: a smaller one is read in a few hundredths of a second.
_WORTH = 256 << 10
# The part of what was read by which a file has grown until its reading is kept again. So all that is written of a file
# that becomes large is a small multiple of it, and what is read again is a small part.
_GROWN = 8


class ReadOn(Struct, frozen=True, kw_only=True):
    """A reading that is read on, as `KeptReading` has it, and the session of the file."""

    reading: OpenReading
    conversation: Conversation
    mark: Mark
    title: str


class ReadingOfFile:
    """What is kept of the reading of one file. Not of one of several conversations in a file: others may come between
    its lines."""

    def __init__(
        self, workspace: Workspace, files: TranscriptFiles, found: FoundFile, readings: KeptReadings | None
    ) -> None:
        self._workspace = workspace
        self._files = files
        self._found = found
        self._readings = None if found.run is not None else readings
        # The bytes that the kept reading has read.
        self._kept = 0
        self._is_taken = False

    async def take(self) -> ReadOn | None:
        """Returns the reading that an earlier process has kept, the first time that it is asked for; None if there is
        none that holds. Raises `StoreError`."""
        readings = None if self._is_taken else self._readings
        self._is_taken = True
        known = await asyncio.to_thread(readings.read, self._found) if readings else None
        if known is None or known.digest != await asyncio.to_thread(self._digest, known.mark.offset):
            return None
        try:
            reading = reading_from(format_named(known.format), known.state)
            if reading is None or reading.builder.messages != known.messages:
                return None
            if self._workspace.ports.store.info(known.session_id).messages < known.messages:
                return None
            conversation = self._workspace.open(known.session_id)
        except (SessionNotFound, UnknownFormat):
            return None
        self._kept = known.mark.offset
        return ReadOn(reading=reading, conversation=conversation, mark=known.mark, title=known.title)

    async def keep(self, one: ReadOn) -> None:
        """Keeps a reading if the file has grown much since it was last kept. A failure is logged: it only costs
        work."""
        offset = one.mark.offset
        if self._readings is None or offset - self._kept < max(_WORTH, self._kept // _GROWN):
            return
        self._kept = offset
        state = one.reading.state()
        digest = await asyncio.to_thread(self._digest, offset)
        # The digest is of what was read if nothing has been written since.
        if state is None or self._files.has_changed(self._found.path, one.mark):
            return
        known = KeptReading(
            path=str(self._found.path),
            origin_id=self._found.origin_id,
            session_id=one.conversation.id,
            format=one.reading.format,
            messages=one.reading.builder.messages,
            title=one.title,
            mark=replace(one.mark, stat=()),
            digest=digest,
            state=state,
        )
        try:
            await asyncio.to_thread(self._readings.write, known)
        except StoreError as error:
            log.info("the reading of %s is not kept: %s", self._found.path, error)

    def _digest(self, size: int) -> bytes:
        return self._files.digest(self._found.path, size)
