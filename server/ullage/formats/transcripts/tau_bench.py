"""Reads tau-bench's results: a list of runs `{task_id, reward, info, traj, trial}`.

The `traj` of each run is a conversation of its own.
"""

from typing import Any

from ullage.formats.parsing import Document
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import ChatReader
from ullage.formats.transcripts.format import Format
from ullage.formats.transcripts.imported import ImportedTranscript, choose_run
from ullage.model.json_values import JsonObject, as_list, as_objects

NAME = "tau-bench"


def matches(document: Document) -> bool:
    """Returns whether the file is a list of objects that all have a `traj`."""
    runs = _runs(document.value)
    return bool(runs) and all(isinstance(run.get("traj"), list) for run in runs)


def read(document: Document) -> ImportedTranscript:
    """Reads the wanted run, by default the longest. The other runs are recorded as skipped. Raises `InvalidRequest` if
    there is no such run, and `UnreadableTranscript` if it has no message."""
    builder = TranscriptBuilder(NAME, document.name)
    runs = _runs(document.value)
    chosen = choose_run([len(as_list(run.get("traj"))) for run in runs], document.run, document.name)
    for index, run in enumerate(runs):
        if index == chosen:
            builder.title = f"task {run.get('task_id')}, trial {run.get('trial')}"
            ChatReader(builder).add_all(as_list(run.get("traj")))
        else:
            builder.skip(index + 1, f"run {index + 1}: another conversation", expected=True)
    return builder.finish()


def _runs(value: Any) -> list[JsonObject]:
    return as_objects(value)


FORMAT = Format(name=NAME, matches=matches, read=read)
