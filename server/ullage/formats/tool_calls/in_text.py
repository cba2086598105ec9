"""Reads tool calls that a model writes into its text, while the text is streamed.

The scanner holds back only text that might be the beginning of a tag or fence and returns all other text at once. A
call's body is read parameter by parameter, so a parameter's text may look like a tag or fence itself.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct

from ullage.formats.tool_calls.values import ParameterTypes
from ullage.model.answer import Fragment, TextDelta, ToolInputDelta, ToolUseEnd, ToolUseStart
from ullage.model.message import ToolDefinition

CUT_OFF = "it was cut off before its end"


class Found(Struct, frozen=True):
    """The opening of a call: the characters `start` to `end` of the searched text, and the tool's name."""

    start: int
    end: int
    name: str = ""


class Parameter(Struct, frozen=True):
    """A parameter with its whole text, or the end of the call if `name` is None.

    Reading continues at the index `end`.
    """

    end: int
    name: str | None = None
    text: str = ""


class Syntax(Protocol):
    """How calls are written in text.

    The text given to `find_call` and `certain` begins with the character before the new text, so that a syntax can
    recognise the start of a line. If `final` is true, no more text follows.
    """

    def find_call(self, text: str, names: frozenset[str], *, final: bool) -> Found | None:
        """Returns the first call of a tool in `names` that certainly begins in `text`, or None."""
        ...

    def certain(self, text: str) -> int:
        """Returns the first index where a call may begin once more text comes.

        Returns the text's length if there is no such index.
        """
        ...

    def next_parameter(self, body: str, call: str, /, *, final: bool) -> Parameter | None:
        """Returns the next whole parameter, or the call's end, or None if more text is needed."""
        ...

    def describe(self, tools: Sequence[ToolDefinition]) -> str:
        """Returns the text that explains to a model which tools there are and how to call them."""
        ...


class _Call(Struct):
    start: ToolUseStart
    input: dict[str, Any]


class CallsInText:
    """Turns a stream of text into fragments. The ids of calls are `prefix` and a number."""

    def __init__(self, syntax: Syntax, tools: Sequence[ToolDefinition], prefix: str) -> None:
        self._syntax = syntax
        self._types = ParameterTypes(tools)
        self._prefix = prefix
        self._made = 0
        self._before = "\n"
        self._rest = ""
        self._call: _Call | None = None

    def feed(self, text: str) -> list[Fragment]:
        """Adds text. Returns the fragments that have become certain."""
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
