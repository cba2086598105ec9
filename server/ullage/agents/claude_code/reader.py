"""Reads Claude Code's session logs: one JSON object per line, versions 1.0 to 2.1.

Each line names its parent, so the lines form a tree, and a child may be written before its parent. A line whose parent
is not the last one is a rewind. One answer of the model is spread over several lines with the same
`message.id`; the results of its calls may come between them, and only the last line has the complete usage. A
compaction is a `compact_boundary` line with a user line with `isCompactSummary`; early versions write only the latter,
as a new root. A resumed session may copy its history under new ids. Lines with `isSidechain` are a sub-agent's.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.claude_code.compaction import WindowReader
from ullage.agents.claude_code.entries import NO_MODEL, Entry, entry_of
from ullage.agents.claude_code.tree_writer import ENDS_OF_TURNS, TreeWriter, is_sent
from ullage.agents.record_reader import SidechainReader, conversation_records
from ullage.formats.parsing import Document, Line, as_timestamp, convert_passes, convert_usage
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.formats.transcripts.chat import read_blocks
from ullage.formats.transcripts.format import Ends, Records, from_end, incremental
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Role, join_texts

NAME = "claude-code"
# A compaction, in early versions without a boundary, and the answer to `/context`, which says the window.
MARKS = (b'"compact_boundary"', b'"isCompactSummary"', b"**Tokens:**")
# Types of lines that Claude Code writes for itself. The model is sent none of them.
_OWN_LINES = {
    *("agent-color", "agent-name", "agent-setting", "ai-title", "api-request", "api-request-blob", "api-request-shape"),
    *("atis-latch", "attribution-snapshot", "bridge-session", "cost-state", "tools-used"),
    *("custom-title", "file-history-snapshot", "frame-link", "last-prompt", "mode", "permission-mode", "pr-link"),
    *("progress", "queue-operation", "relocated", "result", "speculation-accept", "started", "summary", "system"),
    *("tag", "worktree-state"),
    # Those of 2.1.332. What `content-replacement` leaves out of old results shows in the next usage.
    *("api-request-resumed", "artifact-autoreact-ledger", "artifact-comment-monitor", "content-replacement"),
    *("data-flow-incomplete", "data-flow-records", "derived-from", "ended-by-model", "fork-context-ref", "repl-mode"),
    *("data-flow-handover", "file-history-delta", "history-suppression", "host-row", "hybrid-organization"),
    *("isolation-latch", "memory-mode", "observer-ref", "resume-head-vouch", "session-owner"),
}
# Lines. A child that is written before its parent is in the same batch of lines: in recorded sessions at most two lines
# before it. After so many lines the parent is missing from the file.
_PATIENCE = 50


def matches(document: Document) -> bool:
    """Returns whether any line of the file is a message in Claude Code's shape."""
    return any(
        value.get("type") in ("user", "assistant")
        and isinstance(as_object(value.get("message")).get("content"), str | list)
        and ("sessionId" in value or "uuid" in value)
        for value in document.objects
    )


class Reader(SidechainReader):
    """Reads one conversation of a Claude Code log, line by line. Lines are held back until their parents have been
    read.

    A log can hold the main conversation and conversations of sub-agents. The first line that says by `isSidechain`
    which of the two it belongs to decides, or the first message, which without it is the main one's; lines of the other
    kind are left out.
    """

    agent = "Claude Code"

    def _begin(self) -> None:
        self._writer = TreeWriter(self._builder)
        # Lines that came before it was known whose conversation is read.
        self._undecided: list[Entry] = []
        self._has_custom_title = False
        self._taken = 0
        # Lines that wait for their parent, by its id; and when the waiting for each parent began.
        self._orphans: dict[str, list[Entry]] = {}
        self._waiting: deque[tuple[int, str]] = deque()
        self._missing: set[str] = set()
        # A boundary whose summary has not come yet, and the lines after it.
        self._boundary: Entry | None = None
        self._after_boundary: list[Entry] = []
        self._boundary_at = 0
        # The line of the tree that was read last was the last one already; and this was so before the boundary.
        self._has_repeated = False
        self._is_forced = False

    def take(self, record: Line) -> None:
        """Reads the next line of the log. A line whose parent has not come in the next 50 lines is read without its
        parent."""
        self._taken += 1
        entry = entry_of(record)
        if entry is None:
            if not (record.comment or record.is_cut):
                # It may have been any line, so the answer before it is reported before it.
                self._writer.end_answer()
            self._builder.skip_unread(record)
        else:
            self._take_own(entry)
        while self._waiting and self._waiting[0][0] < self._taken - _PATIENCE:
            self._stop_waiting(self._waiting.popleft()[1])
        if self._boundary and self._boundary_at < self._taken - _PATIENCE:
            self._end_boundary()

    def finish(self) -> None:
        """Adds the lines that are held back because their parent, or the summary of a compaction before them, has not
        come."""
        if self._undecided:
            self._is_side = True
            self._take_undecided()
        self._end_boundary()
        while self._waiting:
            self._stop_waiting(self._waiting.popleft()[1])
        self._end_boundary()
        self._writer.finish()

    def is_complete(self) -> bool:
        """Returns whether no line is held back but those of an answer that has ended, as the log says."""
        return not (self._undecided or self._waiting or self._boundary) and self._writer.is_complete

    def _take_own(self, entry: Entry) -> None:
        """Reads a line if it belongs to the conversation that this reader reads; else records it as skipped.

        Early versions write sub-agents' lines without an `agentId` into the main file, maybe as its first lines.
        """
        if self._is_side is None and ("isSidechain" in entry.value or entry.is_message):
            if entry.is_side and not entry.value.get("agentId"):
                self._undecided.append(entry)
                return
            self._is_side = entry.is_side
            self._take_undecided()
        if "isSidechain" in entry.value and entry.is_side != self._is_side:
            whose = as_text(entry.value.get("agentId")) or "a sub-agent"
            self._builder.skip(entry.number, f"another conversation: {whose}", expected=True)
            return
        self._read_facts(entry.value)
        if entry.uuid or entry.is_message:
            self._take_in_tree(entry)
        else:
            self._take_other(entry)

    def _take_undecided(self) -> None:
        entries, self._undecided = self._undecided, []
        for entry in entries:
            self._take_own(entry)

    def _read_facts(self, value: JsonObject) -> None:
        super()._read_facts(value)
        builder = self._builder
        builder.started_by = as_text(value.get("entrypoint")) or builder.started_by
        if self._is_side:
            builder.definition = as_text(value.get("attributionAgent")) or builder.definition
        else:
            builder.parent = as_text(as_object(value.get("forkedFrom")).get("sessionId")) or builder.parent

    def _take_other(self, entry: Entry) -> None:
        """Reads a line without a place in the tree: a queued prompt, a title, or a line of the program's own, which is
        skipped."""
        if entry.kind == "queue-operation" and self._writer.take_queued(entry):
            return
        if entry.kind == "last-prompt":
            self._writer.complete_answer()
        self._read_title(entry)
        if entry.kind in _OWN_LINES:
            self._builder.skip(entry.number, f"{entry.kind} line", expected=True)
        else:
            self._builder.skip(entry.number, f"unknown line type {entry.kind!r}", expected=False)

    def _read_title(self, entry: Entry) -> None:
        title = as_text(entry.value.get("customTitle"))
        self._has_custom_title = self._has_custom_title or bool(title)
        if not self._has_custom_title:
            title = as_text(entry.value.get("aiTitle"))
            # A summary that belongs to a line of another file is the title of another conversation.
            if entry.kind == "summary" and self._writer.knows(as_text(entry.value.get("leafUuid"))):
                title = as_text(entry.value.get("summary"))
        self._builder.title = title or self._builder.title

    def _take_in_tree(self, entry: Entry) -> None:
        """Reads a line of the tree, or holds it back until its parent and, after a compaction's boundary, the summary
        were read."""
        if entry.uuid and self._writer.knows(entry.uuid) and entry.uuid not in self._missing:
            self._builder.skip(entry.number, f"{entry.kind} line, repeated", expected=True)
            self._has_repeated = self._writer.repeat(entry)
            return
        is_forced, self._has_repeated = self._has_repeated, False
        if entry.subtype == "compact_boundary":
            # After the provider has refused a request, its last line is written again, right before the boundary.
            self._is_forced = is_forced
        if self._boundary and entry.subtype != "compact_boundary" and not self._is_summary(entry):
            self._after_boundary.append(entry)
        elif entry.parent and not self._writer.knows(entry.parent) and not self._is_summary(entry):
            if entry.parent not in self._orphans:
                self._waiting.append((self._taken, entry.parent))
            self._orphans.setdefault(entry.parent, []).append(entry)
        else:
            self._read_entry(entry)

    def _is_summary(self, entry: Entry) -> bool:
        if entry.value.get("isCompactSummary") is True:
            return True
        return self._boundary is not None and entry.kind == "user" and entry.parent == self._boundary.uuid

    def _read_entry(self, entry: Entry) -> None:
        ready = deque([entry])
        while ready:
            entry = ready.popleft()
            if entry.subtype == "compact_boundary":
                self._end_boundary()
                self._writer.end_answer()
                self._boundary, self._boundary_at = entry, self._taken
                continue
            if self._is_summary(entry):
                held, boundary = self._take_boundary()
                self._writer.write_summary(entry, boundary, is_forced=self._is_forced)
                ready.extend(self._orphans.pop(boundary.uuid, []) if boundary else [])
                for later in held:
                    self._take_in_tree(later)
            else:
                self._writer.write(entry)
            ready.extend(self._orphans.pop(entry.uuid, []))

    def _take_boundary(self) -> tuple[list[Entry], Entry | None]:
        held, boundary = self._after_boundary, self._boundary
        self._after_boundary, self._boundary = [], None
        return held, boundary

    def _end_boundary(self) -> None:
        """Reads on without a compaction if no summary came after a compaction's boundary."""
        held, boundary = self._take_boundary()
        if boundary is not None:
            self._writer.write(boundary)
            for entry in [*self._orphans.pop(boundary.uuid, []), *held]:
                self._take_in_tree(entry)

    def _stop_waiting(self, parent: str) -> None:
        """Reads the lines that wait for the line `parent`, which is missing from the file: they continue the
        conversation."""
        orphans = self._orphans.pop(parent, [])
        if orphans:
            self._missing.add(parent)
            self._writer.assume(parent)
        for entry in orphans:
            self._take_in_tree(entry)


def records(document: Document) -> Records:
    """Returns the lines of one conversation, the main one or a sub-agent's, from the log or from sub-agents' files next
    to it. `document.run` chooses it, by default the main one."""
    return conversation_records(
        document, lambda value: join_texts(read_blocks(as_object(value.get("message")).get("content")))
    )


class _LastMessage(Struct):
    id: str = ""
    model: str = ""
    usage: JsonObject | None = None
    content: Any = None


class _LastLine(Struct, rename="camel"):
    """What is needed of a line to know whether it changes the figure."""

    type: str
    subtype: str = ""
    uuid: str = ""
    parent_uuid: str | None = None
    timestamp: str = ""
    session_id: str = ""
    cwd: str = ""
    version: str = ""
    entrypoint: str = ""
    requested_model: str = ""
    is_sidechain: bool = False
    is_api_error_message: bool = False
    forked_from: JsonObject | None = None
    message: _LastMessage | None = None
    content: Any = None

    @property
    def said(self) -> Any:
        """The content of a user's message, of results, or of a local command that the model is sent; else None."""
        if self.type == "user":
            return self.message and self.message.content
        return self.content if self.subtype == "local_command" and is_sent(as_text(self.content)) else None


_last_line = msgspec.json.Decoder(_LastLine)
# Lines of the program's own after an answer that say nothing of the context. A queued prompt may become a message.
_AFTER_ANSWER = _OWN_LINES - {"queue-operation", "system"}


def at_end(ends: Ends) -> ImportedTranscript | None:
    """Returns what the last answer says, and the user's messages after it if they follow it; see `Format`."""
    answer: _LastLine | None = None
    later: list[_LastLine] = []
    # The lines that those which follow the answer name as their parents.
    parents: set[str] = set()
    lines = ends.last()
    for line, raw in from_end(lines, _last_line):
        if line.uuid in parents:
            parents = (parents - {line.uuid}) | ({line.parent_uuid or ""} if answer is None else set())
        if answer is not None:
            # Between the lines of an answer there are no messages, or they count after its usage.
            if line.type == "user" or (line.type == "assistant" and _answer_id(line) != _answer_id(answer)):
                return None
        elif line.type == "assistant" and not line.is_api_error_message:
            answer = line
            parents.discard(line.parent_uuid or "")
        elif line.said and line.parent_uuid and not (line.is_sidechain or any(mark in raw for mark in MARKS)):
            later.append(line)
            parents.add(line.parent_uuid)
        elif not (line.type in _AFTER_ANSWER or line.is_api_error_message or line.subtype in ENDS_OF_TURNS):
            return None
        if answer is not None and not parents:
            return _of_answer(ends, answer, [*later, *_results_between(lines, _answer_id(answer))])
    return None


def _answer_id(line: _LastLine) -> str:
    return line.message.id if line.message else ""


def _results_between(lines: Iterator[bytes], answer_id: str) -> Iterator[_LastLine]:
    """Yields the results of an answer's calls that are between its lines. They count after its usage. `lines` are those
    before its last one, from the end on."""
    results: list[bytes] = []
    for raw in lines:
        if answer_id.encode() in raw:
            for line, _ in from_end(iter(results), _last_line):
                yield line
            results.clear()
        elif b'"tool_result"' in raw:
            results.append(raw)
        elif b'"progress"' not in raw and (b'"assistant"' in raw or b'"user"' in raw):
            break


def _of_answer(ends: Ends, line: _LastLine, later: Sequence[_LastLine]) -> ImportedTranscript | None:
    said, heads = line.message or _LastMessage(), [record.value or {} for record in ends.first]
    usage = convert_usage(said.usage or {})
    if said.model in ("", NO_MODEL) or not usage.prompt:
        return None
    if line.is_sidechain or any(head.get("isSidechain") is True for head in heads):
        return None
    builder, at = TranscriptBuilder(NAME, ""), as_timestamp(line.timestamp)
    forks = [
        as_text(as_object(fork).get("sessionId"))
        for fork in (line.forked_from, *(head.get("forkedFrom") for head in heads))
    ]
    builder.agent, builder.version, builder.session_id = "Claude Code", line.version, line.session_id
    builder.started_by = line.entrypoint
    builder.cwd = next((cwd for head in heads if (cwd := as_text(head.get("cwd")))), line.cwd)
    builder.parent = next(filter(None, forks), "")
    is_copied = forks[0] not in ("", line.session_id)
    builder.report_answer(said.model, usage, at, convert_passes(said.usage or {}), is_copied=is_copied)
    WindowReader(builder).read_answer(line.requested_model, at)
    for one in reversed(later):
        builder.add(Role.USER, read_blocks(one.said), timestamp=as_timestamp(one.timestamp))
    return builder.finish()


FORMAT = replace(
    incremental(NAME, matches, Reader, records),
    is_complete=Reader.is_complete,
    starts_over=Reader.starts_over,
    at_end=at_end,
)
