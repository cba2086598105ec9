"""What Ullage knows about Antigravity: where its transcripts are, and how they are read.

A transcript (`…/brain/ID/.system_generated/logs/transcript_full.jsonl` and `transcript.jsonl`) has one step per line:
`{step_index, source, type, status, created_at}`. A `PLANNER_RESPONSE` is an answer with calls; the other steps of the
model are the tools that ran. A `CHECKPOINT` is a compaction. No file holds the usage.
"""

import re
from collections.abc import Sequence

from ullage.agents.agent import Agent, Sessions, first_line, in_folder
from ullage.agents.record_reader import PieceRecordReader
from ullage.formats.parsing import Document, as_timestamp, parse_json
from ullage.formats.transcripts.chat import read_parts, thoughts
from ullage.formats.transcripts.format import incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock

_BEGIN, _END = "<USER_REQUEST>", "</USER_REQUEST>"


# Of the two files of a conversation only the complete one is matched.
_LOG = "brain/*/.system_generated/logs/transcript_full.jsonl"
_PATTERNS = in_folder("", ".gemini", f"antigravity/{_LOG}", f"antigravity-ide/{_LOG}", f"antigravity-cli/{_LOG}")


def _title_of(records: Sequence[JsonObject]) -> str:
    texts = (as_text(record.get("content")) for record in records if record.get("type") == "USER_INPUT")
    parts = (text.partition(_BEGIN)[2].partition(_END) for text in texts)
    return next((first_line(request) for request, ends, _ in parts if ends), "")


NAME = "antigravity"
_MODEL = re.compile(r"changed setting `Model Selection` from .{0,200}? to (.{1,200}?)\.\s*+(?:</|$)")


def _matches(document: Document) -> bool:
    return any({"step_index", "source", "type", "status"} <= set(value) for value in document.objects)


class StepReader(PieceRecordReader):
    """Reads the steps of one Antigravity conversation. The pieces of a message are held back until another message
    begins."""

    def _begin(self) -> None:
        self._ran: list[str] = []

    def _read(self, value: JsonObject, number: int) -> None:
        time = as_timestamp(value.get("created_at"))
        self._builder.agent = "Antigravity"
        if cut := as_list(value.get("truncated_fields")):
            fields = ", ".join(as_text(field) for field in cut)
            self._builder.skip(number, f"cut in this file, whole in transcript_full.jsonl: {fields}", expected=True)
        kind, text = as_text(value.get("type")), as_text(value.get("content"))
        match kind:
            case "USER_INPUT" | "SYSTEM_MESSAGE":
                self._take_message(text, time)
            case "PLANNER_RESPONSE":
                self._take_answer(value, time)
            case "CHECKPOINT":
                self._pieces.end()
                self._builder.compact(text, timestamp=time)
            case _ if value.get("source") == "MODEL" or kind == "GENERIC":
                self._take_result(kind.lower(), text, time)
            case _:
                self._builder.skip(number, f"{kind or 'unknown'} step", expected=kind == "CONVERSATION_HISTORY")

    def _take_message(self, text: str, time: int) -> None:
        if chosen := _MODEL.search(text):
            self._builder.use_model(chosen[1])
        self._pieces.say(Role.USER, [TextBlock(text=text)], time=time)

    def _take_answer(self, step: JsonObject, time: int) -> None:
        self._pieces.end()
        blocks = [*thoughts(step.get("thinking")), *read_parts(as_text(step.get("content")))]
        self._pieces.piece(Role.ASSISTANT, blocks, time=time)
        for call in as_objects(step.get("tool_calls")):
            given = {key: _decode(value) for key, value in as_object(call.get("args")).items()}
            self._ran.append(self._pieces.call(as_text(call.get("name")), given, time=time))

    def _take_result(self, name: str, text: str, time: int) -> None:
        """Adds a tool's result to the oldest call without one, because the names of tools and of steps differ. If no
        call waits, the step is added as a call and its result."""
        call = self._ran.pop(0) if self._ran else self._pieces.call(name, {}, time=time)
        self._pieces.result([TextBlock(text=text)], call, time=time)


def _decode(value: object) -> object:
    """Returns the value of a call's argument, which the file has as JSON in a text. Text that isn't JSON stays text."""
    if not isinstance(value, str):
        return value
    decoded, problem = parse_json(value.encode())
    return value if problem else decoded


FORMAT = incremental(NAME, _matches, StepReader)

AGENT = Agent(
    name="Antigravity",
    formats=(FORMAT,),
    sessions=Sessions(patterns=_PATTERNS, title_of=_title_of),
)
