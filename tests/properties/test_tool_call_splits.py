"""Tool calls in a stream: wherever it is cut, the text and the calls are the same, in all three syntaxes."""

import itertools
import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.formats.tool_calls import CallsInText, CaretFences, NativeCalls, Syntax, XmlTags
from ullage.model.answer import Fragment, TextDelta, ToolUseEnd
from ullage.model.message import ToolDefinition, ToolUseBlock

TOOLS = (
    ToolDefinition(
        name="write_note",
        input_schema={"properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    ),
    ToolDefinition(
        name="count", input_schema={"properties": {"limit": {"type": "integer"}, "all": {"type": "boolean"}}}
    ),
)
NOTE = {"path": "notes/today.md", "content": "One <b>bold</b> line\n^^^ and carets\n--- dashes"}
XML = (
    "I'll write.\n<write_note>\n<path>notes/today.md</path>\n<content>\n"
    + NOTE["content"]
    + "\n</content>\n</write_note>\nThen <count><limit>3</limit><all>true</all></count>, a < b, <em>that</em> is fine."
)
CARET = (
    "I'll write.\n^^^write_note\npath: notes/today.md\ncontent ---\n"
    + NOTE["content"]
    + "\n--- content\n^^^\nThen\n^^^count\nlimit: 3\nall: true\n^^^\nand 2^^^8, ^^^unknown\nfine."
)
SYNTAXES = {"xml": (XmlTags(), XML), "caret": (CaretFences(), CARET)}


def cut(text: str, places: Sequence[int]) -> list[str]:
    """Returns the text in pieces."""
    marks = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [text[start:stop] for start, stop in itertools.pairwise(marks)]


def read(syntax: Syntax, pieces: Sequence[str]) -> tuple[str, list[ToolUseEnd]]:
    """Returns the text outside the calls, and the calls."""
    reader = CallsInText(syntax, TOOLS, "call_")
    fragments = [fragment for piece in pieces for fragment in reader.feed(piece)] + reader.end()
    return said(fragments), calls(fragments)


def said(fragments: Sequence[Fragment]) -> str:
    return "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta))


def calls(fragments: Sequence[Fragment]) -> list[ToolUseEnd]:
    return [fragment for fragment in fragments if isinstance(fragment, ToolUseEnd)]


@pytest.mark.parametrize("name", SYNTAXES)
def test_calls_are_read_with_values_of_their_types(name: str) -> None:
    syntax, text = SYNTAXES[name]
    spoken, found = read(syntax, [text])
    assert [(call.name, call.input, call.error) for call in found] == [
        ("write_note", NOTE, ""),
        ("count", {"limit": 3, "all": True}, ""),
    ]
    assert spoken.startswith("I'll write.\n")
    assert spoken.endswith("fine.")
    assert "write_note" not in spoken


@pytest.mark.parametrize("name", SYNTAXES)
@given(places=st.lists(st.integers(min_value=0, max_value=2_000), max_size=30))
def test_every_split_reads_alike(name: str, places: list[int]) -> None:
    syntax, text = SYNTAXES[name]
    assert read(syntax, cut(text, places)) == read(syntax, [text])


@pytest.mark.parametrize("name", SYNTAXES)
def test_one_character_at_a_time_reads_alike(name: str) -> None:
    syntax, text = SYNTAXES[name]
    assert read(syntax, list(text)) == read(syntax, [text])


@pytest.mark.parametrize("syntax", [XmlTags(), CaretFences()])
@given(text=st.text(alphabet="<>/^- \n:acount", max_size=120), places=st.lists(st.integers(0, 120), max_size=12))
def test_any_text_in_any_split_reads_alike_and_loses_nothing_without_a_call(
    syntax: Syntax, text: str, places: list[int]
) -> None:
    whole = read(syntax, [text])
    assert read(syntax, cut(text, places)) == whole
    if not whole[1]:
        assert whole[0] == text


@pytest.mark.parametrize("name", SYNTAXES)
@given(stop=st.integers(min_value=0, max_value=400))
def test_a_stream_cut_off_in_a_call_says_so_and_never_makes_half_a_call(name: str, stop: int) -> None:
    syntax, text = SYNTAXES[name]
    _, found = read(syntax, [text[:stop]])
    whole = read(syntax, [text])[1]
    for at, call in enumerate(found):
        assert call == whole[at] or (call.error and not call.input)


@given(
    value=st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=5),
    places=st.lists(st.integers(0, 500), max_size=10),
)
def test_native_input_in_any_split_is_the_same_object(value: Any, places: list[int]) -> None:
    text = json.dumps({"value": value})
    reader = NativeCalls()
    reader.start("0", "call_1", "count")
    for piece in cut(text, places):
        reader.add("0", piece)
    assert reader.end("0") == [ToolUseEnd(id="call_1", name="count", input={"value": value})]


@pytest.mark.parametrize("text", ["{", "[1]", "nonsense", '{"a": }'])
def test_native_input_that_is_no_object_is_reported(text: str) -> None:
    reader = NativeCalls()
    reader.start("0", "call_1", "count")
    reader.add("0", text)
    (end,) = reader.end_all()
    assert isinstance(end, ToolUseEnd)
    assert end.error
    assert end.input == {}


UNWRITABLE = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029<-"
VALUES = st.text(st.characters(codec="utf-8", exclude_characters=UNWRITABLE), max_size=30)


@pytest.mark.parametrize("syntax", [XmlTags(), CaretFences()], ids=["xml", "caret"])
@given(VALUES.map(lambda text: text.strip("\n")), VALUES.map(lambda text: text.strip("\n")))
def test_a_call_that_is_written_is_read_again(syntax: Syntax, path: str, content: str) -> None:
    use = ToolUseBlock(id="c", name="write_note", input={"path": path, "content": content})
    text, (call,) = read(syntax, [f"So:\n{syntax.write(use)}\n"])
    assert (call.name, call.input, text.strip()) == ("write_note", use.input, "So:")
