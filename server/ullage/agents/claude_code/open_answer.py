"""An answer that the log has not completed yet, with the results of its tool calls."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ullage.agents.claude_code.entry import Entry
from ullage.formats.provider_usage import convert_passes, convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.blocks import Block, ToolResultBlock, ToolUseBlock
from ullage.model.json_values import as_object, as_text
from ullage.model.message import Role

# The name of the model in answers that Claude Code wrote itself.
_NO_MODEL = "<synthetic>"


class Place:
    """A place in the transcript after which a line may come. `at` is the id of the message there, as
    `TranscriptBuilder.tip` gives it; empty at the beginning."""

    def __init__(self, at: str = "") -> None:
        self.at = at


class Written:
    """The lines that were added to the transcript. `said` maps a line's id to the id of its message, and `results` maps
    a tool call's id to the message and the block index of its result."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self.results: dict[str, tuple[str, int]] = {}

    def note(self, message_id: str, lines: Iterable[str], content: Sequence[Block] = ()) -> None:
        """Notes that the lines with these ids became the message `message_id`, which has this content."""
        self.said.update(dict.fromkeys(lines, message_id))
        for index, block in enumerate(content):
            if isinstance(block, ToolResultBlock):
                self.results[block.tool_use_id] = (message_id, index)


class Extra(Struct, frozen=True, kw_only=True):
    """A message of the user's role, such as an attachment, that is added where it comes in the file, whatever its
    parent is."""

    content: tuple[Block, ...]
    uuid: str
    timestamp: int


class Answer:
    """One answer of the model whose lines are still coming: its lines, the lines with the results of its calls, and the
    extras that follow them.

    `place` is where the conversation continues after the answer, and `ended` the time of its last line. `has_usage` is
    False if the usage in its lines was reported with an earlier part of the same answer.
    """

    def __init__(self, answer_id: str, first: Entry, *, has_usage: bool = True) -> None:
        self.id = answer_id
        self.place = Place()
        self.is_added = self._has_results = False
        self._has_usage = has_usage
        self._began = self.ended = first.timestamp
        self._content: list[Block] = []
        self._message = first.message
        self._is_copied = first.is_copied
        self._requested = ""
        self._lines: list[str] = []
        self._open_calls: set[str] = set()
        self._results: list[tuple[Entry, Sequence[Block]]] = []
        self._extras: list[Extra] = []

    def add_line(self, entry: Entry, blocks: Sequence[Block]) -> None:
        """Adds a line of the answer. `blocks` are its blocks that no earlier line has."""
        self._lines.append(entry.uuid)
        self._content += blocks
        self._message = entry.message
        self._requested = as_text(entry.value.get("requestedModel"))
        self.ended = entry.timestamp
        self._open_calls |= {block.id for block in blocks if isinstance(block, ToolUseBlock)}

    @property
    def requested_model(self) -> str:
        """The name of the model that was asked, with `[1m]` if that window was chosen; empty in older versions."""
        return self._requested

    def add_result(self, entry: Entry, blocks: Sequence[Block]) -> bool:
        """Adds a line with results of this answer's calls. Returns False, and adds nothing, if none of them belongs to
        a call of this answer without a result."""
        results = self._open_calls.intersection(entry.result_ids)
        self._open_calls -= results
        if results:
            self._has_results = True
            self._results.append((entry, blocks))
        return bool(results)

    def add_extra(self, extra: Extra) -> None:
        """Adds an extra message, which comes after the results."""
        self._extras.append(extra)

    @property
    def has_results(self) -> bool:
        """Whether results of its calls have come."""
        return self._has_results

    @property
    def is_complete(self) -> bool:
        """Whether the log says that the answer has ended, by a stop reason. Older versions never say it. All lines of
        an answer name the reason, so one that ends with a call has ended when a call has come."""
        reason = as_text(self._message.get("stop_reason"))
        return bool(reason) and (reason != "tool_use" or any(isinstance(one, ToolUseBlock) for one in self._content))

    def write(self, builder: TranscriptBuilder, written: Written) -> None:
        """Adds the answer's message and its usage to the transcript."""
        model = as_text(self._message.get("model"))
        if model != _NO_MODEL:
            builder.use_model(model)
        self.place.at = builder.add(Role.ASSISTANT, self._content, self.id, self._began)
        written.note(self.place.at, self._lines)
        if self._has_usage:
            usage = as_object(self._message.get("usage"))
            builder.report(
                convert_usage(usage), self.place.at, self.ended, convert_passes(usage), is_copied=self._is_copied
            )
        self.is_added = True

    def write_rest(self, builder: TranscriptBuilder, written: Written, *, ended: bool) -> None:
        """Adds one message with all results, then the extras. Does nothing while a result is missing, unless `ended`
        says that no more results come, or if the answer itself has not been added."""
        if not self.is_added or (self._open_calls and not ended):
            return
        if self._results:
            # Providers want tool results before any other content of the same message.
            content = sorted(
                (block for _, blocks in self._results for block in blocks),
                key=lambda block: not isinstance(block, ToolResultBlock),
            )
            first = self._results[0][0]
            self.place.at = builder.add(Role.USER, content, first.uuid, first.timestamp)
            written.note(self.place.at, (entry.uuid for entry, _ in self._results), content)
            self._results = []
        for extra in self._extras:
            self.place.at = builder.add(Role.USER, extra.content, extra.uuid, extra.timestamp)
            written.note(self.place.at, (extra.uuid,))
        self._extras = []
