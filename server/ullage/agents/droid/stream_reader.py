"""Reads what `droid exec --output-format stream-json` prints: one `{type, timestamp}` per line.

The last line, `completion`, repeats the final answer. Its usage is the sum of the run's requests.
"""

from typing import Any

from ullage.formats.parsing import Document, Line, as_timestamp, to_json
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments
from ullage.formats.transcripts.format import incremental
from ullage.formats.transcripts.message_pieces import PieceReader
from ullage.model.blocks import TextBlock
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Role

NAME = "droid-stream"
_OWN_LINES = {"system", "error", "reasoning_start", "reasoning_end"}


def matches(document: Document) -> bool:
    """Returns whether any line is a tool call or the end of a run in the shape of Droid's `stream-json` output."""
    return any(
        (value.get("type") == "completion" and "finalText" in value)
        or (value.get("type") == "tool_call" and "toolName" in value and "parameters" in value)
        for value in document.objects
    )


class DroidStreamReader:
    """Reads the lines of one run of `droid exec`. The pieces of a message are held back until another message
    begins."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._pieces = PieceReader(builder)
        self._called = False
        self._said = ""

    def take(self, record: Line) -> None:
        """Reads the next line."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        value, time = record.value, as_timestamp(record.value.get("timestamp"))
        known = as_text(value.get("session_id")) or as_text(value.get("sessionId"))
        self._builder.session_id = known or self._builder.session_id
        match value.get("type"):
            case "message":
                self._take_message(value, time)
            case "tool_call":
                self._called = True
                given = read_arguments(value.get("parameters"))
                self._pieces.call(as_text(value.get("toolName")), given, _call_id(value), time=time)
            case "tool_result":
                failed = value.get("isError") is True
                self._pieces.result(_read_output(value.get("value")), _call_id(value), failed=failed, time=time)
            case "completion":
                self._take_end(value, time)
            case _:
                kind = as_text(value.get("type"))
                self._take_facts(value)
                self._builder.skip(record.number, f"{kind or 'unknown'} line", expected=kind in _OWN_LINES)

    def finish(self) -> None:
        """Adds the message that was held back."""
        self._pieces.end()

    def _take_facts(self, value: JsonObject) -> None:
        self._builder.agent = "Droid"
        self._builder.use_model(as_text(value.get("model")))
        self._builder.cwd = self._builder.cwd or as_text(value.get("cwd"))

    def _take_message(self, value: JsonObject, time: int) -> None:
        text = as_text(value.get("text"))
        if value.get("role") == "assistant":
            self._said = text
            self._pieces.answer([TextBlock(text=text)], as_text(value.get("id")), time)
        else:
            self._pieces.say(Role.USER, [TextBlock(text=text)], as_text(value.get("id")), time)

    def _take_end(self, value: JsonObject, time: int) -> None:
        text = as_text(value.get("finalText"))
        if text and text != self._said:
            self._pieces.answer([TextBlock(text=text)], as_text(value.get("id")), time)
        self._pieces.end()
        # Only the usage of a single request is that of the context.
        if not self._called and self._pieces.last_answer:
            self._builder.report(convert_usage(as_object(value.get("usage"))), self._pieces.last_answer, time)


def _call_id(value: JsonObject) -> str:
    return as_text(value.get("toolCallId")) or as_text(value.get("id"))


def _read_output(output: Any) -> list[TextBlock]:
    return [TextBlock(text=output if isinstance(output, str) else to_json(output))]


FORMAT = incremental(NAME, matches, DroidStreamReader)
