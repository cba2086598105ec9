"""Adds Ullage's hooks, status line and MCP server to settings in JSON, and takes them out again."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_list, as_object
from ullage.wire.entries import Added, HookEntry, McpServer
from ullage.wire.json_edits import add_child, remove_child, replace_value
from ullage.wire.json_text import Node, is_blank, read_text

_HOOKS, _LINE = "hooks", "statusLine"
_EMPTY = "{}\n"


class Place(Struct, frozen=True, kw_only=True):
    """Where a handler of ours is: its event, its group's place there, and its own place in the group."""

    event: str
    group: int
    handler: int


def add(text: str, added: Added) -> str:
    """Returns the settings with what is added. An empty text becomes settings of its own. Raises `InvalidRequest` if
    this can't be added to the text."""
    text = text + _EMPTY if is_blank(text) else text
    for hook in added.hooks:
        text = _add_hook(text, hook)
    if added.status_line:
        text = _set_line(text, added.status_line)
    return _add_server(text, added.mcp) if added.mcp else text


def take_out(text: str, added: Added, before: str) -> str:
    """Returns the settings without what was added to `before`, whatever else has changed since. Objects and lists that
    are empty then stay only if `before` had them. An empty text has nothing in it to take out. Raises `InvalidRequest`
    if the text is not JSON."""
    if is_blank(text):
        return text
    old = _value(before)
    commands = [hook.command for hook in added.hooks]
    while (place := next(_places(read_text(text), commands), None)) is not None:
        text = _remove_handler(text, place, old)
    if added.status_line:
        text = _restore_line(text, added.status_line, old)
    return _remove_server(text, added.mcp, old) if added.mcp else text


def old_line(text: str) -> str:
    """Returns the command of the status line in settings; "" if there is none."""
    command = as_object(_value(text).get(_LINE)).get("command")
    return command if isinstance(command, str) else ""


def _add_hook(text: str, hook: HookEntry) -> str:
    root = _root(text)
    handler = {"type": "command", "command": hook.command, "timeout": hook.timeout}
    matcher = {"matcher": hook.matcher} if hook.matcher else {}
    group: dict[str, Any] = {**matcher, "hooks": [handler]}
    hooks = root.member(_HOOKS)
    if hooks is None:
        return add_child(text, root, {hook.event: [group]}, _HOOKS)
    _demand(hooks.is_object, f'"{_HOOKS}" is not an object')
    groups = hooks.member(hook.event)
    if groups is None:
        return add_child(text, hooks, [group], hook.event)
    _demand(groups.is_list, f'"{hook.event}" is not a list')
    return text if group in groups.value else add_child(text, groups, group)


def _set_line(text: str, command: str) -> str:
    root = _root(text)
    line = root.member(_LINE)
    if line is None:
        return add_child(text, root, {"type": "command", "command": command}, _LINE)
    _demand(line.is_object, f'"{_LINE}" is not an object')
    node = line.member("command")
    return add_child(text, line, command, "command") if node is None else replace_value(text, node, command)


def _restore_line(text: str, command: str, old: dict[str, Any]) -> str:
    """Puts the status line's command of before back, unless the user has chosen another one since."""
    root = _root(text)
    line = root.member(_LINE)
    node = line.member("command") if line else None
    if line is None or node is None or node.value != command:
        return text
    before = as_object(old.get(_LINE))
    if "command" in before:
        return replace_value(text, node, before["command"])
    if _LINE in old:
        return remove_child(text, line, line.keys.index("command"))
    return remove_child(text, root, root.keys.index(_LINE))


def _add_server(text: str, server: McpServer) -> str:
    """Adds a server, unless the user has one of its name."""
    root, key, entry = _root(text), server.place.key, _entry(server)
    servers = root.member(key)
    if servers is None:
        return add_child(text, root, {server.name: entry}, key)
    _demand(servers.is_object, f'"{key}" is not an object')
    return text if server.name in servers.value else add_child(text, servers, entry, server.name)


def _remove_server(text: str, server: McpServer, old: dict[str, Any]) -> str:
    """Removes the server that was added, unless it has become another one since."""
    root, key = _root(text), server.place.key
    servers = root.member(key)
    found = as_object(servers.value.get(server.name)) if servers and servers.is_object else {}
    # The user may have added to the entry.
    ours = found and all(found.get(name) == value for name, value in _entry(server).items())
    if servers is None or not ours or server.name in as_object(old.get(key)):
        return text
    if len(servers.children) > 1 or key in old:
        return remove_child(text, servers, servers.keys.index(server.name))
    return remove_child(text, root, root.keys.index(key))


def _entry(server: McpServer) -> dict[str, Any]:
    """Returns a server as settings have it."""
    if server.place.kind:
        return {"type": server.place.kind, "command": [server.command, *server.arguments]}
    exposure = {"exposure": server.place.exposure} if server.place.exposure else {}
    return {"command": server.command, "args": [*server.arguments], **exposure}


def find_handlers(text: str, added: Added) -> list[Place]:
    """Returns where the hooks that were added are in settings. Raises `InvalidRequest` if the text is not JSON."""
    commands = [hook.command for hook in added.hooks]
    return [*_places(read_text(text), commands)] if commands else []


def _places(root: Node, commands: Sequence[str]) -> Iterator[Place]:
    for event, groups in as_object(as_object(root.value).get(_HOOKS)).items():
        for number, group in enumerate(as_list(groups)):
            for place, handler in enumerate(as_list(as_object(group).get(_HOOKS))):
                if as_object(handler).get("command") in commands:
                    yield Place(event=event, group=number, handler=place)


def _remove_handler(text: str, place: Place, old: dict[str, Any]) -> str:
    """Removes a handler, and what has nothing else in it: its group, then its event and the object of hooks unless they
    were there before."""
    root = _root(text)
    hooks = root.member(_HOOKS)
    groups = hooks.member(place.event) if hooks else None
    handlers = groups.children[place.group].member(_HOOKS) if groups else None
    if hooks is None or groups is None or handlers is None:
        return text
    if len(handlers.children) > 1:
        return remove_child(text, handlers, place.handler)
    if len(groups.children) > 1 or place.event in as_object(old.get(_HOOKS)):
        return remove_child(text, groups, place.group)
    if len(hooks.children) > 1 or _HOOKS in old:
        return remove_child(text, hooks, hooks.keys.index(place.event))
    return remove_child(text, root, root.keys.index(_HOOKS))


def _value(text: str) -> dict[str, Any]:
    """Returns the settings in a text, which may be empty."""
    return {} if is_blank(text) else as_object(read_text(text).value)


def _root(text: str) -> Node:
    root = read_text(text)
    _demand(root.is_object, "it is not an object")
    return root


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvalidRequest(otherwise)
