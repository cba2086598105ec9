"""Checks what the agent sends with the Agent Client Protocol's official JSON Schema.

The schema is read from npm's package (`scripts/rigs/acp.sh`) and closed for the tests: ACP allows no own fields outside
`_meta`, but its schema does not express that.
"""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, cast

import jsonschema

from benches.neovim import RIGS

PACKAGE = RIGS / "acp" / "node_modules" / "@agentclientprotocol" / "sdk"
SCHEMA = PACKAGE / "schema" / "v1" / "schema.json"
Json = dict[str, Any]
_UNIONS = ("allOf", "anyOf", "oneOf")
_OPEN = "Open"
# Methods that the stable schema does not have, and the type that their result must have.
_UNSTABLE = {"session/fork": "NewSessionResponse"}


def has_schema() -> bool:
    """Whether the schema is installed."""
    return SCHEMA.exists()


def faults_in_params(method: str, params: Any) -> list[str]:
    """Returns the faults in the params of a request or notification that the agent sends."""
    return list(_faults(_types()["params", method], params))


def faults_in_result(method: str, result: Any) -> list[str]:
    """Returns the faults in the result of a client's request."""
    return list(_faults(_UNSTABLE.get(method) or _types()["result", method], result))


def faults_in_error(error: Any) -> list[str]:
    """Returns the faults in an error object."""
    return list(_faults("Error", error))


def _faults(kind: str, value: Any) -> Iterator[str]:
    validator: Any = _validator(kind)
    for error in validator.iter_errors(value):
        deepest = max([error, *_causes(error)], key=lambda cause: len(cause.absolute_path))
        yield f"{kind}: {deepest.json_path}: {deepest.message[:300]}"


def _causes(error: jsonschema.ValidationError) -> Iterator[jsonschema.ValidationError]:
    for cause in error.context or ():
        yield cause
        yield from _causes(cause)


@cache
def _validator(kind: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": _definitions()})


@cache
def _definitions() -> Json:
    """Returns every type twice: closed under its own name, and open, to be part of another, with the prefix `Open`."""
    known: Json = json.loads(SCHEMA.read_text())["$defs"]
    known["SessionCapabilities"]["properties"]["fork"] = {"type": "object"}
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
            changed[union] = [_with_closure(part, closed=closed and not _is_made_of(known)) for part in known[union]]
    if owner:
        changed["properties"] = {name: _with_closure(part, closed=True) for name, part in known["properties"].items()}
    if "items" in known:
        changed["items"] = _with_closure(known["items"], closed=True)
    if closed and _is_made_of(known) and "additionalProperties" not in known:
        changed["unevaluatedProperties"] = False
    return changed


def _is_made_of(schema: Json) -> bool:
    return "properties" in schema or (schema.get("type") == "object" and any(union in schema for union in _UNIONS))


@cache
def _types() -> dict[tuple[str, str], str]:
    """Returns the name of each method's type, by `params` or `result` and the method."""
    schema: Json = json.loads(SCHEMA.read_text())["$defs"]
    named: Iterable[tuple[str, Json]] = ((name, kind) for name, kind in schema.items() if "x-method" in kind)
    return {("result" if name.endswith("Response") else "params", kind["x-method"]): name for name, kind in named}
