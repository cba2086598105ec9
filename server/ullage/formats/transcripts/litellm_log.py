"""Reads LiteLLM's request logs, as OpenHands keeps them: `{messages, tools, kwargs, response, raw_messages?, …}`.

If `raw_messages` is there, the model has no function calling. Then the text of `messages`, which were sent, describes
the tools, and the calls in `response` were parsed from the answer's text, which `raw_response` contains.
"""

from ullage.formats.parsing import Document, as_timestamp
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader, read_functions
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text

NAME = "litellm-log"


def matches(document: Document) -> bool:
    """Returns whether the file is one object with the messages of a request and the choices of its response."""
    log = as_object(document.value)
    return bool(as_list(log.get("messages"))) and isinstance(as_object(log.get("response")).get("choices"), list)


def read(document: Document) -> ImportedTranscript:
    """Reads one logged request: its model, tools and messages, then the answer and its usage. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder(NAME, document.name)
    log = as_object(document.value)
    response = as_object(log.get("response"))
    builder.use_model(as_text(response.get("model")))
    tools_in_text = bool(as_list(log.get("raw_messages")))
    if not tools_in_text:
        builder.declare(read_functions(log.get("tools")))
    reader = ChatReader(builder)
    reader.add_all(as_list(log.get("messages")))
    answer = _answer(response)
    raw = _answer(as_object(log.get("raw_response")))
    # If the model made native calls nevertheless, the raw answer has no text, so the parsed answer is used.
    if tools_in_text and raw and not raw.get("tool_calls"):
        answer = raw
    if answer:
        timestamp = as_timestamp(log.get("timestamp"))
        message_id = reader.add({**answer, "role": "assistant"}, timestamp)
        builder.report(convert_usage(as_object(response.get("usage"))), message_id)
    return builder.finish()


def _answer(response: JsonObject) -> JsonObject:
    choices = as_objects(response.get("choices"))
    return as_object(choices[0].get("message")) if choices else {}


FORMAT = Format(name=NAME, matches=matches, read=read)
