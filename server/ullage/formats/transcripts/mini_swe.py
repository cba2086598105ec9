"""Reads mini-swe-agent's trajectories: `{info, messages, trajectory_format, instance_id}`.

The text of an answer contains a command, and the next user message its output. An answer's `extra.response` is the
provider's whole response, from which the usage and the time are taken.
"""

from ullage.formats.parsing import Document, as_timestamp
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader
from ullage.formats.transcripts.imported import Format, ImportedTranscript
from ullage.formats.usage import convert_usage
from ullage.model.json_values import as_list, as_object, as_text

NAME = "mini-swe-agent"


def matches(document: Document) -> bool:
    """Returns whether the file names this format in `trajectory_format`."""
    return as_text(as_object(document.value).get("trajectory_format")).startswith("mini-swe-agent")


def read(document: Document) -> ImportedTranscript:
    """Returns all messages as they were sent."""
    builder = TranscriptBuilder(NAME, document.name)
    trajectory = as_object(document.value)
    config = as_object(as_object(trajectory.get("info")).get("config"))
    builder.title = as_text(trajectory.get("instance_id"))
    builder.cwd = as_text(as_object(config.get("environment")).get("cwd"))
    builder.use_model(as_text(as_object(config.get("model")).get("model_name")))
    reader = ChatReader(builder)
    for index, item in enumerate(as_list(trajectory.get("messages")), start=1):
        message = as_object(item)
        extra = as_object(message.get("extra"))
        response = as_object(extra.get("response"))
        timestamp = as_timestamp(extra.get("timestamp") or response.get("created"))
        message_id = reader.add(message, timestamp)
        if message_id:
            builder.report(convert_usage(as_object(response.get("usage"))), message_id)
        else:
            builder.skip(index, f"message {index} has no known role: {message.get('role')!r}", expected=False)
    return builder.finish()


FORMAT = Format(name=NAME, matches=matches, read=read)
