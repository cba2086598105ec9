"""A JSON text with the places of its values, so that it can be changed without being written again.

Comments and trailing commas, which the agents' own readers may or may not take, are passed over.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from ullage.model.errors import InvalidRequest

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_WORD = re.compile(r"[^\s,\[\]{}:\"/]+")
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
        """Whether the value is an object."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, list)


def read_text(text: str) -> Node:
    """Returns the value of a JSON text. Raises `InvalidRequest` if the text is not JSON."""
    node = _read(text, _skip(text, 0), 0)
    rest = _skip(text, node.end)
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
    return _skip(text, at)


def _skip(text: str, at: int) -> int:
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
    at = _skip(text, start + 1)
    while text[at : at + 1] != closing:
        begins.append(at)
        if is_object:
            key = _read(text, at, depth + 1)
            at = _skip(text, key.end)
            if not isinstance(key.value, str) or text[at : at + 1] != ":":
                raise _wrong(text, at)
            keys.append(key.value)
            at = _skip(text, at + 1)
        child = _read(text, at, depth + 1)
        children.append(child)
        at = _skip(text, child.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
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


def _wrong(text: str, at: int) -> InvalidRequest:
    return InvalidRequest(f"not JSON in line {text.count(chr(10), 0, at) + 1}")
