"""Changes of a JSON text in one place: a child added to a container, a child taken out, a value replaced."""

import json
from typing import Any

from ullage.wire.json_text import Node, skip_space

# The indentation where a text shows none.
_USUAL = "  "
_BLANK = " \t\r\n"


def add_child(text: str, container: Node, value: Any, key: str | None = None) -> str:
    """Returns the text with a value added at the end of a container, in the way that the container is written; under
    `key` if it is an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    head = f"{_written(key)}: " if key is not None else ""
    last = _last_inside(text, container)
    inside = text[container.start + 1 : container.end - 1]
    if container.children and "\n" not in inside:
        return _insert(text, last, f"{_comma(text, container)} {head}{_written(value)}")
    outer = _indentation(text, container.start)
    if container.children:
        begin = container.begins[-1]
        own = _indentation(text, begin) if _begins_line(text, begin) else outer + _unit(text)
    else:
        own = outer + _unit(text)
    body = json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"{newline}{own}")
    comma = _comma(text, container)
    added = f"{newline}{own}{head}{body}"
    if "\n" not in text[last : container.end - 1]:
        added += f"{newline}{outer}"
    if not comma:
        return _insert(text, last, added)
    end = container.children[-1].end
    return f"{text[:end]}{comma}{text[end:last]}{added}{text[last:]}"


def remove_child(text: str, container: Node, place: int) -> str:
    """Returns the text without a child of a container, the white space before it and one comma next to it. Comments
    stay."""
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


def _comma(text: str, container: Node) -> str:
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


def _unit(text: str) -> str:
    """Returns the indentation of one level: that of the first indented line."""
    for line in text.splitlines():
        if line[:1] in (" ", "\t") and line.strip():
            return line[: len(line) - len(line.lstrip(" \t"))]
    return _USUAL
