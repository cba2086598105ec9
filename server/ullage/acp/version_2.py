"""Converts messages of the Agent Client Protocol between version 2 and version 1, in which Ullage thinks. Pure.

First `initialize`, then what an agent of version 2 sends, then what a client of version 2 is sent. Version 2 is the
draft's stable part, as npm's `@agentclientprotocol/sdk` 2.4.0 has it in `schema/v2/schema.json`.
"""

import base64
import codecs
import hashlib
from collections.abc import Callable, Iterator
from typing import Any

from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

VERSION = 2
# What every client of version 2 takes; in version 1 these are capabilities.
_SHOWN_BY_ALL: JsonObject = {"compaction": {}, "notices": {}, "configOptions": {"boolean": {}}}
# The session methods that every agent of version 2 has; in version 1 these are capabilities.
_BASELINE = ("list", "resume", "close")
_CONTENT = ("image", "audio", "embeddedContext")
_MESSAGES = {
    "user_message": "user_message_chunk",
    "agent_message": "agent_message_chunk",
    "agent_thought": "agent_thought_chunk",
}
_DECODER = codecs.getincrementaldecoder("utf-8")
# Messages and terminals of a turn that may still change; an agent works on a few at once.
_MOST_HEARD = 64
_RENAMED = {"authenticate": "auth/login", "session/load": "session/resume"}
NewId = Callable[[], str]
# Version 1 has one plan in a session and gives it no id.
_PLAN = "plan"
_CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")


def greeting_as_v1(params: JsonObject) -> JsonObject:
    """Returns `initialize` of version 2 as version 1 has it, without params of a wrong shape."""
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


def opened_as_v1(result: JsonObject) -> JsonObject:
    """Returns the result of opening a session or setting an option, or an update of options, as version 1 has it."""
    if not isinstance(result.get("configOptions"), list):
        return result
    options = [{**option, "id": option.get("configId")} for option in as_objects(result["configOptions"])]
    return {**result, "configOptions": options}


def request_as_v2(method: str, params: JsonObject) -> tuple[str, JsonObject]:
    """Returns the method and the params of version 2 that ask an agent for the same. A session is opened without a
    replay, whichever method of version 1 opens it."""
    if method == "session/set_config_option":
        params = {"type": "id", **params}
    return _RENAMED.get(method, method), params


class _Heard:
    """What was sent of a text so far: its length and its hash, so that no memory is held for it."""

    def __init__(self) -> None:
        self._length = 0
        self._hash = hashlib.blake2b()

    def add(self, data: bytes) -> None:
        self._length += len(data)
        self._hash.update(data)

    def rest_of(self, whole: bytes) -> bytes:
        """Returns what of a text was not sent yet: all of it, unless it begins with everything that was sent."""
        begins = hashlib.blake2b(whole[: self._length]).digest() == self._hash.digest()
        return whole[self._length :] if begins else whole


class UpdateReader:
    """Reads the updates of one session of an agent. Some of them change what earlier ones have said.

    Version 1 can only add to a message or to a terminal. So what replaces the text that was sent is read as an
    addition, unless it begins with all of that.
    """

    def __init__(self) -> None:
        self._heard: dict[str, _Heard] = {}
        self._calls: dict[str, _Content] = {}
        # The tool calls that show terminals, by the terminals' ids, and the output of those that none shows yet.
        self._owners: dict[str, str] = {}
        self._unshown: dict[str, list[str]] = {}
        self._decoders: dict[str, codecs.IncrementalDecoder] = {}

    def read(self, update: JsonObject) -> Iterator[JsonObject]:
        """Yields the updates of version 1 that say the same as an update."""
        match update.get("sessionUpdate"):
            case "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk":
                self._of(as_text(update.get("messageId"))).add(_text_of(update.get("content")).encode())
                yield update
            case "user_message" | "agent_message" | "agent_thought":
                yield from self._message(update)
            case "tool_call_update":
                yield from self._call(update)
            case "tool_call_content_chunk":
                yield from self._chunk(as_text(update.get("toolCallId")), update.get("content"))
            case "terminal_update" | "terminal_output_chunk":
                yield from self._terminal(update)
            case "config_option_update":
                yield opened_as_v1(update)
            case _:
                yield update

    def rest(self) -> Iterator[JsonObject]:
        """Yields, when a turn ends, the updates that no other update has caused."""
        for call_id, content in self._calls.items():
            if content.unsent:
                yield content.sent(call_id)

    def _of(self, text_id: str) -> _Heard:
        if text_id not in self._heard and len(self._heard) >= _MOST_HEARD:
            del self._heard[next(iter(self._heard))]
        return self._heard.setdefault(text_id, _Heard())

    def _message(self, update: JsonObject) -> Iterator[JsonObject]:
        kind = _MESSAGES[as_text(update.get("sessionUpdate"))]
        heard = self._of(as_text(update.get("messageId")))
        for content in as_objects(update.get("content")):
            whole = _text_of(content).encode()
            rest = heard.rest_of(whole)
            heard.add(rest)
            if rest or not whole:
                said = {**content, "text": rest.decode(errors="replace")} if whole else content
                yield {"sessionUpdate": kind, "messageId": update.get("messageId"), "content": said}

    def _call(self, update: JsonObject) -> Iterator[JsonObject]:
        call_id = as_text(update.get("toolCallId"))
        known = self._calls.setdefault(call_id, _Content())
        said = dict(update)
        if "content" in update:
            known.parts = [part for given in as_objects(update["content"]) for part in _parts(given)]
        if "content" in update or known.unsent:
            said["content"] = known.sent(call_id)["content"]
        if said.get("status") == "cancelled":
            said["status"] = "failed"
        shown = [as_text(part.get("terminalId")) for part in known.parts if part.get("type") == "terminal"]
        yield said
        # Some agents give a terminal the id of its call, and don't show it.
        for terminal_id in (*shown, call_id):
            self._owners[terminal_id] = call_id
            if output := "".join(self._unshown.pop(terminal_id, ())):
                yield _output(call_id, terminal_id, output)

    def _chunk(self, call_id: str, chunk: Any) -> Iterator[JsonObject]:
        """Yields the call's content so far, but not for each chunk, or long output would be copied very often."""
        known = self._calls.setdefault(call_id, _Content())
        parts = list(_parts(as_object(chunk)))
        known.parts += parts
        known.unsent += len(parts)
        if 2 * known.unsent > len(known.parts):
            yield known.sent(call_id)

    def _terminal(self, update: JsonObject) -> Iterator[JsonObject]:
        terminal_id = as_text(update.get("terminalId"))
        is_piece = update.get("sessionUpdate") == "terminal_output_chunk"
        given = update if is_piece else as_object(update.get("output"))
        try:
            data = base64.b64decode(as_text(given.get("data")))
        except ValueError:
            return
        heard = self._of(terminal_id)
        data = data if is_piece else heard.rest_of(data)
        heard.add(data)
        decoder = self._decoders.setdefault(terminal_id, _DECODER("replace"))
        if not (text := decoder.decode(data)):
            return
        if terminal_id in self._owners:
            yield _output(self._owners[terminal_id], terminal_id, text)
        else:
            self._unshown.setdefault(terminal_id, []).append(text)


class _Content:
    """A tool call's content in the shape of version 1, and how many parts at its end were not sent yet."""

    def __init__(self) -> None:
        self.parts: list[JsonObject] = []
        self.unsent = 0

    def sent(self, call_id: str) -> JsonObject:
        self.unsent = 0
        return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": list(self.parts)}


def _text_of(content: Any) -> str:
    return as_text(as_object(content).get("text"))


def _parts(content: JsonObject) -> Iterator[JsonObject]:
    """Yields a tool call's content in the shape of version 1. A diff of several files becomes one diff for each file,
    and the first of them has the text of the whole patch."""
    if content.get("type") != "diff":
        yield content
        return
    patch = as_text(as_object(content.get("patch")).get("text"))
    for change in as_objects(content.get("changes")):
        yield {"type": "diff", "path": change.get("path"), "newText": patch}
        patch = ""


def _output(call_id: str, terminal_id: str, text: str) -> JsonObject:
    piece = {"terminal_id": terminal_id, "data": text}
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "_meta": {"terminal_output": piece}}


def update_as_v2(update: JsonObject, new_id: NewId) -> JsonObject | None:
    """Returns a session update in the shape of version 2, or None if version 2 says the same by other means. `new_id`
    makes the id of a message whose chunk has none."""
    said: JsonObject | None = update
    match update.get("sessionUpdate"):
        case kind if kind in _CHUNKS and not update.get("messageId"):
            said = {**update, "messageId": new_id()}
        case "tool_call":
            said = {**update, "sessionUpdate": "tool_call_update"}
        case "plan":
            rest = {name: value for name, value in update.items() if name != "entries"}
            plan = {"type": "items", "planId": _PLAN, "entries": update.get("entries")}
            said = {**rest, "sessionUpdate": "plan_update", "plan": plan}
        case "available_commands_update":
            commands = [_command_as_v2(command) for command in as_objects(update.get("availableCommands"))]
            said = {**update, "availableCommands": commands}
        case "config_option_update":
            said = opened_as_v2(update)
        case "current_mode_update":
            said = None
        case _:
            pass
    return said


def opened_as_v2(result: JsonObject) -> JsonObject:
    """Returns the result of a request that opens a session or sets an option, or an update of the options, in the shape
    of version 2. There are no modes in version 2."""
    said = {name: value for name, value in result.items() if name != "modes"}
    if "configOptions" in result:
        said["configOptions"] = [_option_as_v2(option) for option in as_objects(result.get("configOptions"))]
    return said


def question_as_v2(params: JsonObject) -> JsonObject:
    """Returns `session/request_permission` as version 2 has it: a title, and the tool call as its subject."""
    call = as_object(params.get("toolCall"))
    said = {name: value for name, value in params.items() if name != "toolCall"}
    title = call.get("title") or "Allow this tool call?"
    return {**said, "title": title, "subject": {"type": "tool_call", "toolCall": call}}


def _command_as_v2(command: JsonObject) -> JsonObject:
    given = {"type": "command", **command}
    taken = command.get("input")
    return {**given, "input": {"type": "text", **as_object(taken)}} if taken else given


def _option_as_v2(option: JsonObject) -> JsonObject:
    said = {name: value for name, value in option.items() if name != "id"}
    if "id" in option:
        said["configId"] = option["id"]
    if isinstance(options := option.get("options"), list):
        said["options"] = [_choice_as_v2(choice) for choice in as_objects(options)]
    return said


def _choice_as_v2(choice: JsonObject) -> JsonObject:
    """Returns a choice, or a group of choices, whose id has another name in version 2."""
    if "group" not in choice:
        return choice
    said: dict[str, Any] = {name: value for name, value in choice.items() if name != "group"}
    return {**said, "groupId": choice["group"]}
