"""Reads mini-swe-agent's trajectories: `{info, messages, trajectory_format, instance_id}`.

The text of an answer contains a command, and the next user message its output; since version 2 they are tool calls. An
answer's `extra.response` is the provider's whole response, from which the usage and the time are taken. The program
writes the whole file again after each step.
"""

from ullage.formats.parsing import Document, Line, as_timestamp
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text

NAME = "mini-swe-agent"


def matches(document: Document) -> bool:
    """Returns whether the file names this format in `trajectory_format`."""
    return as_text(as_object(document.value).get("trajectory_format")).startswith("mini-swe-agent")


def records(document: Document) -> Records:
    """Returns a first record with the facts of the run (`info`, `instance_id`), then one record per message."""
    value = as_object(document.value)
    head = {"info": as_object(value.get("info")), "instance_id": value.get("instance_id")}
    messages = enumerate(as_list(value.get("messages")), start=1)
    lines = (Line(number=number, value={"message": as_object(item)}) for number, item in messages)
    return Records(lines=(Line(number=1, value=head), *lines))


class TrajectoryReader:
    """Reads one run of mini-swe-agent. Every message is complete when it is written, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._chat = ChatReader(builder)
        builder.agent = NAME

    def take(self, record: Line) -> None:
        """Reads the record with the facts of the run, or the record of a message."""
        value = record.value or {}
        if "message" in value:
            self._take_message(as_object(value.get("message")), record.number)
            return
        builder, info = self._builder, as_object(value.get("info"))
        config = as_object(info.get("config"))
        builder.version = as_text(info.get("mini_version"))
        builder.title = as_text(value.get("instance_id"))
        builder.cwd = as_text(as_object(config.get("environment")).get("cwd"))
        builder.use_model(as_text(as_object(config.get("model")).get("model_name")))

    def finish(self) -> None:
        """Does nothing, because no event is held back."""

    def _take_message(self, message: JsonObject, number: int) -> None:
        extra = as_object(message.get("extra"))
        response = as_object(extra.get("response"))
        timestamp = as_timestamp(extra.get("timestamp") or response.get("created"))
        if message.get("role") != "assistant" and response:
            self._take_refused(response, timestamp)
            response = {}
        message_id = self._chat.add(message, timestamp)
        if message_id:
            self._builder.report(convert_usage(as_object(response.get("usage"))), message_id)
        elif message.get("role") == "exit":
            self._builder.skip(number, f"end of the run: {as_text(message.get('content'))}", expected=True)
        else:
            self._builder.skip(number, f"message {number} has no known role: {message.get('role')!r}", expected=False)

    def _take_refused(self, response: JsonObject, timestamp: int) -> None:
        """Reads an answer that the program refused. The file has it inside the program's complaint, and the next
        request has only the complaint, so the answer is added and then left out of the context."""
        choices = as_objects(response.get("choices"))
        before = self._builder.tip
        message_id = self._chat.add(as_object(choices[0].get("message")), timestamp) if choices else ""
        if message_id:
            self._builder.report(convert_usage(as_object(response.get("usage"))), message_id)
            self._builder.rewind(before, timestamp)


FORMAT = incremental(NAME, matches, TrajectoryReader, records)
