"""One followed file: what is added to it is appended to its session.

A file of records that only grows is read record by record: the reader is kept, so a look costs what the new records
cost. A large one is read in pieces, one for each look, and what the reader has made of them is not kept: what a session
lacks of it shows the session's own log. Any other file is read again as a whole when it has changed. Either way, the
session gets only what further records can't change. What is held back is in the figures all the same: these are always
those of a file that ends here.

How far a file was read, and with what, is kept, so that the next process reads on from there. It is true of a beginning
of the file, so it need not be new. It is not used if there is any doubt: if that beginning has another digest, if the
store has lost the session or a part of it, or if the reader can't take it. The file is then read from its beginning.
"""

import asyncio
import logging
from collections.abc import Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.discovery import DATABASES
from ullage.agents.transcripts import detect_format, format_named
from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.formats.transcripts.format import OpenReading, from_last_answer, open_reading, reading_from
from ullage.model.errors import InputError, SessionNotFound, StoreError, UnknownFormat, UnreadableTranscript
from ullage.model.events import (
    ContextEdited,
    EditReverted,
    Event,
    MessageAppended,
    SessionRenamed,
)
from ullage.model.usage import UsageSource
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import (
    Appended,
    FoundFile,
    Growth,
    KeptReading,
    KeptReadings,
    LastRows,
    Mark,
    Missing,
    OtherRows,
    Pieces,
    ReadFile,
    Replaced,
    TranscriptFiles,
)
from ullage.service.sessions import (
    before_open_results,
    continue_import,
    ends_with_newest,
    imagine_import,
    import_or_continue,
    missing_from,
    project_transcript,
    without_edits,
)

log = logging.getLogger(__name__)
# Messages after the last snapshot that are folded in no time when a session is opened.
_FOLDED = 64
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
        """Returns, once, the reading that an earlier process has kept, or None if none holds. Raises `StoreError`."""
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
        """Keeps a reading if the file has grown much since the last. A failure is logged: it only costs work."""
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


# Seconds of silence after which nothing more is expected to belong to what a file ends with. Claude Code up to 2.1.39
# writes a block of an answer when the block is complete, and does not say which is the last: of 3,300 recorded blocks,
# half came more than a second after the one before, and one after more than a minute (72 s).
ENDED = 300.0

# Bytes by which a file has grown that are read in less time than it takes to have a thread read them.
_AT_ONCE = 32 << 10

# Bytes at the end of a large file in which its figures are looked for, one after the other: mostly the last answer
# is within as many, unless long results of tools follow it.
_ENDS = (32 << 10, 128 << 10, 1 << 20)


class Seen(Struct, frozen=True, kw_only=True):
    """What a look at a followed file has found. `changed` says that its session has become longer or is another one;
    `missing` that there is no such file now; `more` that the session has only a part of the file, and the next look
    continues; `written` that what was read of the file is not as it was before."""

    changed: bool = False
    missing: bool = False
    more: bool = False
    written: bool = False


class FollowedFile:
    """A followed file. `conversation` is its session, None while it holds no message. For one task at a time."""

    def __init__(
        self, workspace: Workspace, files: TranscriptFiles, found: FoundFile, readings: KeptReadings | None = None
    ) -> None:
        self._found = found
        self._kept = ReadingOfFile(workspace, files, found, readings)
        self.conversation: Conversation | None = None
        self._workspace = workspace
        self._files = files
        self._mark: Mark | None = None
        self._open: OpenReading | None = None
        # The messages of the session, if it holds exactly what the reader has read; None if it may hold more.
        self._held: int | None = None
        # The messages that were read, and those at the last snapshot.
        self._read = self._saved = 0
        self._pieces = Pieces.SMALL_FIRST
        self._is_behind, self._is_proxied = False, False
        # Whether the session has messages that the file no longer has: an agent whose user goes back may take them out.
        self._is_shorter = False
        self._title = ""
        # Whether the file was last read by an earlier process.
        self._is_resumed = False

    def resume(self, read: ReadFile) -> bool:
        """Takes the file as read whole, as an earlier process has read it. Returns False, and the file is to be read,
        if it is no longer the same, or if the store has lost the session or a part of it. Raises `StoreError`."""
        if self._files.has_changed(self._found.path, Mark(stat=read.stat)) or not read.ends:
            return False
        if self._files.ends(self._found.path) != read.ends:
            return False
        try:
            if self._workspace.ports.store.info(read.session_id).messages < read.messages:
                return False
            conversation = self._workspace.open(read.session_id)
        except SessionNotFound:
            return False
        origin = conversation.transcript.origin
        if origin is None or self._proxied(origin.origin_id):
            return False
        # What is added to the file shows only a reader that has read all of it.
        self.conversation, self._mark, self._is_resumed = conversation, Mark(stat=read.stat), True
        self._read = read.messages
        return True

    def as_read(self) -> ReadFile | None:
        """Returns what `resume` needs in a later process, or None if the session has not all of the file."""
        conversation, mark, path = self.conversation, self._mark, self._found.path
        if conversation is None or mark is None or not mark.stat or not conversation.is_open:
            return None
        if self._is_behind or self._is_proxied or self._is_shorter or self._found.run is not None:
            return None
        ends = self._files.ends(path)
        if not ends or self._files.has_changed(path, mark):
            return None
        return ReadFile(
            path=str(path),
            origin_id=self._found.origin_id,
            session_id=conversation.id,
            messages=conversation.transcript.messages,
            stat=mark.stat,
            ends=ends,
        )

    @property
    def mark(self) -> Mark | None:
        """How far the file has been read. It differs after each look that has read something."""
        return self._mark

    @property
    def may_begin(self) -> bool:
        """Whether there is no session yet, and the file says that what its reader holds back is complete."""
        return self.conversation is None and self._open is not None and self._open.is_complete

    async def look(self) -> Seen:
        """Reads what has happened to the file since the last look. Raises `InvalidRequest` if the file can't be read,
        `UnknownFormat` if it is no transcript, and `StoreError`. After `UnknownFormat`, further looks find nothing
        until the file has changed again: an agent may write other lines before the first message."""
        if not self._files.has_changed(self._found.path, self._mark):
            return Seen()
        is_taken_up = self._open is None and await self._read_on()
        seen = await self._look()
        return replace(seen, changed=True, written=True) if is_taken_up else seen

    async def _look(self) -> Seen:  # noqa: C901, PLR0911 - one dispatch
        match await self._growth():
            case None:
                return Seen()
            case Missing():
                # What was held back is all that there will be.
                await self.settle(ENDED)
                self._mark = self._open = None
                self._pieces, self._is_behind = Pieces.SMALL_FIRST, False
                return Seen(missing=True, written=True)
            case Appended(lines=lines, mark=mark, more=more) as added if self._open and self._open.goes_on_with(lines):
                self._mark, self._is_behind = mark, more
                self._open.take(lines, added.companions)
                changed = await self._record(self._open)
            case OtherRows(mark=mark):
                self._mark = mark
                return Seen()
            case Appended():
                # The file's conversation can't be continued line by line, or these lines begin another one.
                return await self._look_at_whole()
            case LastRows(document=document, mark=mark):
                if self._open is None or not self._open.take_last(_named(document, self._found)):
                    return await self._look_at_whole()
                self._mark = mark
                changed = await self._record(self._open)
            case Replaced(document=document, mark=mark, more=more):
                # If the file can't be understood, it isn't read again before it has changed.
                self._mark, self._is_behind = mark, more
                document = _named(document, self._found)
                reading = self._open_piece(document) if more else None
                if more and reading is None:
                    # A larger piece may show what the file is.
                    is_small = self._pieces is Pieces.SMALL_FIRST
                    return await self._look_again(Pieces.LARGE if is_small else Pieces.NONE)
                try:
                    changed = await self._replace(document, reading)
                except StoreError:
                    self._mark = None
                    raise
        return Seen(changed=changed, more=self._is_behind, written=True)

    async def _growth(self) -> Growth:
        """Returns what has happened to the file. An unreadable one is read again when it changes, or was locked."""
        path, mark, origin_id = self._found.path, self._mark, self._found.origin_id
        if mark is not None and mark.offset >= 0 and self._files.size(path) <= mark.offset + _AT_ONCE:
            return self._files.read_on(path, mark, origin_id, pieces=self._pieces)
        stat = self._files.stat(path)
        try:
            return await asyncio.to_thread(self._files.read_on, path, mark, origin_id, pieces=self._pieces)
        except InputError:
            if stat and not str(path).endswith(DATABASES):
                self._mark = Mark(stat=stat)
            raise

    async def _read_on(self) -> bool:
        """Takes up the reading that an earlier process has kept. Returns whether there is one. Raises `StoreError`."""
        known = await self._kept.take()
        if known is None:
            return False
        origin = known.conversation.transcript.origin
        if origin is None or self._proxied(origin.origin_id):
            return False
        self.conversation, self._mark, self._open = known.conversation, known.mark, known.reading
        self._title, self._is_resumed, self._saved = known.title, False, known.reading.builder.messages
        self._take_as_read(known.reading, known.conversation)
        return True

    async def keep(self) -> None:
        """Keeps how far the file was read, and with what, for a later process."""
        reading, conversation, mark = self._open, self.conversation, self._mark
        if reading is None or conversation is None or mark is None or not mark.stat:
            return
        if not (self._is_behind or self._is_proxied) and conversation.transcript.messages >= self._read:
            await self._kept.keep(ReadOn(reading=reading, conversation=conversation, mark=mark, title=self._title))

    async def look_ahead(self) -> Conversation | None:
        """Returns the conversation as it is if the file ends here, or None if its session has exactly that. Nothing is
        stored. While the session has only a part of the file, the end of the file says the figures: then only these are
        right, the conversation has no id, and None is returned if the file doesn't say them. Raises `InputError` if the
        file can't be read, and `StoreError`."""
        if self._is_behind:
            known = self._open.format if self._open else ""
            return await _figures_at_end(self._workspace, self._files, self._found, known)
        reading, conversation = self._open, self.conversation
        if conversation is None or self._is_proxied or not conversation.is_open:
            return None
        ended = await asyncio.to_thread(reading.ended) if reading else None
        read = ended.builder.messages if ended else self._read
        self._is_shorter = read < conversation.transcript.messages
        rest = self._missing(conversation, ended.builder.drain()) if ended else ()
        if rest is None or self._is_shorter:
            # What the session was given as complete has continued, or was taken out of the file.
            return await self._project_whole()
        return await imagine_import(conversation, rest, ended.builder.first_model) if ended and rest else None

    async def _project_whole(self) -> Conversation | None:
        """Returns the conversation that the file has now, without storing anything."""
        path, origin_id = self._found.path, self._found.origin_id
        growth = await asyncio.to_thread(self._files.read_on, path, None, origin_id, pieces=Pieces.NONE)
        if not isinstance(growth, Replaced):
            return None
        document = _named(growth.document, self._found)
        return await project_transcript(self._workspace, detect_format(document).read(document))

    async def _look_at_whole(self) -> Seen:
        """Reads the file from its beginning to its end at once."""
        return await self._look_again(Pieces.NONE)

    async def _look_again(self, pieces: Pieces) -> Seen:
        self._mark, self._pieces, self._is_behind = None, pieces, False
        return await self._look()

    def _open_piece(self, document: Document) -> OpenReading | None:
        """Returns a reading of the first piece of a file, or None if the file can't be read on in pieces."""
        try:
            known = detect_format(document)
        except UnknownFormat:
            return None
        # Which of several conversations is followed shows only the whole file.
        if self._found.run is not None or known.begins_another:
            return None
        reading = open_reading(known, document)
        return reading if reading is not None and reading.goes_on else None

    async def _replace(self, document: Document, reading: OpenReading | None) -> bool:
        """Makes the session hold the document, of which `reading` is the reading if it is the first piece of a file."""
        self._open, self._held, self._read = None, None, 0
        if not (document.value or document.lines or document.companions):
            return False
        known = detect_format(document)
        self._open = reading or open_reading(known, document)
        if self._open and not self._open.builder.messages:
            # A fork may begin with a summary: its session is made when the first message is there.
            return False
        try:
            transcript = self._open.builder.finish() if self._open else known.read(document)
        except UnreadableTranscript:
            # No message has been written yet.
            return False
        return await self._import(transcript)

    async def read_all(self) -> None:
        """Reads the file to its end, as complete. Raises `InvalidRequest` if it can't be read, and `StoreError`."""
        while (await self.look()).more:
            pass
        await self.settle(self._files.quiet_for(self._found.path))
        self.publish()

    def publish(self) -> None:
        """Publishes the session's figures, once, if they were held back while its past was read. To be called when a
        look and what settles after it have ended, and when the file is no longer looked at."""
        if self.conversation is not None:
            self.conversation.publish()

    async def settle(self, quiet: float = 0.0) -> bool:
        """Gives the session what the reader holds back, because nothing has been written for a while: if the file says
        that it is complete, if it has been quiet for minutes, or if the session has nothing else. If the file continues
        all the same, what the session then has is looked up in its log. `quiet` is the number of seconds. Returns
        whether the session has become longer. Raises `StoreError`."""
        reading, conversation = self._open, self.conversation
        if reading is None or self._is_behind or self._is_proxied:
            return False
        if self._read and not reading.is_complete and quiet < ENDED:
            return False
        ended = await asyncio.to_thread(reading.ended)
        if ended is None or not ended.builder.messages:
            return False
        if conversation is None or not self._read:
            return await self._import(ended.builder.finish())
        if not conversation.is_open or (rest := self._missing(conversation, ended.builder.drain())) is None:
            return False
        rest = before_open_results(conversation.transcript.view[-1:], rest)
        await continue_import(conversation, rest, ended.builder.first_model, with_snapshot=self._keeps(reading, rest))
        self._held = None
        return (reading.may_take_back and self._take_back(ended.builder.branches.rewinds)) or bool(rest)

    def _take_back(self, rewinds: Set[str]) -> bool:
        """Lets the user's ways back to earlier messages be in force as far as the agent has them in force: the session
        may have one that the user has cancelled since, or cancelled and made again. Returns whether any was
        changed."""
        conversation = self.conversation
        if conversation is None or not conversation.is_open:
            return False
        made = (edit for edit in conversation.transcript.edits if edit.kind == "rewind")
        wrong = [edit for edit in made if edit.reverted == (edit.id in rewinds)]
        conversation.record(*(EditReverted(edit_id=edit.id, reverted=not edit.reverted) for edit in wrong))
        return bool(wrong)

    async def _record(self, reading: OpenReading) -> bool:
        """Appends what was read since the last call to the session, as far as the session lacks it."""
        builder, conversation = reading.builder, self.conversation
        if not builder.messages:
            return False
        if not self._read or conversation is None:
            return await self._import(builder.finish())
        more = self._drain(reading)
        if self._is_proxied:
            conversation.catch_up()
            return True
        mark, self._mark = self._mark, None
        try:
            conversation = conversation if conversation.is_open else self._workspace.open(conversation.id)
        except SessionNotFound:
            return (await self._look_at_whole()).changed
        more = self._missing(conversation, more)
        if more is None:
            # The session was continued here, or the file has other messages.
            return (await self._look_at_whole()).changed
        if self._is_behind:
            conversation.hold_back()
        if more:
            await continue_import(conversation, more, builder.first_model, with_snapshot=self._keeps(reading, more))
        renamed = self._rename(conversation, builder.title)
        # If the store has failed, the file is read again from its beginning.
        self.conversation, self._mark = conversation, mark
        self._take_as_read(reading, conversation)
        return renamed or bool(more)

    def _keeps(self, reading: OpenReading, more: Sequence[Event]) -> bool:
        """Returns whether a snapshot is kept with these events: it takes as long as the context is large."""
        messages, saved = reading.builder.messages, self._saved
        is_edited = any(isinstance(event, ContextEdited) for event in more)
        keeps = messages >= 2 * saved if self._is_behind else is_edited or messages >= saved + _FOLDED
        self._saved = messages if keeps else saved
        return keeps

    def _missing(self, conversation: Conversation, more: tuple[Event, ...]) -> Sequence[Event] | None:
        """Returns those of these next events that the session lacks; None if it has other messages there."""
        if more and conversation.transcript.messages != self._held:
            found = missing_from(self._workspace.ports.store, conversation.id, self._read, more)
            if found is None:
                return None
            if len(found) < len(more):
                # Another process has read the file, too.
                conversation.catch_up()
            more = found
        # What is settled again at each look may be recorded already.
        return without_edits(more, {edit.id for edit in conversation.transcript.edits} if more else set())

    def _drain(self, reading: OpenReading) -> tuple[Event, ...]:
        """Returns the events that were read since the last call. They are not kept."""
        events = reading.builder.drain()
        reading.builder.forget()
        return events

    def _take_as_read(self, reading: OpenReading, conversation: Conversation) -> None:
        self._read = reading.builder.messages
        # The session may hold more than was read.
        self._held = self._read if conversation.transcript.messages == self._read else None

    async def _import(self, transcript: ImportedTranscript) -> bool:
        """Makes the file's session hold the whole transcript, which may need another session: what was read may be
        gone, or the session may have been continued here."""
        before = self.conversation
        proxied = self._proxied(transcript.session_id)
        self._is_proxied = proxied is not None
        if proxied:
            # The proxy records this conversation. It is shown as that session, and nothing is added to it.
            self.conversation, added, renamed = proxied, 0, True
        else:
            path = str(self._found.path)
            imported = await import_or_continue(self._workspace, transcript, "", path, held_back=True)
            self.conversation, added = imported.conversation, imported.added
            if imported.conversation is not before or self._is_resumed:
                self._title, self._is_resumed = transcript.title, False
            renamed = self._rename(imported.conversation, transcript.title)
        if self._open and self._open.builder.messages:
            self._drain(self._open)
            self._take_as_read(self._open, self.conversation)
        elif self._open is None:
            self._read = sum(isinstance(event, MessageAppended) for event in transcript.events)
        return self.conversation is not before or added > 0 or renamed

    def _proxied(self, origin_id: str) -> Conversation | None:
        """Returns the session in which the proxy records the conversation to which its agent gave the id `origin_id`,
        up to date. Returns None if there is none. The proxy gives a session the id that its agent gave it."""
        try:
            self._workspace.ports.store.info(origin_id)
        except SessionNotFound:
            return None
        conversation = self._workspace.open(origin_id)
        conversation.catch_up()
        agent = conversation.transcript.agent
        return conversation if agent is not None and agent.session_id == origin_id else None

    def _rename(self, conversation: Conversation, title: str) -> bool:
        """Gives the session a title that its program has changed."""
        if title in ("", self._title):
            return False
        conversation.record(SessionRenamed(title=title))
        self._title = title
        return True


async def _figures_at_end(
    workspace: Workspace, files: TranscriptFiles, found: FoundFile, format_name: str
) -> Conversation | None:
    """Returns a conversation whose figures alone are right: those that the end of the file says. Returns None if
    it doesn't say them. `format_name` is the file's format, "" if it is not known."""
    for most in _ENDS:
        document = await asyncio.to_thread(files.read_ends, found.path, most)
        if document is None:
            break
        if ahead := await _project_end(workspace, document, found, format_name):
            return ahead
    else:
        return None
    growth = await asyncio.to_thread(files.read_on, found.path, None, found.origin_id)
    if not isinstance(growth, Replaced) or growth.more:
        return None
    return await _project_end(workspace, growth.document, found, format_name)


def _named(document: Document, found: FoundFile) -> Document:
    """Returns the document with the conversation that is followed, of several in it, named."""
    return replace(document, run=found.run, origin_id=found.origin_id)


async def _project_end(
    workspace: Workspace, document: Document, found: FoundFile, format_name: str
) -> Conversation | None:
    try:
        known = format_named(format_name) if format_name else detect_format(document)
        # The end of a file with several conversations need not be of the one that is followed.
        if known.begins_another:
            return None
        # The first line says which conversation it is.
        transcript = known.read(_named(from_last_answer(known, document, 1), found))
    except InputError:
        return None
    if not ends_with_newest(transcript.events):
        return None
    conversation = await project_transcript(workspace, transcript)
    return None if conversation.projection.tracker.reading.source is UsageSource.ESTIMATED else conversation


async def read_conversation(workspace: Workspace, files: TranscriptFiles, found: FoundFile) -> Conversation | None:
    """Reads a file into its session. Returns None without a message. Raises `InputError` and `StoreError`."""
    file = FollowedFile(workspace, files, found)
    await file.read_all()
    return file.conversation
