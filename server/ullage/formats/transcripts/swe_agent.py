"""Reads SWE-agent's trajectories: `{trajectory, history, info, environment}`.

`history` is the conversation; `trajectory` repeats it step by step and is ignored.
"""

from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader
from ullage.formats.transcripts.imported import Format, ImportedTranscript
from ullage.model.json_values import as_list, as_object, as_text

NAME = "swe-agent"


def matches(document: Document) -> bool:
    """Returns whether the file is one object with both `trajectory` and `history`."""
    value = as_object(document.value)
    return isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list)


def read(document: Document) -> ImportedTranscript:
    """Returns the messages of `history`."""
    builder = TranscriptBuilder(NAME, document.name)
    trajectory = as_object(document.value)
    config = as_object(trajectory.get("replay_config"))
    builder.title = as_text(as_object(config.get("problem_statement")).get("id"))
    ChatReader(builder).add_all(as_list(trajectory.get("history")))
    return builder.finish()


FORMAT = Format(name=NAME, matches=matches, read=read)
