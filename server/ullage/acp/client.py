"""What a client can do, read once from its `initialize`."""

from typing import Any

from msgspec import Struct

from ullage.model.json_values import JsonObject, as_object


class Client(Struct, frozen=True, kw_only=True):
    """`shows_compactions` and `shows_notices`: it takes the updates of that kind; else it gets text. `takes_booleans`:
    a config option may be a switch. `reads_files`: the text of files, as its editors hold it, may be asked for.
    `settings` are ours, if it sent any."""

    shows_compactions: bool = False
    shows_notices: bool = False
    takes_booleans: bool = False
    reads_files: bool = False
    settings: Any = None


def read_client(capabilities: Any, meta: Any) -> Client:
    """The client behind an `initialize`; what it does not say, or says in the wrong shape, it cannot do."""
    said = as_object(capabilities)
    session = as_object(said.get("session"))
    return Client(
        shows_compactions=_is_object(session, "compaction"),
        shows_notices=_is_object(session, "notices"),
        takes_booleans=_is_object(as_object(session.get("configOptions")), "boolean"),
        reads_files=as_object(said.get("fs")).get("readTextFile") is True,
        settings=as_object(as_object(meta).get("ullage")).get("settings"),
    )


def _is_object(said: JsonObject, name: str) -> bool:
    """A capability object means yes, however empty; null and everything else means no."""
    return isinstance(said.get(name), dict)
