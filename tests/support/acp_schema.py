"""Checks what the agent sends with the Agent Client Protocol's official JSON Schema.

The schemas are read from npm's package (`scripts/rigs/acp.sh`) and closed for the tests: ACP allows no own fields
outside `_meta`, but its schema does not express that.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, cast

import jsonschema
import jsonschema_rs

from support.neovim import RIGS

PACKAGE = RIGS / "acp" / "node_modules" / "@agentclientprotocol" / "sdk"
SCHEMA = PACKAGE / "schema" / "v1" / "schema.json"
# Version 2 is a draft; this is its stable part.
SCHEMAS = {1: SCHEMA, 2: PACKAGE / "schema" / "v2" / "schema.json"}
Json = dict[str, Any]
_UNIONS = ("allOf", "anyOf", "oneOf")
_OPEN = "Open"
# Methods that the stable schemas do not have, and the type that their result must have.
_UNSTABLE = {"session/fork": "NewSessionResponse", "session/set_title": "SetSessionTitleResponse"}
# The types to which the unstable schemas add the usage of a turn.
_WITH_USAGE = {1: "PromptResponse", 2: "IdleStateUpdate"}


def has_schema() -> bool:
    """Whether the schema is installed."""
    return SCHEMA.exists()


def faults_in_params(method: str, params: Any, version: int = 1) -> list[str]:
    """Returns the faults in the params of a request or notification that the agent sends."""
    return list(_faults(_types(version)["params", method], params, version))


def faults_in_result(method: str, result: Any, version: int = 1) -> list[str]:
    """Returns the faults in the result of a client's request."""
    return list(_faults(_UNSTABLE.get(method) or _types(version)["result", method], result, version))


def faults_in_error(error: Any, version: int = 1) -> list[str]:
    """Returns the faults in an error object."""
    return list(_faults("Error", error, version))


def _faults(kind: str, value: Any, version: int) -> Iterator[str]:
    # The other takes milliseconds a message, but says what is wrong.
    if _quick_validator(kind, version).is_valid(value):
        return
    validator: Any = _validator(kind, version)
    for error in validator.iter_errors(value):
        deepest = max([error, *_causes(error)], key=lambda cause: len(cause.absolute_path))
        yield f"{kind}: {deepest.json_path}: {deepest.message[:300]}"


def _causes(error: jsonschema.ValidationError) -> Iterator[jsonschema.ValidationError]:
    for cause in error.context or ():
        yield cause
        yield from _causes(cause)


@cache
def _quick_validator(kind: str, version: int) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(_schema(kind, version))


@cache
def _validator(kind: str, version: int) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(_schema(kind, version))


def _schema(kind: str, version: int) -> Json:
    return {"$ref": f"#/$defs/{kind}", "$defs": _definitions(version)}


@cache
def _definitions(version: int) -> Json:
    """Returns every type twice: closed under its own name, and open, to be part of another, with the prefix `Open`."""
    known: Json = json.loads(SCHEMAS[version].read_text())["$defs"]
    for name in ("fork", "title"):
        known["SessionCapabilities"]["properties"][name] = {"type": "object"}
    # Not stable yet, and of the shape that the unstable schema gives them.
    unstable = json.loads(SCHEMAS[version].with_name("schema.unstable.json").read_text())["$defs"]
    known |= {name: unstable[name] for name in ("Usage", "SetSessionTitleResponse")}
    known[_WITH_USAGE[version]]["properties"]["usage"] = {"$ref": "#/$defs/Usage"}
    closed = {name: _with_closure(schema, closed=True) for name, schema in known.items()}
    return closed | {_OPEN + name: _with_closure(schema, closed=False) for name, schema in known.items()}


def _with_closure(schema: Any, *, closed: bool) -> Any:
    """Returns the schema without additional fields: here if `closed`, and in every schema inside."""
    if not isinstance(schema, dict):
        return schema
    known = cast("Json", schema)
    owner = "properties" in known
    changed = dict(known)
    if not closed and "$ref" in known:
        changed["$ref"] = known["$ref"].replace("#/$defs/", f"#/$defs/{_OPEN}")
    for union in _UNIONS:
        if union in known:
            # The parts of a composed type share its fields, so only the whole is closed; the type of a field is closed
            # by itself.
            parts = [part for part in known[union] if not _is_for_later(part)]
            changed[union] = [_with_closure(part, closed=closed and not _is_made_of(known)) for part in parts]
    if owner:
        changed["properties"] = {name: _with_closure(part, closed=True) for name, part in known["properties"].items()}
    if "items" in known:
        changed["items"] = _with_closure(known["items"], closed=True)
    if closed and _is_made_of(known) and "additionalProperties" not in known:
        changed["unevaluatedProperties"] = False
    return changed


def _is_for_later(part: Any) -> bool:
    """Whether a part of a union stands for values that a later version may add: version 2 has such parts."""
    return isinstance(part, dict) and ("not" in part or cast("Json", part).get("title") == "unknown")


def _is_made_of(schema: Json) -> bool:
    return "properties" in schema or (schema.get("type") == "object" and any(union in schema for union in _UNIONS))


@cache
def _types(version: int) -> dict[tuple[str, str], str]:
    """Returns the name of each method's type, by `params` or `result` and the method."""
    schema: Json = json.loads(SCHEMAS[version].read_text())["$defs"]
    named: Iterable[tuple[str, Json]] = ((name, kind) for name, kind in schema.items() if "x-method" in kind)
    return {("result" if name.endswith("Response") else "params", kind["x-method"]): name for name, kind in named}
