"""What the compaction of a conversation left out, from its log: the one question of the command line, the editors, the
hooks and the MCP server. It is the ledger of the messages before, without what the agent's context says.

The complement brief is a page of it for the agent. The same entries and room give the same brief.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.carried import Context
from ullage.ledger.contradiction import marked
from ullage.ledger.folding import fold
from ullage.ledger.ledger_entry import Entry, Kind, Ledger, Life
from ullage.ledger.ledger_page import QUOTED, Page, is_on, lacking, relative, standing, write_page
from ullage.model.events import CompactionEdit, ContextEdited, MessageAppended, Record, compaction_block
from ullage.model.message import NO_SUMMARY, CompactionBlock, Message, Role, TextBlock
from ullage.redaction.clean import RECORD, clean
from ullage.transcript.fold import Transcript, compaction_edits, taken_back

# Milliseconds. An agent may write its compaction into its file a moment after the hook has answered, with the time of
# the writing.
_LATE = 60_000


class LastCompaction(Struct, frozen=True, kw_only=True):
    """A compaction. `before` are all messages of the transcript until then, `carried` is the context right after it:
    the summary, and the messages that the agent kept. `taken_back` are the ids of those that the user took back.
    `edit_id` names it, `block` describes it, `timestamp` is its time in Unix milliseconds, 0 if unknown."""

    before: tuple[Message, ...]
    carried: tuple[Message, ...]
    edit_id: str
    block: CompactionBlock
    timestamp: int
    taken_back: frozenset[str] = frozenset()

    @property
    def kept(self) -> int:
        """The number of messages before the compaction that are still in the context."""
        known = {message.id for message in self.before}
        return sum(message.id in known for message in self.carried)

    @property
    def has_summary(self) -> bool:
        """Whether the agent kept a summary. It may have begun a new context window without one."""
        return self.block.summary != NO_SUMMARY

    @property
    def is_readable(self) -> bool:
        """Whether the summary can be read. A provider may keep it encrypted."""
        return bool(self.block.summary.strip())


def last_compaction(records: Sequence[Record], edit_id: str | None = None) -> LastCompaction | None:
    """Returns the last compaction in force of a log, or the one in force with this id. Returns None if there is
    none."""
    edits = [edit for edit in compaction_edits(records) if edit_id in (None, edit.id)]
    if not edits:
        return None
    transcript = Transcript()
    transcript.expect_reverts(records)
    before: list[Message] = []
    for record in records:
        transcript.apply(record)
        event = record.event
        if isinstance(event, MessageAppended):
            before.append(event.message)
        elif isinstance(event, ContextEdited) and event.edit.id == edits[-1].id:
            break
    return LastCompaction(
        before=tuple(before),
        carried=transcript.view,
        taken_back=taken_back(records),
        edit_id=edits[-1].id,
        block=compaction_block(edits[-1]),
        timestamp=edits[-1].timestamp,
    )


def compaction_before(at: int, edits: Sequence[CompactionEdit]) -> str | None:
    """Returns the id of the compaction after which a hook gave something back at a time, None if there is none."""
    before = [edit.id for edit in edits if edit.timestamp <= at + _LATE]
    return before[-1] if before else None


def messages_of(transcript: ImportedTranscript) -> list[Message]:
    """Returns all messages of a conversation."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def summary_message(summary: str) -> Message:
    """Returns the message with which an agent continues that has nothing but a summary."""
    return Message(id="summary", role=Role.USER, content=(TextBlock(text=summary),))


def records_of(transcript: ImportedTranscript) -> list[Record]:
    """Returns a conversation's log."""
    return [Record(position=place, timestamp=0, event=event) for place, event in enumerate(transcript.events)]


_NOUNS = {
    Kind.SAID: ("message of yours", "messages of yours"),
    Kind.TASK: ("open task", "open tasks"),
    Kind.PROBLEM: ("problem", "problems"),
    Kind.CHECK: ("check", "checks"),
    Kind.COMMIT: ("commit", "commits"),
    Kind.FILE: ("file", "files"),
    Kind.JOB: ("job", "jobs"),
    Kind.WORDS: ("text of the agent", "texts of the agent"),
    Kind.EARLIER: ("line of an earlier summary", "lines of an earlier summary"),
}


class Before(Struct, frozen=True, kw_only=True):
    """What was known before a compaction: the ledger of messages with these ids, in order."""

    ledger: Ledger
    ids: tuple[str, ...]


class LeftOut(Struct, frozen=True, kw_only=True):
    """A compaction, and what it left out, in the order of a page. Nothing is known of a compaction whose summary is not
    readable, so nothing is listed then. `cwd` is the project's folder, empty if unknown. `given` are the texts that
    hooks have given back to the agent since."""

    compaction: LastCompaction
    entries: tuple[Entry, ...]
    cwd: str = ""
    given: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many were left out of each kind, in the order of the kinds."""
        return count_kinds(self.entries)

    @property
    def missing(self) -> dict[str, int]:
        """How many of them no text that was given back has. Such a text may have more than was left out, because a hook
        does not know which messages the agent keeps next to its summary."""
        return count_kinds([one for one in self.entries if not any(is_on(text, one, self.cwd) for text in self.given)])


def read_before(messages: Sequence[Message], cwd: str = "", gone: Container[str] = ()) -> Before:
    """Reads the messages before a compaction, but for those with an id in `gone`, which the user took back. This takes
    nearly all of the time, and needs no summary yet."""
    return Before(ledger=fold(messages, cwd, gone), ids=tuple(message.id for message in messages))


def lost_from(before: Before, carried: Sequence[Message]) -> tuple[Entry, ...]:
    """Returns what was known before a compaction and the context `carried` over it does not say, or says otherwise in
    its summary."""
    context = Context(carried, [entry.text for entry in before.ledger.said])
    entries = standing(before.ledger)
    kept = frozenset(index for index, one in enumerate(before.ids) if one in context.ids)
    # What was not there before the compaction is its summary.
    known = frozenset(before.ids)
    new = [message for message in carried if message.id not in known]
    summary = "\n".join(message.compaction.summary if message.compaction else message.text for message in new)
    return lacking(marked(entries, summary), context, kept)


def left_out(
    records: Sequence[Record],
    cwd: str = "",
    edit_id: str | None = None,
    given: Iterable[tuple[int, str]] = (),
) -> LeftOut | None:
    """Returns what the compaction `edit_id` of a log left out, or the last one in force. Returns None if there is none.
    Paths under the folder `cwd` are the project's. `given` are all texts that hooks gave the agent, each with its time
    in Unix milliseconds."""
    compaction = last_compaction(records, edit_id)
    if compaction is None:
        return None
    before = read_before(compaction.before, cwd, compaction.taken_back)
    found = lost_from(before, compaction.carried) if compaction.is_readable else ()
    edits = compaction_edits(records)
    texts = tuple(text for at, text in given if compaction_before(at, edits) == compaction.edit_id)
    return LeftOut(compaction=compaction, entries=found, cwd=cwd, given=texts)


def text_of(entry: Entry, cwd: str) -> str:
    """Returns the text of an entry as lists have it: a path under the folder `cwd` without it, anything else as it was
    written, without secrets."""
    return relative(entry.text, cwd) if entry.kind is Kind.FILE else clean(entry.text)


def detail_of(entry: Entry) -> str:
    """Returns what lists show next to an entry: what is needed to understand it, and the line of the summary that says
    otherwise. Empty if there is neither."""
    against = f"the summary says: {entry.against}" if entry.against else ""
    return "; ".join(clean(part) for part in (entry.beside, against) if part)


def count_kinds(entries: Sequence[Entry]) -> dict[str, int]:
    """Returns how many entries there are of each kind, in the order in which pages show the kinds."""
    # A branch without a commit is none.
    counts = Counter(entry.kind for entry in entries if (entry.kind, entry.life) != (Kind.COMMIT, Life.OPEN))
    return {kind.value: counts[kind] for kind in Kind if counts[kind]}


def left_out_words(found: LeftOut, kinds: int = len(Kind)) -> str:
    """Returns in words what was left out, at most so many kinds of it, and what of it is still missing if something was
    given back: `2 messages of yours, 1 open task; still missing: 1 open task`."""
    missing = found.missing
    told = counted_words(dict(list(found.counts.items())[:kinds])) + (" and more" if len(found.counts) > kinds else "")
    if missing == found.counts:
        return told
    return f"{told}; still missing: {counted_words(missing)}" if missing else f"{told}; all of it given back"


def counted_words(counts: dict[str, int]) -> str:
    """Returns counts of kinds in words: `2 messages of yours, 1 open task`."""
    return ", ".join(f"{count:,} {_NOUNS[Kind(kind)][count != 1]}" for kind, count in counts.items())


HEAD = f"What the last compaction left out. {RECORD} #N is its message; later words hold, also your summary's."

_GUIDE_HEAD = (
    # Claude Code shows it to the user of `/compact`, and leaves it in the context.
    'The summary must keep what follows, with the numbers #N, and not contradict it. Lines after "> " are quoted from '
    "this conversation: nothing to be done now."
)


def ranked(entries: Iterable[Entry]) -> list[Entry]:
    """Returns the entries of a kind as a reader wants them: first what the agent's summary contradicts, then what is
    open, then the rest, the newest first."""
    return sorted(
        entries, key=lambda entry: (not entry.against, entry.life in (Life.MENDED, Life.ENDED, Life.DONE), -entry.index)
    )


def characters(text: str) -> int:
    """Returns the length of a text as agents limit it: in UTF-16 units, since they run on JavaScript."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def write_brief(entries: Sequence[Entry], room: int, size: Callable[[str], int] = characters, *, cwd: str = "") -> Page:
    """Returns a brief of what was left out, of at most `room` by `size`. Its text is empty if nothing was left out, or
    if there is no room for a line. Paths under the folder `cwd` are written without it."""
    return write_page(entries, room, size, cwd=cwd, style=replace(QUOTED, above=HEAD))


def write_guide(ledger: Ledger, room: int, *, cwd: str = "") -> Page:
    """Returns what a summary that is about to be written must keep, in at most `room` UTF-16 units: what the
    user said, open tasks and problems, checks and commits, changed files and what still runs. Its text is empty if
    there is nothing."""
    keeps = {Kind.SAID, Kind.TASK, Kind.PROBLEM, Kind.CHECK, Kind.COMMIT, Kind.FILE, Kind.JOB}
    entries = [
        entry
        for entry in standing(ledger)
        if entry.kind in keeps and entry.life not in (Life.DONE, Life.MENDED, Life.ENDED)
    ]
    return write_page(entries, room, characters, cwd=cwd, style=replace(QUOTED, above=_GUIDE_HEAD))
