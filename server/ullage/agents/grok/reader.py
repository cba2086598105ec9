"""Reads the chat histories of the Grok CLI (`~/.grok/sessions/*/ID/chat_history.jsonl`).

One row per line, without times and usage; `summary.json` next to the file has the session's facts. A `reasoning` row
comes before the `assistant` row it belongs to.
"""

from ullage.agents.grok.sessions import is_of_sub_agent
from ullage.formats.parsing import Document, Line, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments, read_image_url, read_parts
from ullage.formats.transcripts.format import Records, incremental
from ullage.formats.transcripts.message_pieces import PieceReader
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, join_texts
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role

NAME = "grok-cli"
# Keys that rows of no other format have.
_MARKS = {"model_id", "model_fingerprint", "prompt_index", "synthetic_reason"}
_SUMMARY = "summary"


def matches(document: Document) -> bool:
    """Returns whether any line of the file is a row of a Grok chat history."""
    return any(
        as_text(value.get("type")) in ("user", "assistant") and "content" in value and _MARKS & set(value)
        for value in document.objects
    )


def companions(path: str) -> tuple[str, ...]:
    """Returns the name of the file with a session's facts, which is next to the chat history."""
    return ("summary.json",) if path.endswith("/chat_history.jsonl") else ()


def records(document: Document) -> Records:
    """Returns a record with the session's facts, if that file is there, then the rows of the chat history."""
    facts = tuple(
        Line(number=1, value={"type": _SUMMARY, _SUMMARY: companion.value}) for companion in document.companions
    )
    return Records(lines=(*facts, *document.lines))


class GrokReader:
    """Reads the rows of one chat history of Grok. The pieces of a message are held back until another message
    begins."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._pieces = PieceReader(builder)

    def take(self, record: Line) -> None:
        """Reads the session's facts or the next row."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        row = record.value
        match row.get("type"):
            case "system":
                self._pieces.say(Role.SYSTEM, read_parts(row.get("content")))
            case "user":
                self._pieces.say(Role.USER, _read_content(row))
            case "reasoning":
                text = join_texts(read_parts(row.get("summary")))
                self._pieces.answer([ThinkingBlock(thinking=text)] if text else [], as_text(row.get("id")))
            case "assistant":
                self._take_answer(row)
            case "backend_tool_call":
                self._pieces.answer([TextBlock(text=to_json(row.get("kind")))])
            case "tool_result":
                self._pieces.result(read_parts(row.get("content")), as_text(row.get("tool_call_id")))
            case "summary":
                self._take_facts(as_object(row.get(_SUMMARY)))
            case kind:
                self._builder.skip(record.number, f"unknown row {kind!r}", expected=False)

    def finish(self) -> None:
        """Adds the message that was held back."""
        self._pieces.end()

    def _take_answer(self, row: JsonObject) -> None:
        self._builder.agent = "Grok"
        self._builder.use_model(as_text(row.get("model_id")))
        self._pieces.answer(read_parts(row.get("content")))
        for call in as_objects(row.get("tool_calls")):
            self._pieces.call(as_text(call.get("name")), read_arguments(call.get("arguments")), as_text(call.get("id")))

    def _take_facts(self, summary: JsonObject) -> None:
        info = as_object(summary.get("info"))
        self._builder.session_id = as_text(info.get("id"))
        self._builder.is_sub_agent = is_of_sub_agent(summary)
        self._builder.cwd = as_text(info.get("cwd"))
        self._builder.title = as_text(summary.get("generated_title")) or as_text(summary.get("session_summary"))
        self._builder.use_model(as_text(summary.get("current_model_id")))


def _read_content(row: JsonObject) -> list[Block]:
    content = row.get("content")
    if isinstance(content, str):
        return [*read_parts(content)]
    blocks: list[Block] = []
    for part in as_objects(content):
        image = part.get("type") == "image" and as_text(part.get("url"))
        blocks += [read_image_url(image)] if image else read_parts([part])
    return blocks


FORMAT = incremental(NAME, matches, GrokReader, records)
