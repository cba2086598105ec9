"""Facts about a conversation that a list shows, found in some records of its file.

Most agents write the same few keys, so one function finds them. Agents that differ have their own function.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.parsing import as_timestamp
from ullage.model.json_values import JsonObject, as_object, as_text

# Keys of a record under which agents put the facts of a session.
_INSIDE = ("payload", "data", "context", "row", "info", "$set")
_FOLDERS = ("cwd", "directory", "working_dir", "workDir", "workspace")
_MODELS = ("model", "selectedModel", "modelId", "model_id")
_IDS = ("sessionId", "session_id")
_PARENTS = ("parentID", "parent_id", "parent_session_id", "parent_thread_id", "parentTaskId")
_TIMES = ("time_updated", "updated_at")
# Records at the beginning of a file that may say whose conversation it is.
_HEADS = 4


class Facts(Struct, frozen=True, kw_only=True):
    """What some records of a conversation's file say about the conversation. A text is "", and a number 0, if they
    don't say it.

    `cwd` is the folder in which it began, `model` the model used last, and `session_id` the agent's own id of it.
    `is_side` is true for a sub-agent's conversation, and `parent` is then the agent's own id of the conversation that
    started it. `updated_at` is Unix milliseconds.
    """

    cwd: str = ""
    model: str = ""
    session_id: str = ""
    is_side: bool = False
    parent: str = ""
    updated_at: int = 0


def common_facts(path: str, records: Sequence[JsonObject]) -> Facts:  # noqa: ARG001 (other agents' need the path)
    """Returns the facts in these records, found under the keys that most agents use.

    `path` is the file's path, with forward slashes. In a row of a database, `id` is the conversation's id.
    """
    rows = [row for record in records[:_HEADS] if (row := as_object(record.get("row")))]
    session_id, parent = _first(_all_places(records), _IDS), _first(_all_places(records[:_HEADS]), _PARENTS)
    if is_side(records):
        # Such a record's session is the one that started the sub-agent.
        session_id, parent = _first(records, ("agentId",)), session_id
    return Facts(
        cwd=_first(_all_places(records), _FOLDERS),
        model=_model(records),
        session_id=session_id or _first(rows, ("id",)),
        is_side=is_side(records) or bool(parent),
        parent=parent,
        updated_at=max((as_timestamp(row.get(key)) for row in rows for key in _TIMES), default=0),
    )


def side_of(facts: Facts, session_id: str, parent: str) -> Facts:
    """Returns the facts of a sub-agent's conversation whose own id and whose parent's id its path says. What the path
    does not say ("") is as in `facts`."""
    return replace(facts, is_side=True, session_id=session_id or facts.session_id, parent=parent or facts.parent)


def is_side(records: Iterable[JsonObject]) -> bool:
    """Returns whether these records belong to a sub-agent's conversation: at least one has the key `isSidechain`, and
    it is true in all that have it."""
    said = [record["isSidechain"] is True for record in records if "isSidechain" in record]
    return bool(said) and all(said)


def _model(records: Sequence[JsonObject]) -> str:
    """Returns the last model's name in the records, or "". A name that begins with `<` marks an answer that no model
    has given, and is skipped."""
    for record in reversed(records):
        named = _first((as_object(record.get("message")), *_places(record)), _MODELS)
        if named and not named.startswith("<"):
            return named
    return ""


def _all_places(records: Iterable[JsonObject]) -> Iterator[JsonObject]:
    return (place for record in records for place in _places(record))


def _places(record: JsonObject) -> Iterator[JsonObject]:
    """Yields the objects in which a record may contain a session's facts: the record itself, and the objects under
    known keys in it."""
    yield record
    for key in _INSIDE:
        if inner := as_object(record.get(key)):
            yield inner
            if context := as_object(inner.get("context")):
                yield context


def _first(places: Iterable[JsonObject], keys: Sequence[str]) -> str:
    return next((text for place in places for key in keys if (text := as_text(place.get(key)))), "")
