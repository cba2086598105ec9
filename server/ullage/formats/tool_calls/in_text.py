"""Reads tool calls that a model writes into its text, while the text is streamed.

The scanner holds back only text that might be the beginning of a tag or fence and returns all other text at once. A
call's body is read parameter by parameter, so a parameter's text may look like a tag or fence itself. It is converted
to the type that the tool's JSON Schema gives the parameter.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec
from msgspec import Struct

from ullage.model.answer import Fragment, TextDelta, ToolInputDelta, ToolUseEnd, ToolUseStart
from ullage.model.blocks import ToolUseBlock
from ullage.model.json_values import as_object, as_text, is_too_deep
from ullage.model.message import ToolDefinition

CUT_OFF = "it was cut off before its end"


class Found(Struct, frozen=True):
    """The opening tag or fence of a tool call: its place (`start` to `end`, excluded) in the searched text, and the
    tool's name."""

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

    def find_call(self, text: str, names: frozenset[str], *, final: bool) -> Found | None:
        """Returns the opening of the first call in `text` of a tool in `names`, or None if no complete opening is
        there."""
        ...

    def certain(self, text: str) -> int:
        """Returns how many characters of `text` cannot be part of a call's opening, whatever text follows. The rest is
        held back."""
        ...

    def next_parameter(self, body: str, call: str, /, *, final: bool) -> Parameter | None:
        """Returns the next complete parameter in the body of a call, or the call's end, or None if more text is needed.
        `call` is the tool's name."""
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
        """The names of all tools."""
        return frozenset(self._types)

    def of(self, tool: str) -> frozenset[str]:
        """Returns the names of a tool's parameters."""
        return frozenset(self._types.get(tool, ()))

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
