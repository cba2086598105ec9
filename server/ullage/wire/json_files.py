"""Adds Ullage's hooks, status line and MCP server to settings in JSON, and takes them out again.

The text is read with the places of its values and changed in one place at a time, so that everything else stays as it
is. Comments and trailing commas, which the agents' own readers may or may not take, are passed over.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.json_values import as_list, as_object
from ullage.wire.plan import Added, HookEntry, McpServer

_HOOKS, _LINE = "hooks", "statusLine"
# Seconds after which Claude Code draws its status line again: what time changes is shown in minutes.
_REDRAWN = 60
_EMPTY = "{}\n"
# The indentation where a text shows none.
_USUAL = "  "
_BLANK = " \t\r\n"
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,\[\]{}:\"/]+")
# The white space at the beginning of a line.
_INDENTED = re.compile(r"^[ \t]+(?=\S)", re.MULTILINE)
# How the names begin of what is changed inside.
_CHANGED = (_HOOKS, _LINE, "mcp")


def _no_constant(name: str) -> None:
    raise ValueError(name)


# JSON as the standard has it, without NaN and infinity.
_PLAIN = json.JSONDecoder(parse_constant=_no_constant)
# Settings are nested a few levels deep.
_DEEPEST = 100


class Node(Struct, frozen=True, kw_only=True):
    """A value of a JSON text, from `start` up to `end`. A container has its `children`, and `keys` for each of them if
    it is an object. `value` is the value itself. `begins` are the places at which the children begin, with their
    keys."""

    start: int
    end: int
    value: Any
    keys: tuple[str, ...] = ()
    children: tuple["Node", ...] = ()
    begins: tuple[int, ...] = ()

    def member(self, key: str) -> "Node | None":
        """Returns the value under a key, the last one if there are several, or None."""
        found = [child for name, child in zip(self.keys, self.children, strict=False) if name == key]
        return found[-1] if found else None

    @property
    def is_object(self) -> bool:
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.value, list)


class Place(Struct, frozen=True, kw_only=True):
    """Where a handler of ours is: its event, its group's place there, and its own place in the group."""

    event: str
    group: int
    handler: int


def add(text: str, added: Added) -> str:
    """Returns the settings ("": new ones) with what is added. Raises `InvalidRequest` if that can't be."""
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
    old = _settings_in(before)
    commands = [hook.command for hook in added.hooks]
    while (place := next(_handlers(read_text(text), commands), None)) is not None:
        text = _remove_handler(text, place, old)
    if added.status_line:
        text = _restore_line(text, added.status_line, old)
    return _remove_server(text, added.mcp, old) if added.mcp else text


def old_line(text: str) -> str:
    """Returns the command of the status line in settings; "" if there is none."""
    command = as_object(_settings_in(text).get(_LINE)).get("command")
    return command if isinstance(command, str) else ""


def _add_hook(text: str, hook: HookEntry) -> str:
    root = _root(text)
    shell = {"shell": hook.shell} if hook.shell else {}
    handler = {"type": "command", "command": hook.command, **shell, "timeout": hook.timeout}
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
        return add_child(text, root, {"type": "command", "command": command, "refreshInterval": _REDRAWN}, _LINE)
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
    root, key, entry = _root(text), server.place.key, _server_entry(server)
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
    ours = found and all(found.get(name) == value for name, value in _server_entry(server).items())
    if servers is None or not ours or server.name in as_object(old.get(key)):
        return text
    if len(servers.children) > 1 or key in old:
        return remove_child(text, servers, servers.keys.index(server.name))
    return remove_child(text, root, root.keys.index(key))


def _server_entry(server: McpServer) -> dict[str, Any]:
    if server.place.kind:
        return {"type": server.place.kind, "command": [server.command, *server.arguments]}
    exposure = {"exposure": server.place.exposure} if server.place.exposure else {}
    return {"command": server.command, "args": [*server.arguments], **exposure}


def find_handlers(text: str, added: Added) -> list[Place]:
    """Returns where the hooks that were added are in settings. Raises `InvalidRequest` if the text is not JSON."""
    commands = [hook.command for hook in added.hooks]
    return [*_handlers(read_text(text), commands)] if commands else []


def _handlers(root: Node, commands: Sequence[str]) -> Iterator[Place]:
    for event, groups in as_object(as_object(root.value).get(_HOOKS)).items():
        for number, group in enumerate(as_list(groups)):
            for place, handler in enumerate(as_list(as_object(group).get(_HOOKS))):
                if as_object(handler).get("command") in commands:
                    yield Place(event=event, group=number, handler=place)


def _remove_handler(text: str, place: Place, old: dict[str, Any]) -> str:
    """Removes a handler, and what it leaves empty: its group, the event and the hooks if they were not there."""
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


def _settings_in(text: str) -> dict[str, Any]:
    """Returns the settings in a text, which may be empty."""
    return {} if is_blank(text) else as_object(read_text(text).value)


def _root(text: str) -> Node:
    root = read_text(text)
    _demand(root.is_object, "it is not an object")
    return root


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise InvalidRequest(otherwise)


def add_child(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """Returns the text with a value at a container's end, written as it is; under `key` if it is an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    head = f"{_written(key)}: " if key is not None else ""
    last = _last_inside(text, container)
    inside = text[container.start + 1 : container.end - 1]
    if container.children and "\n" not in inside:
        return _insert(text, last, f"{_needed_comma(text, container)} {head}{_written(value)}")
    outer = _indentation(text, container.start)
    if container.children:
        begin = container.begins[-1]
        own = _indentation(text, begin) if _begins_line(text, begin) else outer + _indentation_unit(text)
    else:
        own = outer + _indentation_unit(text)
    body = json.dumps(value, indent=_indentation_unit(text), ensure_ascii=False).replace("\n", f"{newline}{own}")
    comma = _needed_comma(text, container)
    added = f"{newline}{own}{head}{body}"
    if "\n" not in text[last : container.end - 1]:
        added += f"{newline}{outer}"
    if not comma:
        return _insert(text, last, added)
    end = container.children[-1].end
    return f"{text[:end]}{comma}{text[end:last]}{added}{text[last:]}"


def remove_child(text: str, container: Node, place: int) -> str:
    """Returns the text without a child, its white space before and one comma. Comments stay."""
    begin, end = container.begins[place], container.children[place].end
    after = skip_space(text, end)
    spans = [(begin, end)]
    if text[after : after + 1] == ",":
        spans.append((after, after + 1))
    elif place:
        comma = skip_space(text, container.children[place - 1].end)
        spans.append((comma, comma + 1))
    blank = len(text[:begin].rstrip(_BLANK))
    # The line break after a comment ends it.
    if text[blank - 1] in "{[,":
        spans.append((blank, begin))
    close = container.end - 1
    if len(container.children) == 1 and not (text[container.start + 1 : begin] + text[end:close]).strip(f"{_BLANK},"):
        spans = [(container.start + 1, close)]
    for start, stop in sorted(spans, reverse=True):
        text = text[:start] + text[stop:]
    return text


def replace_value(text: str, node: Node, value: Any) -> str:
    """Returns the text with another value in place of one."""
    return f"{text[: node.start]}{_written(value)}{text[node.end :]}"


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _insert(text: str, at: int, added: str) -> str:
    return f"{text[:at]}{added}{text[at:]}"


def _needed_comma(text: str, container: Node) -> str:
    """Returns the comma that the last child of a container needs before another one."""
    if not container.children:
        return ""
    after = skip_space(text, container.children[-1].end)
    return "" if text[after : after + 1] == "," else ","


def _last_inside(text: str, container: Node) -> int:
    """Returns the place after the last character inside a container that is not white space."""
    inside = text[: container.end - 1].rstrip(_BLANK)
    return len(inside)


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t\ufeff")


def _indentation(text: str, at: int) -> str:
    """Returns the white space at the beginning of the line of a place."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _indentation_unit(text: str) -> str:
    """Returns the indentation of one level: that of the first indented line."""
    found = _INDENTED.search(text)
    return found[0] if found else _USUAL


def read_text(text: str) -> Node:
    """Returns the value of a JSON text. Raises `InvalidRequest` if the text is not JSON."""
    node = _read(text, skip_space(text, 0), 0)
    rest = skip_space(text, node.end)
    if rest != len(text):
        raise _wrong(text, rest)
    return node


def is_blank(text: str) -> bool:
    """Returns whether a text has nothing but white space, or a byte order mark: settings that were never written."""
    return not text.strip("\ufeff \t\r\n")


def has_comments(text: str) -> bool:
    """Returns whether a JSON text has a comment."""
    return "/" in _STRING.sub("", text)


def skip_space(text: str, at: int) -> int:
    """Returns the place of the next character that is neither white space nor in a comment."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _read(text: str, at: int, depth: int) -> Node:
    if depth > _DEEPEST:
        raise _wrong(text, at)
    if text[at : at + 1] in ("{", "["):
        return _read_container(text, at, depth)
    found = _STRING.match(text, at) or _WORD.match(text, at)
    if found is None:
        raise _wrong(text, at)
    try:
        value = msgspec.json.decode(found[0])
    except (msgspec.DecodeError, UnicodeError):
        raise _wrong(text, at) from None
    return Node(start=at, end=found.end(), value=value)


def _read_container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    keys, children, begins = list[str](), list[Node](), list[int]()
    at = skip_space(text, start + 1)
    while text[at : at + 1] != closing:
        begins.append(at)
        if is_object:
            key = _read(text, at, depth + 1)
            at = skip_space(text, key.end)
            if not isinstance(key.value, str) or text[at : at + 1] != ":":
                raise _wrong(text, at)
            keys.append(key.value)
            at = skip_space(text, at + 1)
        is_whole = is_object and depth == 0 and not keys[-1].startswith(_CHANGED)
        child = (_read_whole(text, at) if is_whole else None) or _read(text, at, depth + 1)
        children.append(child)
        at = skip_space(text, child.end)
        if text[at : at + 1] == ",":
            at = skip_space(text, at + 1)
        elif text[at : at + 1] != closing:
            raise _wrong(text, at)
    values = [child.value for child in children]
    return Node(
        start=start,
        end=at + 1,
        value=dict(zip(keys, values, strict=True)) if is_object else values,
        keys=tuple(keys),
        children=tuple(children),
        begins=tuple(begins),
    )


def _read_whole(text: str, at: int) -> Node | None:
    """Reads an object or a list without the places inside, which takes a tenth of the time and memory. Returns None if
    it is none, or has comments or another thing that plain JSON has not."""
    if text[at : at + 1] not in ("{", "["):
        return None
    try:
        value, end = _PLAIN.raw_decode(text, at)
    except (ValueError, RecursionError):
        return None
    return Node(start=at, end=end, value=value)


def _wrong(text: str, at: int) -> InvalidRequest:
    return InvalidRequest(f"not JSON in line {text.count(chr(10), 0, at) + 1}")
