"""Reads SWE-agent's trajectories: `{trajectory, history, info, environment}`.

`history` is the conversation; `trajectory` repeats it step by step and is ignored.
"""

from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.formats.transcripts.several import parsed
from ullage.model.json_values import as_list, as_object, as_text

NAME = "swe-agent"
# What SWE-agent names as the model of a run in which no model answered.
_NO_MODELS = {"human", "human_thought", "instant_empty_submit", "replay"}


def matches(document: Document) -> bool:
    """Returns whether the file is one object with both `trajectory` and `history`."""
    value = as_object(document.value)
    return isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list)


def read(document: Document) -> ImportedTranscript:
    """Reads the messages of `history`. The model is named by the run's configuration (`replay_config`), an object or
    its JSON text, which early versions don't write. Raises `UnreadableTranscript` if there are none."""
    builder = TranscriptBuilder(NAME, document.name)
    trajectory = as_object(document.value)
    config = as_object(parsed(trajectory.get("replay_config")))
    model = as_text(as_object(as_object(config.get("agent")).get("model")).get("name"))
    builder.agent = NAME
    builder.use_model("" if model in _NO_MODELS else model)
    builder.title = as_text(as_object(config.get("problem_statement")).get("id"))
    ChatReader(builder).add_all(as_list(trajectory.get("history")))
    return builder.finish()


FORMAT = Format(name=NAME, matches=matches, read=read)
