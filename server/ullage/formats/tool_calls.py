"""Reads the tool calls of an answer while it is streamed: calls that the provider marks (`NativeCalls`), and calls that
a model writes into its text (`CallsInText`), as XML tags or caret fences.

The scanner of texts holds back only text that might be the beginning of a tag or fence and returns all other text at
once. A call's body is read parameter by parameter, so a parameter's text may look like a tag or fence itself. It is
converted to the type that the tool's JSON Schema gives the parameter.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from ullage.formats.parsing import to_json
from ullage.model.answer import Fragment, TextDelta, ToolInputDelta, ToolUseEnd, ToolUseStart
from ullage.model.json_values import as_object, as_text, flatten_depths, is_too_deep
from ullage.model.message import ToolDefinition, ToolUseBlock

CUT_OFF = "it was cut off before its end"


class CallOpening(Struct, frozen=True):
    """The opening of a tool call: its place (`start` to `end`, excluded) in the text, and the tool's name."""

    start: int
    end: int
    name: str = ""


class Parameter(Struct, frozen=True):
    """The next part of a call's body: a parameter with its whole text, or the end of the call if `name` is None.
    Reading continues at the index `end` of the body."""

    end: int
    name: str | None = None
    text: str = ""


class Syntax(Protocol):
    """A way of writing tool calls into text. One implementation reads XML tags, another caret fences.

    The text given to `find_call` and `certain` begins with the character before the new text, so that a syntax can
    recognise the start of a line. If `final` is true, no more text follows.
    """

    def find_call(self, text: str, names: frozenset[str], *, final: bool) -> CallOpening | None:
        """Returns the first complete opening in `text` of a call of a tool in `names`, or None."""
        ...

    def certain(self, text: str) -> int:
        """Returns how many characters of `text` cannot be part of a call's opening, whatever text follows. The rest is
        held back."""
        ...

    def next_parameter(self, body: str, call: str, /, *, final: bool) -> Parameter | None:
        """Returns the call's next complete parameter or its end, or None if more text is needed. `call` is the tool."""
        ...

    def write(self, use: ToolUseBlock) -> str:
        """Returns a tool call as a model would write it in this syntax."""
        ...

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        """Returns the text that shows a model which tools there are and how to call them in this syntax."""
        ...


class _Call(Struct):
    start: ToolUseStart
    input: dict[str, Any]


class CallsInText:
    """Turns a model's streamed text into fragments: text, and the tool calls that are written in it. The ids of calls
    are `prefix` and a number."""

    def __init__(self, syntax: Syntax, tools: Sequence[ToolDefinition], prefix: str) -> None:
        self._syntax = syntax
        self._types = ParameterTypes(tools)
        self._prefix = prefix
        self._made = 0
        self._before = "\n"
        self._rest = ""
        self._call: _Call | None = None

    def feed(self, text: str) -> list[Fragment]:
        """Adds the next chunk of text. Returns the fragments that no later text can change."""
        self._rest += text
        return self._scan(final=False)

    def end(self) -> list[Fragment]:
        """Ends the text. Returns the remaining fragments; an unfinished call ends with an error."""
        fragments = self._scan(final=True)
        if self._call is not None:
            fragments += [*self._input(self._rest), self._close(CUT_OFF)]
        elif self._rest:
            fragments.append(TextDelta(text=self._rest))
        self._rest = ""
        return fragments

    def _scan(self, *, final: bool) -> list[Fragment]:
        fragments: list[Fragment] = []
        while True:
            step = self._read_text(final=final) if self._call is None else self._read_call(final=final)
            if step is None:
                return fragments
            fragments += step

    def _read_text(self, *, final: bool) -> list[Fragment] | None:
        text = self._before + self._rest
        found = self._syntax.find_call(text, self._types.names, final=final)
        if found is None:
            return self._pass_on(self._syntax.certain(text) - 1) or None
        self._made += 1
        start = ToolUseStart(id=f"{self._prefix}{self._made}", name=found.name)
        self._call = _Call(start, {})
        said = self._pass_on(found.start - 1)
        self._skip(found.end - found.start)
        return [*said, start]

    def _pass_on(self, length: int) -> list[Fragment]:
        text = self._skip(length)
        return [TextDelta(text=text)] if text else []

    def _skip(self, length: int) -> str:
        text, self._rest = self._rest[:length], self._rest[length:]
        self._before = text[-1:] or self._before
        return text

    def _read_call(self, *, final: bool) -> list[Fragment] | None:
        assert self._call is not None
        name = self._call.start.name
        parameter = self._syntax.next_parameter(self._rest, name, final=final)
        if parameter is None:
            return None
        written = self._input(self._skip(parameter.end))
        if parameter.name is None:
            return [*written, self._close()]
        self._call.input[parameter.name] = self._types.read(name, parameter.name, parameter.text)
        return written

    def _input(self, text: str) -> list[Fragment]:
        assert self._call is not None
        return [ToolInputDelta(id=self._call.start.id, text=text)] if text else []

    def _close(self, error: str = "") -> ToolUseEnd:
        assert self._call is not None
        start, given = self._call.start, self._call.input
        self._call = None
        return ToolUseEnd(id=start.id, name=start.name, input={} if error else given, error=error)


_AS_JSON = frozenset({"integer", "number", "boolean", "array", "object", "null"})


class ParameterTypes:
    """The JSON types of the parameters of all tools, by their schemas."""

    def __init__(self, tools: Sequence[ToolDefinition]) -> None:
        self._types: Mapping[str, Mapping[str, str]] = {
            tool.name: {
                name: as_text(as_object(schema).get("type"))
                for name, schema in as_object(tool.input_schema.get("properties")).items()
            }
            for tool in tools
        }

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self._types)

    def read(self, tool: str, parameter: str, text: str) -> Any:
        """Returns the value that a model wrote as `text` for a parameter: decoded as JSON if the parameter's type is
        not a string.

        Text that isn't JSON, or is nested too deeply, stays text, so that the tool can refuse it.
        """
        if self._types.get(tool, {}).get(parameter) not in _AS_JSON:
            return text
        try:
            value = msgspec.json.decode(text.strip())
        except (msgspec.DecodeError, RecursionError):
            return text
        return text if is_too_deep(value) else value


_TAG = re.compile(r"<([A-Za-z_][\w-]*)>")
_PARTIAL_TAG = re.compile(r"<(?:[A-Za-z_][\w-]*)?\Z")


class XmlTags:
    """The syntax in which a model writes tool calls into its text as XML tags:
    `<read_file><path>a.py</path></read_file>`. The outer tag is the tool's name, the inner tags are its parameters.
    Values are not escaped; one newline at each end of a value is dropped."""

    def find_call(self, text: str, names: frozenset[str], **_: bool) -> CallOpening | None:
        return next((CallOpening(m.start(), m.end(), m[1]) for m in _TAG.finditer(text) if m[1] in names), None)

    def certain(self, text: str) -> int:
        partial = _PARTIAL_TAG.search(text)
        return partial.start() if partial else len(text)

    def next_parameter(self, body: str, call: str, /, **_: bool) -> Parameter | None:
        tag = re.compile(rf"<([A-Za-z_][\w-]*)>|</{re.escape(call)}>").search(body)
        if tag is None:
            return None
        if tag[1] is None:
            return Parameter(end=tag.end())
        closing = f"</{tag[1]}>"
        end = body.find(closing, tag.end())
        if end < 0:
            return None
        text = body[tag.end() : end].removeprefix("\n").removesuffix("\n")
        return Parameter(end=end + len(closing), name=tag[1], text=text)

    def write(self, use: ToolUseBlock) -> str:
        inside = "".join(f"<{name}>{_write_tag_value(value)}</{name}>" for name, value in use.input.items())
        return f"<{use.name}>{inside}</{use.name}>"

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        lines = ["Call a tool by writing its name as a tag, with a tag for each parameter inside:"]
        for tool in tools:
            names = as_object(tool.input_schema.get("properties"))
            inside = "".join(f"<{name}>…</{name}>" for name in names)
            lines.append(f"<{tool.name}>{inside}</{tool.name}>  {tool.description}")
        return "\n".join(lines)


def _write_tag_value(value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value)
    return f"\n{text}\n" if "\n" in text else text


_FENCE = re.compile(r"(?<=\n)\^\^\^([A-Za-z_][\w-]*)[ \t]*\r?\n")
_LAST_FENCE = re.compile(r"(?<=\n)\^\^\^([A-Za-z_][\w-]*)[ \t]*\r?\Z")
_PARTIAL_FENCE = re.compile(r"(?<=\n)(?:\^{1,2}|\^\^\^(?:[A-Za-z_][\w-]*)?[ \t]*\r?)\Z")
_CLOSING = re.compile(r"\^\^\^[ \t]*\r?")
_BLOCK = re.compile(r"([A-Za-z_][\w-]*)[ \t]+---[ \t]*\r?")
_VALUE = re.compile(r"([A-Za-z_][\w-]*):[ \t]?(.*)")


class CaretFences:
    """The syntax in which a model writes tool calls into its text between fences of three carets.

    For example::

        ^^^write_note
        path: notes/today.md
        content ---
        First line.
        --- content
        ^^^

    A fence, a parameter's line and the end of a block each have a line of their own.
    """

    def find_call(self, text: str, names: frozenset[str], *, final: bool) -> CallOpening | None:
        for match in _FENCE.finditer(text):
            if match[1] in names:
                return CallOpening(match.start(), match.end(), match[1])
        last = _LAST_FENCE.search(text) if final else None
        return CallOpening(last.start(), last.end(), last[1]) if last and last[1] in names else None

    def certain(self, text: str) -> int:
        partial = _PARTIAL_FENCE.search(text)
        return partial.start() if partial else len(text)

    def next_parameter(self, body: str, _call: str, /, *, final: bool) -> Parameter | None:
        at = 0
        while (end := _line_end(body, at, final=final)) is not None:
            line = body[at:end].removesuffix("\n")
            if _CLOSING.fullmatch(line):
                return Parameter(end=end)
            if block := _BLOCK.fullmatch(line):
                return _read_block(body, end, block[1], final=final)
            if value := _VALUE.fullmatch(line.removesuffix("\r")):
                return Parameter(end=end, name=value[1], text=value[2])
            at = end
        return None

    def write(self, use: ToolUseBlock) -> str:
        lines = (_write_parameter(name, value) for name, value in use.input.items())
        return "\n".join([f"^^^{use.name}", *lines, "^^^"])

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        lines = ["Call a tool with a fence; a value of several lines goes between `name ---` and `--- name`:"]
        for tool in tools:
            names = as_object(tool.input_schema.get("properties"))
            lines += ["", tool.description, f"^^^{tool.name}", *(f"{name}: …" for name in names), "^^^"]
        return "\n".join(lines)


def _write_parameter(name: str, value: Any) -> str:
    text = value if isinstance(value, str) else to_json(value)
    plain = text == text.strip() and len(text.splitlines()) == 1
    return f"{name}: {text}" if plain else f"{name} ---\n{text}\n--- {name}"


def _line_end(body: str, at: int, *, final: bool) -> int | None:
    """Returns the index after the line that begins at `at`, its newline included.

    `final` says that no more text will come, so the last line needs no newline. Returns None if the line may still
    grow, or if no text is left at `at`.
    """
    newline = body.find("\n", at)
    if newline >= 0:
        return newline + 1
    return len(body) if final and at < len(body) else None


def _read_block(body: str, start: int, name: str, *, final: bool) -> Parameter | None:
    """Returns the parameter `name`, whose text begins at `start` and ends before the line `--- name`, or None if that
    line hasn't come yet. `final` says that no more text will come."""
    last = r"(?:\n|\Z)" if final else r"\n"
    closing = re.compile(rf"(?<=\n)---[ \t]+{re.escape(name)}[ \t]*\r?{last}").search(body, start)
    if closing is None:
        return None
    text = body[start : closing.start()].removesuffix("\n").removesuffix("\r")
    return Parameter(end=closing.end(), name=name, text=text)


class NativeCalls:
    """Collects the inputs of tool calls that arrive in pieces of JSON. `key` is the provider's number for the call."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[ToolUseStart, list[str]]] = {}

    def start(self, key: str, call_id: str, name: str) -> list[Fragment]:
        start = ToolUseStart(id=call_id, name=name)
        self._open[key] = (start, [])
        return [start]

    def add(self, key: str, text: str) -> list[Fragment]:
        """Adds a piece of a call's input. Returns a list of its fragment; empty if no such call has begun."""
        if key not in self._open or not text:
            return []
        start, pieces = self._open[key]
        pieces.append(text)
        return [ToolInputDelta(id=start.id, text=text)]

    def end(self, key: str) -> list[Fragment]:
        """Ends a call. Returns a list of its last fragment, with the whole input or with an error if the input is not a
        JSON object. The list is empty if no such call has begun."""
        if key not in self._open:
            return []
        start, pieces = self._open.pop(key)
        return [_whole(start, "".join(pieces))]

    def end_all(self) -> list[Fragment]:
        """Ends every open call, for servers that don't mark the end of calls. Returns their last fragments."""
        return [fragment for key in tuple(self._open) for fragment in self.end(key)]


def _whole(start: ToolUseStart, text: str) -> ToolUseEnd:
    try:
        value: Any = msgspec.json.decode(text) if text.strip() else {}
        flatten_depths(value)
    except (msgspec.DecodeError, RecursionError) as error:
        return ToolUseEnd(id=start.id, name=start.name, input={}, error=f"it is not JSON ({error})")
    if not isinstance(value, dict):
        return ToolUseEnd(id=start.id, name=start.name, input={}, error="it is not a JSON object")
    return ToolUseEnd(id=start.id, name=start.name, input=as_object(value))
