"""Collects the events of one import: makes ids unique and records what was skipped."""

from collections.abc import Callable, Sequence

from ullage.formats.parsing import Line
from ullage.formats.transcripts.imported import ImportedTranscript, SkippedLine
from ullage.model.blocks import Block, CompactionBlock
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import ContextEdited, Event, MessageAppended, ModelChanged, ToolsDeclared, UsageReported
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.usage import Usage


class TranscriptBuilder:
    """Collects events while a reader goes through its file. `finish` returns the transcript.

    `new_id` makes the ids of messages that have none; by default they are numbered.
    """

    def __init__(self, format_name: str, name: str, new_id: Callable[[], str] | None = None) -> None:
        self._format = format_name
        self._name = name
        self._new_id = new_id or self._number
        self._events: list[Event] = []
        self._skipped: list[SkippedLine] = []
        self._ids: set[str] = set()
        self._messages = 0
        self._system: list[str] = []
        self._compactions = 0
        self._first_model = ""
        self._model = ""
        self.cwd = ""
        self.title = ""

    def add(self, role: Role, content: Sequence[Block], message_id: str = "", timestamp: int = 0) -> str:
        """Appends a message.

        Returns its id: the given one, made unique, or a new one. `timestamp` is Unix milliseconds.
        """
        unique = self._unique(message_id or self._new_id())
        message = Message(id=unique, role=role, content=tuple(content), timestamp=timestamp)
        self._events.append(MessageAppended(message=message))
        self._messages += 1
        if role is Role.SYSTEM:
            self._system.append(unique)
        return unique

    def report(self, usage: Usage, message_id: str) -> None:
        """Appends the usage of the request that `message_id` answers. A usage of 0 tokens is ignored."""
        if usage.total:
            self._events.append(UsageReported(usage=usage, message_id=message_id))

    def declare(self, tools: Sequence[ToolDefinition]) -> None:
        """Appends the tools that are offered from here on. No tools are ignored."""
        if tools:
            self._events.append(ToolsDeclared(tools=tuple(tools)))

    def use_model(self, model: str) -> None:
        """Sets the model that answers from here on. An empty name is ignored."""
        if not model or model == self._model:
            return
        if self._model:
            self._events.append(ModelChanged(model=model))
        else:
            self._first_model = model
        self._model = model

    def compact(
        self, summary: str, edit_id: str = "", timestamp: int = 0, before: int = 0, trigger: str = "auto"
    ) -> None:
        """Appends a compaction: the program replaced all messages so far, except the system prompt, by `summary`.

        `before` is the context's size in tokens before the compaction; `timestamp` is Unix milliseconds.
        """
        self._compactions += 1
        unique = self._unique(edit_id or f"compaction{self._compactions}")
        block = CompactionBlock(
            compaction_number=self._compactions,
            timestamp=timestamp,
            summary=summary,
            messages_archived=self._messages - len(self._system),
            context_size_before=before,
            summarizer=self._model or self._format,
        )
        marker = Message(id=self._unique(f"{unique}-marker"), role=Role.USER, content=(block,), timestamp=timestamp)
        edit = CompactionEdit(
            id=unique,
            timestamp=timestamp,
            trigger=EditTrigger.MANUAL if trigger == "manual" else EditTrigger.AUTOMATIC,
            start=0,
            end=self._messages,
            marker=marker,
            leading=tuple(self._system),
        )
        self._events.append(ContextEdited(edit=edit))

    def skip(self, line: int, reason: str, *, expected: bool) -> None:
        """Records that a part of the file was skipped.

        `line` counts from 1; `reason` and `expected` are described at `SkippedLine`.
        """
        self._skipped.append(SkippedLine(line=line, reason=reason, expected=expected))

    def skip_unread(self, line: Line) -> None:
        """Records that a line was skipped because it contains no JSON object."""
        self.skip(line.number, line.problem, expected=line.comment)

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far."""
        return tuple(self._events)

    @property
    def skipped(self) -> tuple[SkippedLine, ...]:
        """The skipped parts so far, in the order of the file."""
        return tuple(sorted(self._skipped, key=lambda skipped: skipped.line))

    def finish(self) -> ImportedTranscript:
        """Returns the transcript. Raises `UnreadableTranscript` if it contains no message."""
        if not self._messages:
            reason = next((skipped.reason for skipped in self._skipped if not skipped.expected), "it holds no message")
            raise UnreadableTranscript(
                f"{self._name}: looks like {self._format}, but no message could be read: {reason}"
            )
        return ImportedTranscript(
            format=self._format,
            events=self.events,
            model=self._first_model,
            cwd=self.cwd,
            title=self.title,
            skipped=self.skipped,
        )

    def _number(self) -> str:
        return f"m{self._messages + 1:04d}"

    def _unique(self, wanted: str) -> str:
        unique, number = wanted, 1
        while unique in self._ids:
            number += 1
            unique = f"{wanted}~{number}"
        self._ids.add(unique)
        return unique
