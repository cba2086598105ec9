"""Reads Codex's session files (`~/.codex/sessions/**/rollout-*.jsonl`): one `{timestamp, type, payload}` per line.

`response_item` payloads are items of the Responses API. `event_msg` payloads repeat the items for the screen, and
contain the usage (`token_count`). `compacted` is a compaction.
"""

from ullage.formats.parsing import Document, Line, as_timestamp
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.imported import Format, ImportedTranscript
from ullage.formats.transcripts.items import ItemReader
from ullage.formats.usage import convert_usage
from ullage.model.blocks import TextBlock
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.model.message import Role
from ullage.model.usage import Usage

NAME = "codex-rollout"
_LINE_TYPES = {"session_meta", "response_item", "event_msg", "turn_context", "compacted"}


def matches(document: Document) -> bool:
    """Returns whether any line has the shape of a Codex session file's line."""
    return any(
        as_text(value.get("type")) in _LINE_TYPES and isinstance(value.get("payload"), dict)
        for value in document.objects
    )


def read(document: Document) -> ImportedTranscript:
    """Returns the file's messages, usages and compactions."""
    reader = _Reader(document.name)
    for line in document.lines:
        reader.read_line(line)
    return reader.finish()


class _Reader:
    def __init__(self, name: str) -> None:
        self._builder = TranscriptBuilder(NAME, name)
        self._items = ItemReader(self._builder)
        self._reported: tuple[str, Usage] | None = None

    def read_line(self, line: Line) -> None:
        if line.value is None:
            self._builder.skip_unread(line)
            return
        payload = as_object(line.value.get("payload"))
        time = as_timestamp(line.value.get("timestamp"))
        kind = as_text(line.value.get("type"))
        if kind == "response_item":
            if not self._items.add(payload, time):
                self._builder.skip(line.number, f"unknown item {payload.get('type')!r}", expected=False)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._report(payload)
        elif kind == "compacted":
            self._items.flush()
            self._builder.compact(as_text(payload.get("message")), timestamp=time)
        elif kind in _LINE_TYPES:
            self._read_facts(kind, payload)
            self._builder.skip(line.number, f"{kind} line", expected=True)
        else:
            self._builder.skip(line.number, f"unknown line type {kind!r}", expected=False)

    def finish(self) -> ImportedTranscript:
        self._items.flush()
        return self._builder.finish()

    def _read_facts(self, kind: str, payload: JsonObject) -> None:
        if kind in ("session_meta", "turn_context"):
            self._builder.cwd = self._builder.cwd or as_text(payload.get("cwd"))
            self._builder.use_model(as_text(payload.get("model")))
        instructions = payload.get("base_instructions", payload.get("instructions")) if kind == "session_meta" else None
        text = as_text(instructions) or as_text(as_object(instructions).get("text"))
        if text:
            self._builder.add(Role.SYSTEM, (TextBlock(text=text),))

    def _report(self, payload: JsonObject) -> None:
        """Adds a usage unless it repeats the last one: Codex sends it again when only the rate limits have changed."""
        self._items.flush()
        raw = as_object(as_object(payload.get("info")).get("last_token_usage"))
        report = (self._items.last_answer, convert_usage(raw))
        if raw and report[0] and report != self._reported:
            self._builder.report(report[1], report[0])
            self._reported = report


FORMAT = Format(name=NAME, matches=matches, read=read)
