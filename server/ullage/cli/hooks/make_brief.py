"""What a hook gives back: the brief of what a compaction left out, from the agent's own file."""

import stat
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.agents.agent import Agent
from ullage.agents.table import agent_of_word
from ullage.agents.transcripts import read_document
from ullage.agents.wiring import Wiring
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.ledger.ledger_entry import Entry
from ullage.lost import LONGEST
from ullage.lost.left_out import (
    Before,
    characters,
    count_kinds,
    last_compaction,
    lost_from,
    messages_of,
    read_before,
    records_of,
    summary_message,
    write_brief,
    write_guide,
)
from ullage.model.errors import InvalidRequest, UllageError
from ullage.system.growing_files import is_database, parse_file, read_database
from ullage.tokens.counter import get_counter
from ullage.transcript.fold import taken_back
from ullage.watch.candidates import find_candidates, this_machine

# A file that has grown by less than this share since it was read is not read again while an agent waits.
_GROWN = 0.02
# Milliseconds by which an agent's clock in its file may be before the time at which its hook arrived.
_SOONER = 60_000


class LeftBrief(Struct, frozen=True, kw_only=True):
    """A brief that the worker leaves for a hook. `outcome` is `given`, `nothing`, `no summary` or `failed`; only with
    the first one there is a `text`. `counts` is how many entries of each kind the text has."""

    outcome: str
    text: str = ""
    characters: int = 0
    tokens: int = 0
    counts: dict[str, int] = {}


class LeftGuide(Struct, frozen=True, kw_only=True):
    """What a summary must keep, that the worker leaves for a hook before a compaction: the text, empty if there is
    nothing, and how many entries of each kind it has. `is_answer` says that the agent takes it as a hook's answer, not
    as plain text."""

    text: str = ""
    is_answer: bool = False
    counts: dict[str, int] = {}


def takes_guide(agent: str) -> bool:
    """Returns whether an agent adds what its hook prints before a compaction to the instructions for its summary."""
    known = agent_of_word(agent)
    return known is not None and known.wiring is not None and known.wiring.guide is not None


class BriefWriter:
    """Writes briefs for one conversation, whose file it reads ahead. Without a path, the agent's own says the file."""

    def __init__(self, agent: str, path: str, session: str) -> None:
        self._read_from = agent, path, session
        self._conversation: _Conversation | None = None
        with suppress(UllageError, OSError):
            self._conversation = _Conversation(agent, path, session)

    def guide(self) -> bytes:
        """Returns, as JSON, what the summary that the agent is about to write must keep."""
        return msgspec.json.encode(self._conversation.guide() if self._conversation else LeftGuide())

    def answer(self, summary: str, since: int) -> bytes:
        """Returns, as JSON, the brief for a summary. If the summary is empty, the one in the file is meant, of a
        compaction at the time `since` in Unix milliseconds."""
        try:
            found = self._conversation = self._conversation or _Conversation(*self._read_from)
            brief = found.brief_of_summary(summary) if summary else found.brief_of_file(since)
        except (UllageError, OSError):
            brief = LeftBrief(outcome="failed")
        return msgspec.json.encode(brief)


class _Conversation:
    """The conversation in an agent's file, read ahead so that only its summary is missing."""

    def __init__(self, agent: str, path: str, session: str) -> None:
        """Reads the file. Raises `UllageError` or `OSError` if it can't be read."""
        known = agent_of_word(agent)
        if known is None or known.wiring is None:
            raise InvalidRequest(f"{agent}: Ullage can't be added to an agent of this name")
        self._wiring: Wiring = known.wiring
        self._session = session
        self._path = path or _database_with(known, session)
        self._transcript, self._size = self._read()
        self._before = self._read_before()
        # Its vocabulary takes longer to load than a brief to write.
        self._counter = get_counter(self._transcript.model)
        self._counter.count(self._path)

    def guide(self) -> LeftGuide:
        """Returns what the next summary must keep."""
        form = self._wiring.guide
        if form is None:
            return LeftGuide()
        page = write_guide(self._before.ledger, form.characters, cwd=self._transcript.cwd)
        text = page.text.encode("utf-8", "replace").decode()
        return LeftGuide(text=text, is_answer=form.is_answer, counts=count_kinds(page.given))

    def brief_of_summary(self, summary: str) -> LeftBrief:
        """Returns the brief for a summary of all messages, which the file does not have yet. Which messages the agent
        keeps in addition is not known yet, so these count as left out."""
        if Path(self._path).stat().st_size > self._size * (1 + _GROWN):
            self._transcript, self._size = self._read()
            self._before = self._read_before()
        return self._brief(lost_from(self._before, [summary_message(self._wiring.summary_in(summary))]))

    def brief_of_file(self, since: int) -> LeftBrief:
        """Returns the brief for the last compaction in the file. It must be later than the time `since`, in Unix
        milliseconds, unless the agent writes its file before it runs its hooks."""
        self._transcript, self._size = self._read()
        compaction = last_compaction(records_of(self._transcript))
        if compaction is None or not (self._wiring.summary_in_file or compaction.timestamp >= since - _SOONER):
            return LeftBrief(outcome="no summary")
        if not compaction.is_readable:
            return LeftBrief(outcome="nothing")
        if len(compaction.before) != len(self._before.ids):
            self._before = read_before(compaction.before, self._transcript.cwd, compaction.taken_back)
        return self._brief(lost_from(self._before, compaction.carried))

    def _brief(self, entries: tuple[Entry, ...]) -> LeftBrief:
        brief = write_brief(entries, LONGEST, cwd=self._transcript.cwd)
        if not brief.text:
            return LeftBrief(outcome="nothing")
        return LeftBrief(
            outcome="given",
            # A file may have half of a pair of surrogates, which JSON in UTF-8 can't.
            text=brief.text.encode("utf-8", "replace").decode(),
            characters=characters(brief.text),
            tokens=self._counter.count(brief.text),
            counts=count_kinds(brief.given),
        )

    def _read_before(self) -> Before:
        gone = taken_back(records_of(self._transcript))
        return read_before(messages_of(self._transcript), self._transcript.cwd, gone)

    def _read(self) -> tuple[ImportedTranscript, int]:
        path = Path(self._path)
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidRequest(f"{self._path} is not a file")
        parsed = read_database(path, self._session) if is_database(path) else parse_file(path)
        return read_document(parsed), found.st_size


def _database_with(agent: Agent, session: str) -> str:
    """Returns the path of the agent's database with the session of this id. Raises `InvalidRequest`."""
    found = find_candidates(this_machine(), [agent], [])
    path = next((one.path for one in found if one.row is not None and one.origin_id == session), None)
    if path is None:
        raise InvalidRequest(f"{agent.name}: no database has the session {session}")
    return path
