"""What Ullage knows about the Grok CLI: where its sessions are, and how they are read.

A chat history (`~/.grok/sessions/*/ID/chat_history.jsonl`) has one row per line, without times and usage;
`summary.json` next to the file has the session's facts. A `reasoning` row comes before the `assistant` row it belongs
to.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, first_prompt, in_folder, last_text, side_of
from ullage.agents.record_reader import PieceRecordReader
from ullage.formats.parsing import Document, Line, to_json
from ullage.formats.transcripts.chat import read_arguments, read_image_url, read_parts, thoughts
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, join_texts


def _title_of(records: Sequence[JsonObject]) -> str:
    named = last_text(records, "generated_title") or last_text(records, "session_summary")
    typed = (record for record in records if record.get("type") == "user" and "synthetic_reason" not in record)
    return named or first_prompt(record.get("content") for record in typed)


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    # `summary.json` has the id, and whether it is a sub-agent's, but not which session started it.
    summary = as_object(next((record for record in records if "info" in record), None))
    session_id = as_text(as_object(summary.get("info")).get("id"))
    facts = replace(common_facts(path, records), session_id=session_id)
    return side_of(facts, session_id, "") if is_of_sub_agent(summary) else facts


def is_of_sub_agent(summary: JsonObject) -> bool:
    """Returns whether a session is a sub-agent's, according to its `summary.json`. The user's own has no kind."""
    return summary.get("session_kind") == "subagent"


NAME = "grok-cli"
# Keys that rows of no other format have.
_MARKS = {"model_id", "model_fingerprint", "prompt_index", "synthetic_reason"}
_SUMMARY = "summary"


def _matches(document: Document) -> bool:
    return any(
        as_text(value.get("type")) in ("user", "assistant") and "content" in value and _MARKS & set(value)
        for value in document.objects
    )


def _companions(path: str) -> tuple[str, ...]:
    return ("summary.json",) if path.endswith("/chat_history.jsonl") else ()


def _records(document: Document) -> Records:
    summaries = ({"type": _SUMMARY, _SUMMARY: companion.value} for companion in document.companions)
    return Records(lines=(*(Line(number=1, value=value) for value in summaries), *document.lines))


class GrokReader(PieceRecordReader):
    """Reads the rows of one chat history of Grok. The pieces of a message are held back until another message
    begins."""

    def _read(self, value: JsonObject, number: int) -> None:
        row = value
        match row.get("type"):
            case "system":
                self._pieces.say(Role.SYSTEM, read_parts(row.get("content")))
            case "user":
                self._pieces.say(Role.USER, _read_content(row))
            case "reasoning":
                thinking = thoughts(join_texts(read_parts(row.get("summary"))))
                self._pieces.piece(Role.ASSISTANT, thinking, as_text(row.get("id")))
            case "assistant":
                self._take_answer(row)
            case "backend_tool_call":
                self._pieces.piece(Role.ASSISTANT, [TextBlock(text=to_json(row.get("kind")))])
            case "tool_result":
                self._pieces.result(read_parts(row.get("content")), as_text(row.get("tool_call_id")))
            case "summary":
                self._take_facts(as_object(row.get(_SUMMARY)))
            case kind:
                self._builder.skip(number, f"unknown row {kind!r}", expected=False)

    def _take_answer(self, row: JsonObject) -> None:
        self._builder.agent = "Grok"
        self._builder.use_model(as_text(row.get("model_id")))
        self._pieces.piece(Role.ASSISTANT, read_parts(row.get("content")))
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


FORMAT = incremental(NAME, _matches, GrokReader, _records)

AGENT = Agent(
    name="Grok CLI",
    short="Grok",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(
        patterns=in_folder("", ".grok", "sessions/*/*/chat_history.jsonl"),
        title_of=_title_of,
        facts=_facts_of,
        fact_files=_companions,
    ),
)
