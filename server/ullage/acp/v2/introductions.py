"""`initialize` in both versions: what client and agent say of themselves. Pure.

Version 2 is the draft's stable part, as npm's `@agentclientprotocol/sdk` 2.4.0 has it in `schema/v2/schema.json`.
"""

from ullage.model.json_values import JsonObject, as_object, as_objects

VERSION = 2
# What every client of version 2 takes; in version 1 these are capabilities.
_SHOWN_BY_ALL: JsonObject = {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}}
# The session methods that every agent of version 2 has; in version 1 these are capabilities.
_BASELINE = ("list", "resume", "close")
_CONTENT = ("image", "audio", "embeddedContext")


def greeting_as_v1(params: JsonObject) -> JsonObject:
    """Returns the params of a client's `initialize` of version 2 in the shape of version 1. Whatever has the wrong
    shape counts as absent."""
    said = {name: value for name, value in params.items() if name not in ("capabilities", "info")}
    given = as_object(params.get("capabilities"))
    # Version 1 has a boolean here.
    login = {"terminal": isinstance(as_object(given.get("auth")).get("terminal"), dict)}
    capabilities = {**given, "auth": login, "session": _SHOWN_BY_ALL}
    return {**said, "clientCapabilities": capabilities, "clientInfo": params.get("info")}


def introduction_as_v2(result: JsonObject) -> JsonObject:
    """Returns an agent's result of `initialize` of version 1 in the shape of version 2."""
    said = as_object(result.get("agentCapabilities"))
    offered = as_object(said.get("promptCapabilities"))
    session: JsonObject = {"prompt": {name: {} for name in _CONTENT if offered.get(name)}}
    if "mcpCapabilities" in said:
        remote = as_object(said.get("mcpCapabilities"))
        session["mcp"] = {"stdio": {}, **({"http": {}} if remote.get("http") else {})}
    known = as_object(said.get("sessionCapabilities"))
    session |= {name: value for name, value in known.items() if name not in _BASELINE}
    methods = [_method_as_v2(method) for method in as_objects(result.get("authMethods"))]
    kept = {"_meta": said["_meta"]} if "_meta" in said else {}
    return {
        "protocolVersion": VERSION,
        "info": result.get("agentInfo"),
        "capabilities": {"session": session, **kept},
        "authMethods": methods,
    }


def introduction_as_v1(result: JsonObject) -> JsonObject:
    """Returns an agent's result of `initialize` of version 2 in the shape of version 1, as far as Ullage reads it. An
    agent without sessions has no session methods."""
    session = as_object(as_object(result.get("capabilities")).get("session"))
    has_sessions = isinstance(as_object(result.get("capabilities")).get("session"), dict)
    own = {name: value for name, value in session.items() if name not in ("prompt", "mcp")}
    baseline: JsonObject = {name: {} for name in _BASELINE} if has_sessions else {}
    abilities = {
        "loadSession": has_sessions,
        "sessionCapabilities": {**baseline, **own},
        "mcpCapabilities": as_object(session.get("mcp")),
    }
    return {**result, "agentInfo": result.get("info"), "agentCapabilities": abilities}


def _method_as_v2(method: JsonObject) -> JsonObject:
    said = {name: value for name, value in method.items() if name != "id"}
    return {"type": "agent", **said, "methodId": method.get("id")}
