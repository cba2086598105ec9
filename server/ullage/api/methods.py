"""The table of Ullage's own methods. Each door adds its prefix: `ullage/` for LSP, `_ullage/` for ACP.

The protocol as documents: the files in `protocol/` and the output of `ullage schema`. They are made from the method
table, the structs and the error codes, so no fact about the wire is written twice. Every function is pure and returns
plain dicts in a stable order. `scripts/gen_protocol.py` writes the files.
"""

from collections.abc import Iterable, Iterator, Mapping
from inspect import getdoc
from typing import Any, cast, get_args

import msgspec
from msgspec import Struct

from ullage.api import agent_methods as agents
from ullage.api import client_requests as models
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.context_methods import prompt
from ullage.api.protocol import (
    CLIENT_METHODS,
    CODES,
    UPDATE,
    AnyMethod,
    ClientAbilities,
    ClientMethod,
    SessionNotification,
    served,
)
from ullage.jsonrpc.envelope import ErrorObject
from ullage.model.errors import UllageError
from ullage.model.settings import Settings
from ullage.model.updates import Update

METHODS: tuple[AnyMethod, ...] = (
    served("session/new", session.new_session, "Starts a session."),
    served("session/configure", session.configure_session, "Sets the session's own context settings."),
    served("session/load", session.load_session, "Opens a stored session."),
    served("session/list", session.list_sessions, "Lists stored sessions, last changed first."),
    served("session/fork", session.fork_session, "Starts a session that shares another's past."),
    served("session/close", session.close_session, "Stops work on a session and frees its memory."),
    served("session/rename", session.rename_session, "Gives a session another title."),
    served(
        "session/delete",
        session.delete_session,
        "Deletes a session and those of its sub-agents, with all that is kept: words, archived files, rows. An agent's "
        "own file stays, and is read again only if the agent continues it.",
    ),
    served("session/prompt", prompt, "Asks the model, and answers when its turn is over."),
    served(
        "session/append",
        session.append,
        "Appends messages and the provider's usage, for a client that runs its own model.",
    ),
    served("session/import", session.import_session, "Reads another program's transcript into a new session."),
    served("session/export", session.export_session, "Returns a session as text."),
    served("session/cancel", session.cancel, "Cancels the work that runs in a session.", notification=True),
    served("models/offer", models.offer, "Says which models the client can ask for the server.", notification=True),
    served(
        "models/piece",
        models.take_piece,
        "Sends the next piece of an answer that the server asked for.",
        notification=True,
    ),
    served(
        "transcripts/list", agents.list_transcripts, "Lists the conversations that coding agents keep on this machine."
    ),
    served("following/start", agents.start_following, "Starts following the conversations of agents on this machine."),
    served("following/stop", agents.stop_following, "Stops following."),
    served("following/list", agents.list_followed, "Lists the followed conversations, the last changed first."),
    served(
        "following/keep",
        agents.keep_agents_files,
        "Notes whether the user wants agents' files kept. From a yes on they are, while the server follows.",
    ),
    served("agents/wire", agents.wire, "Adds Ullage's hooks and MCP server to agents' settings, or previews it."),
    served(
        "agents/unwire", agents.unwire, "Takes Ullage's hooks and MCP server out of agents' settings, or previews it."
    ),
    served(
        "continuing/choices",
        agents.continuing_choices,
        "Returns how a conversation can be continued as a new session of an agent.",
    ),
    served("continuing/preview", agents.preview_continuing, "Previews a new session that an agent resumes."),
    served("continuing/write", agents.write_continuing, "Writes the new session of a preview."),
    served("context/get", context.get, "Returns how full the context is."),
    served("context/messages", context.messages, "Lists the messages of the context, or of the whole transcript."),
    served("context/compact", context.compact, "Compacts the context now, or previews it."),
    served("context/commit", context.commit, "Applies a preview."),
    served("context/undo", context.undo, "Undoes an edit."),
    served(
        "context/restore", context.restore, "Goes back to a checkpoint: makes the edits in force what they were there."
    ),
    served("context/pin", context.pin, "Keeps a message verbatim through every edit."),
    served("context/search", context.search, "Searches every message, archived or not."),
    served("context/history", context.list_edits, "Lists every edit ever made."),
    served("context/lookUp", context.look_up, "Has a tool search or read a conversation."),
    served("context/lost", context.lost, "Lists what a compaction left out."),
    served("context/givenBack", context.given_back, "Lists what hooks gave back to the agent of a conversation."),
    served("team/search", agents.search_team, "Searches what a team's members share with each other."),
    served("team/open", agents.open_team_message, "Reads a whole message of what a team's members share."),
)
# The notifications that the server sends, and the types of their params.
NOTIFICATIONS: Mapping[str, type[Struct]] = {
    UPDATE: SessionNotification,
    agents.FOLLOWING_CHANGED: agents.FollowingChange,
}
PREFIXES = {"lsp": "ullage/", "acp": "_ullage/"}
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_REF = "#/$defs/"


def methods_document() -> dict[str, Any]:
    """Returns the protocol as one object: all methods, notifications, requests to the client, updates and error codes.
    Types are named as in the `$defs` of the schema."""
    return {
        "prefixes": PREFIXES,
        "methods": [_method(method) for method in METHODS],
        "notifications": [
            {"name": name, "params": params.__name__, "doc": _doc(params)} for name, params in NOTIFICATIONS.items()
        ],
        "clientMethods": [_client_method(method) for method in CLIENT_METHODS],
        "updates": [_update(variant) for variant in get_args(Update)],
        "errors": [_error(kind, code) for kind, code in CODES.items()],
    }


def schema_document() -> dict[str, Any]:
    """Returns the JSON Schema of every type on the wire, to validate against one of `$defs`."""
    return document_of(wire_types(), "Ullage protocol")


def document_of(kinds: Iterable[type], title: str) -> dict[str, Any]:
    """Returns the JSON Schema of these types and all types that they refer to, under `$defs`."""
    _, components = msgspec.json.schema_components(kinds, ref_template=_REF + "{name}")
    definitions = {name: _plain(components[name]) for name in sorted(components)}
    return {"$schema": _DIALECT, "title": title, "$defs": definitions}


def settings_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the settings with flat keys (`context.warnAt`) and defaults, as editors list them."""
    definitions = schema_document()["$defs"]
    properties = dict(_flat(definitions[Settings.__name__], definitions, ""))
    return {
        "$schema": _DIALECT,
        "title": "Ullage settings",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def wire_types() -> tuple[type, ...]:
    """Returns the types of all messages on the wire, params and results first, without what they refer to."""
    ours = dict.fromkeys(kind for method in METHODS for kind in (method.params, method.result))
    asked = (kind for method in CLIENT_METHODS for kind in (method.params, method.result))
    return (*ours, *asked, *NOTIFICATIONS.values(), ErrorObject, ClientAbilities, Settings)


def _method(method: AnyMethod) -> dict[str, Any]:
    return {
        "name": method.name,
        "kind": "notification" if method.notification else "request",
        "params": method.params.__name__,
        "result": None if method.notification else method.result.__name__,
        "doc": method.doc,
    }


def _client_method(method: ClientMethod) -> dict[str, Any]:
    return {
        "name": method.name,
        "params": method.params.__name__,
        "result": method.result.__name__,
        "doc": method.doc,
    }


def _update(variant: type[msgspec.Struct]) -> dict[str, Any]:
    return {"sessionUpdate": variant.__struct_config__.tag, "type": variant.__name__, "doc": _doc(variant)}


def _error(kind: type[UllageError], code: int) -> dict[str, Any]:
    parents = [parent.__name__ for parent in kind.__bases__ if issubclass(parent, UllageError)]
    return {"kind": kind.__name__, "code": code, "parents": parents, "doc": _doc(kind)}


def _doc(kind: type) -> str:
    return _one_line(getdoc(kind) or "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _plain(schema: Any) -> Any:
    """Returns a schema with descriptions on one line, and "X or null" as a list of types, which all editors know."""
    if isinstance(schema, list):
        return [_plain(item) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in cast("dict[str, Any]", schema).items()}
    if isinstance(plain.get("description"), str):
        plain["description"] = _one_line(plain["description"])
    match plain:
        case {"anyOf": [{"type": str(kind), **rest}, {"type": "null"}], **others}:
            return {"type": [kind, "null"], **rest, **others}
        case {"anyOf": [{"enum": [*values]}, {"type": "null"}], **others}:
            return {"enum": [*values, None], **others}
        case _:
            return plain


def _flat(schema: Mapping[str, Any], definitions: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for name, value in schema["properties"].items():
        inner = _resolved(value, definitions)
        if "properties" in inner:
            yield from _flat(inner, definitions, f"{prefix}{name}.")
        else:
            yield prefix + name, inner


def _resolved(schema: Any, definitions: Mapping[str, Any]) -> Any:
    """Returns a schema with each `$ref` replaced by its definition, to which the keys next to the `$ref` are added.
    Editors' manifests have no `$defs`, so discriminators, which refer to them, are left out."""
    if isinstance(schema, list):
        return [_resolved(item, definitions) for item in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    known = cast("dict[str, Any]", schema)
    own = {key: _resolved(value, definitions) for key, value in known.items() if key not in ("$ref", "discriminator")}
    if "$ref" in known:
        return _resolved(definitions[known["$ref"].removeprefix(_REF)], definitions) | own
    return own
