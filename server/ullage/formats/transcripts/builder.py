"""Collects the events of one import: makes ids unique, joins the pieces of messages that a log writes one by one, and
records what was skipped.

The branches of a conversation in which the user went back to an earlier message.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from ullage.formats.parsing import Line
from ullage.model.errors import InvalidRequest, UnreadableTranscript
from ullage.model.events import (
    ClearToolUsesEdit,
    CompactionCause,
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
    ConversationImported,
    DropEdit,
    EditReverted,
    EditTrigger,
    Event,
    MessageAppended,
    ModelChanged,
    PromptListed,
    RecordUnread,
    Replacement,
    RewindEdit,
    ToolsDeclared,
    UsageReported,
    WindowReported,
)
from ullage.model.json_values import JsonObject
from ullage.model.message import (
    Block,
    CompactionBlock,
    Message,
    Provided,
    ResultPart,
    Role,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.usage import HiddenKind, HiddenPart, Pass, RateLimit, Usage
from ullage.model.usage_report import LARGEST_CONTEXT


class _Place(Struct, frozen=True):
    """A message, a compaction or another edit of a branch: its number in the order of the file, the id of the place
    before it, and what is in force right after it: the compactions, oldest first, and the edits of single messages, by
    message."""

    number: int
    before: str
    compactions: tuple[str, ...]
    edits: Mapping[str, str]


_BEGINNING = _Place(-1, "", (), {})


def kept_place(edit_id: str, message_id: str) -> str:
    """Returns the id of the place right after a message that a compaction kept. Going back to this place leaves the
    compaction in force; going back to the message's own id does not."""
    return f"{edit_id} keeps {message_id}"


class Branches:
    """The branches of a conversation in which the user went back to an earlier message and continued from there. Knows
    for every message and compaction which messages lead to it. System prompts belong to no branch."""

    def __init__(self) -> None:
        self.tip = ""
        self._places: dict[str, _Place] = {}
        self._kept: dict[str, str] = {}
        self._compactions: tuple[str, ...] = ()
        self.edits: Mapping[str, str] = {}
        self._left_out: dict[str, frozenset[str]] = {}

    @property
    def rewinds(self) -> frozenset[str]:
        """The ids of the edits that leave messages out, as `leave_out` was given them, without those undone since."""
        return frozenset(self._left_out)

    def add(self, message_id: str) -> None:
        """Adds a message after the tip, the last place of the present branch, and makes it the tip."""
        self._places[message_id] = _Place(len(self._places), self.tip, self._compactions, self.edits)
        self.tip = message_id

    def compact(self, edit_id: str, kept: Iterable[str] = ()) -> None:
        """Adds a compaction of everything up to the tip. Messages with an id in `kept` stay in the context."""
        self._compactions = (*self._compactions, edit_id)
        self.add(edit_id)
        for message_id in kept:
            place = kept_place(edit_id, message_id)
            self._kept[place] = message_id
            self.add(place)

    def edit(self, edit_id: str, message_id: str) -> str:
        """Adds a new version of one message. Returns the id of the one that it replaces, or ""."""
        earlier = self.edits.get(message_id, "")
        self.edits = {**self.edits, message_id: edit_id}
        self.add(edit_id)
        return earlier

    def leave_out(self, edit_id: str, message_ids: tuple[str, ...]) -> None:
        """Notes that an edit leaves these messages out of the context."""
        self._left_out[edit_id] = frozenset(message_ids)

    def comes_from(self, to: str) -> bool:
        """Returns whether the present branch goes through a message or compaction, with the same compactions in force
        there as now. True if it is unknown."""
        place = self._places.get(to)
        return place is None or (place.compactions == self._compactions and to in self._climb(self.tip, until=()))

    def has_archived(self, to: str) -> bool:
        """Returns whether the present branch goes through a message that a compaction in force has archived since."""
        place = self._places.get(to)
        return place is not None and not self.comes_from(to) and to in self._climb(self.tip, until=())

    def rewind(self, to: str) -> tuple[list[tuple[str, bool]], tuple[str, ...]]:
        """Makes the message, compaction or edit `to` the tip, or the beginning if `to` is unknown. Returns what this
        changes: pairs of an edit's id and whether the edit is undone (True) or in force again (False), and the ids of
        the messages that leave the context."""
        place = self._places.get(to, _BEGINNING)
        compactions, edits = place.compactions, place.edits
        wanted = {self._kept.get(known, known) for known in self._climb(to, until=compactions[-1:])}
        now, then = (*self._compactions, *self.edits.values()), (*compactions, *edits.values())
        reverted = [(edit_id, True) for edit_id in now if edit_id not in then]
        reverted += [(edit_id, False) for edit_id in then if edit_id not in now]
        for edit_id in [edit_id for edit_id, gone in self._left_out.items() if gone & wanted]:
            reverted.append((edit_id, True))
            del self._left_out[edit_id]
        gone = frozenset[str]().union(*self._left_out.values())
        # A compaction in force covers everything before it.
        first = self._places[compactions[-1]].number + 1 if compactions else 0
        after = (known for known, at in self._places.items() if at.number >= first and not self._is_edit(known))
        said = (self._kept.get(known, known) for known in after)
        left_out = tuple(dict.fromkeys(message for message in said if message not in wanted and message not in gone))
        self.tip = to if to in self._places else ""
        self._compactions, self.edits = compactions, edits
        return reverted, left_out

    def _climb(self, tip: str, until: tuple[str, ...]) -> Iterator[str]:
        while tip in self._places and tip not in until:
            yield tip
            tip = self._places[tip].before

    def _is_edit(self, known: str) -> bool:
        place = self._places[known]
        return known in place.compactions or known in place.edits.values()


class SkippedLine(Struct, frozen=True, kw_only=True):
    """A part of a transcript file that was not turned into an event.

    `line` is its line number or the number of its element, from 1. `reason` says why it was skipped. `expected` is true
    for parts that the format has in addition to the conversation (progress lines, snapshots), and false for parts that
    could not be read. `run` is the number of a sub-agent's conversation in the file.
    """

    line: int
    reason: str
    expected: bool
    run: int | None = None


class ImportedTranscript(Struct, frozen=True, kw_only=True):
    """A conversation as events that can be appended to a new session.

    `agent` is the program that wrote the file, and `version` its version at the end. `session_id` is that program's own
    id of the conversation. `parent` is its id of the conversation that this one was forked from, or that started this
    one as a sub-agent's (`is_sub_agent`). These are empty if the file doesn't say; the events say when they changed.
    `skipped` lists the parts of the file that were not turned into events.
    """

    format: str
    events: tuple[Event, ...]
    model: str = ""
    cwd: str = ""
    title: str = ""
    agent: str = ""
    version: str = ""
    session_id: str = ""
    parent: str = ""
    is_sub_agent: bool = False
    skipped: tuple[SkippedLine, ...] = ()


def choose_run(sizes: Sequence[int], run: int | None, name: str) -> int:
    """Returns the index of the wanted conversation of a file. `sizes` are their numbers of messages. `run` counts from
    1; None means the longest, the first of equals. Raises `InvalidRequest` if the file doesn't contain the wanted run.
    """
    if run is None:
        return max(range(len(sizes)), key=lambda index: (sizes[index], -index), default=0)
    if not 1 <= run <= len(sizes):
        held = f"runs 1 to {len(sizes)}" if len(sizes) > 1 else "one conversation, run 1"
        raise InvalidRequest(f"{name}: there is no run {run}; the file holds {held}")
    return run - 1


class TranscriptBuilder:
    """Collects events while a reader reads a transcript file; `finish` returns the transcript.

    `new_id` makes the ids of messages that have none; by default they are numbered. The reader sets `cwd`, `title` and
    the other public attributes; they have the meaning of the fields of `ImportedTranscript`, or of
    `ConversationImported`.
    """

    def __init__(self, format_name: str, name: str, new_id: Callable[[], str] | None = None) -> None:
        self._format = format_name
        self._name = name
        self._new_id = new_id
        self._events: list[Event] = []
        self._skipped: list[SkippedLine] = []
        self._ids: set[str] = set()
        self._system: list[str] = []
        self._compactions = 0
        self._drained = 0
        self._drained = 0
        # Events that were forgotten.
        self._forgotten = 0
        self._reported = 0
        self.branches = Branches()
        self._origin: ConversationImported | None = None
        self._window: tuple[int | None, int | None] = None, None
        self._limits: tuple[RateLimit, ...] = ()
        self._tools: HiddenPart | None = None
        self._times: dict[str, int] = {}
        self._listed: dict[HiddenKind, list[tuple[HiddenKind, str, str]]] = {}
        # What is sent in place of exchanged messages: the ids of the notices, by edit.
        self._notices: dict[str, str] = {}
        self.messages = 0
        # The first model that answered, and the one that answers now.
        self.first_model: str = ""
        self.model: str = ""
        self.cwd = ""
        self.title = ""
        self.agent = ""
        self.version = ""
        self.session_id = ""
        self.parent = ""
        self.is_sub_agent = False
        self.definition = ""
        self.started_by = ""
        # Whether the agent is due to make a request: the last message is not an answer that ends a turn. And whether
        # this was so before the last message.
        self.is_due = self.was_due = False

    def add(
        self,
        role: Role,
        content: Sequence[Block],
        message_id: str = "",
        timestamp: int = 0,
        provided: Provided | None = None,
    ) -> str:
        """Appends a message.

        Returns its id: the given one, made unique, or a new one. `timestamp` is Unix milliseconds.
        """
        self._note_origin()
        unique = self._unique(message_id or (self._new_id() if self._new_id else f"m{self.messages + 1:04d}"))
        message = Message(id=unique, role=role, content=tuple(content), timestamp=timestamp, provided=provided)
        self._events.append(MessageAppended(message=message))
        self._times[unique] = timestamp
        self.messages += 1
        calls = any(isinstance(block, ToolUseBlock) for block in content)
        self.was_due, self.is_due = self.is_due, role is Role.USER or calls
        if role is Role.SYSTEM:
            self._system.append(unique)
        else:
            self.branches.add(unique)
        return unique

    def report(
        self,
        usage: Usage,
        message_id: str,
        timestamp: int = 0,
        passes: tuple[Pass, ...] = (),
        *,
        is_copied: bool = False,
    ) -> None:
        """Appends the usage of the request that `message_id` answers, and the `passes` in which it was made if there
        were several. A usage of 0 tokens is ignored, and one of more than any window holds.

        `timestamp` is Unix milliseconds; without it the message's time is used. `is_copied` has the meaning of the
        field of `UsageReported`.
        """
        if 0 < usage.total <= LARGEST_CONTEXT:
            self._reported = usage.total
            time = timestamp or self._times.get(message_id, 0)
            report = UsageReported(
                usage=usage, message_id=message_id, timestamp=time, passes=passes, is_copied=is_copied
            )
            self._events.append(report)

    def report_late(self, usage: Usage, message_id: str) -> None:
        """Adds a usage as `report` does, of an answer after which others may have been added. Its event comes right
        after the answer's, unless `drain` has returned that: what was added since was not in that request."""
        before = len(self._events)
        self.report(usage, message_id)
        for place in range(before, self._drained, -1) if len(self._events) > before else ():
            event = self._events[place - 1]
            if isinstance(event, MessageAppended) and event.message.id == message_id:
                self._events.insert(place, self._events.pop())
                return

    def charge(self, usage: Usage, answer_id: str, timestamp: int) -> None:
        """Appends what is paid for an answer that was cut off, or for a request that leaves no message. What the
        context holds is not known by it. A usage of 0 tokens is ignored."""
        if usage.total:
            paid = (Pass(usage=usage),)
            self._events.append(UsageReported(usage=Usage(), message_id=answer_id, timestamp=timestamp, passes=paid))

    def report_answer(
        self, model: str, usage: Usage, timestamp: int, passes: tuple[Pass, ...] = (), *, is_copied: bool = False
    ) -> None:
        """Adds an answer of `model` without its content, and its usage as `report` does."""
        self.use_model(model)
        answer = self.add(Role.ASSISTANT, (), timestamp=timestamp)
        self.report(usage, answer, timestamp, passes, is_copied=is_copied)

    def estimate(self, tokens: int, timestamp: int = 0) -> None:
        """Appends the agent's own estimate of the whole context, in tokens. `timestamp` is Unix milliseconds."""
        self._reported = tokens
        self._events.append(ContextEstimated(tokens=tokens, timestamp=timestamp))

    def window(self, size: int | None = None, compacts_at: int | None = None, timestamp: int = 0) -> None:
        """Appends the window and the compaction threshold that the agent reports, in tokens, unless it reported the
        same before. None leaves the earlier value. `timestamp` is Unix milliseconds."""
        said = size or self._window[0], compacts_at or self._window[1]
        if said != self._window:
            self._window = said
            self._events.append(WindowReported(size=size, compacts_at=compacts_at, timestamp=timestamp))

    def limit(self, limits: tuple[RateLimit, ...], timestamp: int = 0) -> None:
        """Appends the limits of the user's subscription that the agent reports, unless it reported the same before.
        None are ignored. `timestamp` is Unix milliseconds."""
        if limits and limits != self._limits:
            self._limits = limits
            self._events.append(WindowReported(rate_limits=limits, timestamp=timestamp))

    def declare(self, tools: Sequence[ToolDefinition]) -> None:
        """Appends the tools that are offered to the model from here on. An empty list is ignored."""
        if tools:
            self._events.append(ToolsDeclared(tools=tuple(tools)))

    def list_prompt(self, texts: Sequence[tuple[HiddenKind, str, str]]) -> None:
        """Appends what the agent adds to each request before the conversation, unless that is listed already: the kind,
        the name and the text of each part."""
        kinds = {kind for kind, _, _ in texts}
        if texts and any(self._listed.get(kind) != [one for one in texts if one[0] is kind] for kind in kinds):
            self._listed |= {kind: [one for one in texts if one[0] is kind] for kind in kinds}
            parts = tuple(HiddenPart(kind=kind, name=name, tokens=0) for kind, name, _ in texts)
            self._events.append(PromptListed(parts=parts, texts=tuple(text for _, _, text in texts)))

    def list_tools(self, tokens: int) -> None:
        """Appends what the agent says that its tools take of each request, unless it said the same before."""
        part = HiddenPart(kind=HiddenKind.TOOLS, tokens=tokens, estimated=False)
        if tokens and part != self._tools:
            self._tools = part
            self._events.append(PromptListed(parts=(part,)))

    def use_model(self, model: str) -> None:
        """Sets the model that answers from here on. An empty name is ignored."""
        if not model or model == self.model:
            return
        if self.model:
            self._events.append(ModelChanged(model=model))
        else:
            self.first_model = model
        self.model = model
        # What the agent said of the last model's window is not said of this one's.
        self._window = None, None

    def compact(  # noqa: PLR0913 - the facts of one record
        self,
        summary: str,
        edit_id: str = "",
        timestamp: int = 0,
        *,
        before: int = 0,
        cause: CompactionCause | None = None,
        leading: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> str:
        """Appends a compaction: the program replaced all messages so far, except system prompts, by `summary`.

        `leading` and `kept` are ids of messages that stayed, before and after the summary; one that is named twice
        stayed where it is named first. `before` is the context's size in tokens before the compaction, by default that
        of the last report. `cause` is why it was made; None means that the agent did it by itself, for its threshold if
        a request was due. `timestamp` is Unix milliseconds. Returns the compaction's id: the given one, made unique, or
        a new one.
        """
        self._note_origin()
        self._compactions += 1
        leading = tuple(dict.fromkeys(leading))
        kept = tuple(message_id for message_id in dict.fromkeys(kept) if message_id not in leading)
        unique = self._unique(edit_id or f"compaction{self._compactions}")
        exchanged = [edit for message_id in kept if (edit := self.branches.edits.get(message_id))]
        block = CompactionBlock(
            compaction_number=self._compactions,
            timestamp=timestamp,
            summary=summary,
            messages_archived=self.messages - len({*self._system, *leading, *kept}),
            context_size_before=before or self._reported,
            kept=kept,
            summarizer=self.model or self._format,
        )
        marker = Message(id=self._unique(f"{unique}-marker"), role=Role.USER, content=(block,), timestamp=timestamp)
        edit = CompactionEdit(
            id=unique,
            timestamp=timestamp,
            trigger=EditTrigger.MANUAL if cause is CompactionCause.BY_HAND else EditTrigger.AUTOMATIC,
            start=0,
            end=self.messages,
            marker=marker,
            leading=(*self._system, *leading),
            kept=(*kept, *(self._notices[edit_id] for edit_id in exchanged)),
            by_agent=True,
            cause=cause or (CompactionCause.THRESHOLD if self.is_due else CompactionCause.UNKNOWN),
        )
        self._events.append(ContextEdited(edit=edit))
        self.branches.compact(unique, (*leading, *kept))
        self._reported = 0
        return unique

    def drop(self, message_ids: Sequence[str], notice: str, timestamp: int = 0) -> None:
        """Appends an edit by which the program stopped sending the messages with these ids. `notice` takes the place of
        the first of them. Nothing is appended for an empty list."""
        if message_ids:
            self._drop(tuple(message_ids), Role.USER, (TextBlock(text=notice),), timestamp)

    def exchange(self, message_id: str, role: Role, content: Sequence[Block], timestamp: int = 0) -> None:
        """Appends an edit by which the program sends other content in place of a message. It holds on the present
        branch from here on, and takes the place of an earlier exchange of the message."""
        edit = self._drop((message_id,), role, tuple(content), timestamp)
        self._notices[edit.id] = edit.notice.id
        if earlier := self.branches.edit(edit.id, message_id):
            self._events.append(EditReverted(edit_id=earlier, reverted=True, timestamp=timestamp))

    def _drop(self, message_ids: tuple[str, ...], role: Role, content: tuple[Block, ...], timestamp: int) -> DropEdit:
        unique = self._unique(f"{message_ids[0]}-dropped")
        notice = Message(id=self._unique(f"{unique}-notice"), role=role, content=content)
        edit = DropEdit(id=unique, timestamp=timestamp, message_ids=message_ids, notice=notice)
        self._events.append(ContextEdited(edit=edit))
        return edit

    def clear_results(self, message_id: str, blocks: Sequence[int], notice: str, timestamp: int = 0) -> None:
        edit = ClearToolUsesEdit(
            id=self._unique(f"{message_id}-cleared"),
            timestamp=timestamp,
            replacements=tuple(Replacement(message_id=message_id, block=block, text=notice) for block in blocks),
            cleared_tool_uses=len(blocks),
        )
        self._events.append(ContextEdited(edit=edit))

    def rewind(self, to: str, timestamp: int = 0, edit_id: str = "") -> None:
        """Goes back to the message or compaction with the id `to`: the context is again what it was right after it.

        To go back to a message that a compaction kept, without undoing the compaction, `to` is its `kept_place`. An
        empty or unknown id goes back to the beginning. The messages since then stay in the transcript, and a later
        `rewind` can return to them. `timestamp` is Unix milliseconds. `edit_id` is the id of the edit that leaves them
        out, by default one with a number.
        """
        reverted, left_out = self.branches.rewind(to)
        self._reported = 0
        for undone, is_undone in reverted:
            self._events.append(EditReverted(edit_id=undone, reverted=is_undone, timestamp=timestamp))
        if left_out:
            unique = self._unique(edit_id or f"rewind{self._forgotten + len(self._events)}")
            edit = RewindEdit(id=unique, timestamp=timestamp, trigger=EditTrigger.MANUAL, message_ids=left_out)
            self._events.append(ContextEdited(edit=edit))
            self.branches.leave_out(unique, left_out)

    def skip(self, line: int, reason: str, *, expected: bool, run: int | None = None) -> None:
        """Records that a part of the file was skipped; see `SkippedLine`."""
        self._skipped.append(SkippedLine(line=line, reason=reason, expected=expected, run=run))

    def skip_unread(self, line: Line) -> None:
        """Records that a line was skipped because it contains no JSON object. It may have been a usage report."""
        self.skip(line.number, line.problem, expected=line.comment)
        if self._reported and not (line.comment or line.is_cut):
            self._events.append(RecordUnread())

    def drain(self) -> tuple[Event, ...]:
        """Returns the events that were added since the last call."""
        new = tuple(self._events[self._drained :])
        self._drained = len(self._events)
        return new

    def forget(self) -> None:
        """Drops the events that `drain` has returned, and what was recorded as skipped. Afterwards `events`, `skipped`
        and `finish` return only what comes later."""
        self._forgotten += self._drained
        del self._events[: self._drained]
        self._skipped.clear()
        self._drained = 0

    @property
    def tip(self) -> str:
        """The id of the message or compaction that the next message follows; empty at the beginning.

        After a compaction that kept messages, this is the `kept_place` of the last of them.
        """
        return self.branches.tip

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)

    @property
    def skipped(self) -> tuple[SkippedLine, ...]:
        """The skipped parts so far, in the order of the file."""
        return tuple(sorted(self._skipped, key=lambda skipped: skipped.line))

    def finish(self) -> ImportedTranscript:
        """Returns the transcript so far. Raises `UnreadableTranscript` if it has no message and no summary."""
        if not self.messages and not self._compactions:
            reason = next((skipped.reason for skipped in self._skipped if not skipped.expected), "it holds no message")
            raise UnreadableTranscript(
                f"{self._name}: looks like {self._format}, but no message could be read: {reason}"
            )
        return ImportedTranscript(
            format=self._format,
            events=self.events,
            model=self.first_model,
            cwd=self.cwd,
            title=self.title,
            agent=self.agent,
            version=self.version,
            session_id=self.session_id,
            parent=self.parent,
            is_sub_agent=self.is_sub_agent,
            skipped=self.skipped,
        )

    def _note_origin(self) -> None:
        """Appends a `ConversationImported` if the reader has set what the last such event lacks."""
        origin = ConversationImported(
            format=self._format,
            agent=self.agent,
            version=self.version,
            origin_id=self.session_id,
            parent_id=self.parent,
            is_sub_agent=self.is_sub_agent,
            definition=self.definition,
            started_by=self.started_by,
        )
        if origin != self._origin:
            self._origin = origin
            self._events.append(origin)

    def _unique(self, wanted: str) -> str:
        unique, number = wanted, 1
        while unique in self._ids:
            number += 1
            unique = f"{wanted}~{number}"
        self._ids.add(unique)
        return unique


class PieceReader:
    """Joins pieces of messages, which a log writes one by one, and adds the messages to a builder. Consecutive pieces
    of one role are one message, which has the id and the time (Unix milliseconds) of its first piece.

    Calls without ids get one. A result without an id belongs to the oldest unanswered call of its tool. `last_answer`
    is the id of the last assistant message added.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._role: Role | None = None
        self._content: list[Block] = []
        self._first: tuple[str, int] = "", 0
        self._calls = 0
        self._open: dict[str, str] = {}
        self.last_answer = ""

    def say(self, role: Role, content: Sequence[Block], message_id: str = "", time: int = 0) -> str:
        """Adds a complete message. Returns its id, or an empty string if it has no content."""
        self.end()
        self.piece(role, content, message_id, time)
        return self.end()

    def piece(self, role: Role, content: Iterable[Block], message_id: str = "", time: int = 0) -> None:
        """Adds pieces of a message with this role; another role begins a new message."""
        if self._role is not role:
            self.end()
            self._role, self._first = role, (message_id, time)
        self._content.extend(content)

    def call(self, name: str, given: JsonObject, call_id: str = "", message_id: str = "", time: int = 0) -> str:
        self._calls += 1
        call_id = call_id or f"call{self._calls}"
        self._open[call_id] = name
        self.piece(Role.ASSISTANT, [ToolUseBlock(id=call_id, name=name, input=given)], message_id, time)
        return call_id

    def result(  # noqa: PLR0913 - the facts of one result
        self,
        content: Sequence[ResultPart],
        call_id: str = "",
        name: str = "",
        *,
        failed: bool = False,
        message_id: str = "",
        time: int = 0,
    ) -> None:
        """Adds the result of a tool call to a user message. If no unanswered call fits `call_id` or `name`, the content
        is added without a result block."""
        call = self._find(call_id, name)
        block = ToolResultBlock(tool_use_id=call, content=tuple(content), is_error=failed)
        self._open.pop(call, None)
        self.piece(Role.USER, [block] if call else content, message_id, time)

    def end(self) -> str:
        """Adds the message of the pieces so far to the builder. Returns its id, or "" if there are no pieces."""
        role, content = self._role, self._content
        self._role, self._content = None, []
        if role is None or not content:
            return ""
        added = self._builder.add(role, content, *self._first)
        self.last_answer = added if role is Role.ASSISTANT else self.last_answer
        return added

    def _find(self, call_id: str, name: str) -> str:
        if call_id in self._open:
            return call_id
        same = (known for known, tool in self._open.items() if tool == name)
        return next(same, "") or ("" if name else next(iter(self._open), ""))
