"""What a message and a call's input say, as text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ullage.agents.tools import OLD_TEXT_KEYS, has_key, strings_in
from ullage.model.blocks import Block, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock, text_and_resources
from ullage.model.json_values import as_list, as_object
from ullage.model.marker import render_marker
from ullage.model.message import Message

_PATCH = "*** Begin Patch"


def text_of(message: Message) -> str:
    """Returns what a message says: its texts, inputs and results, and a marker as a model is sent it. Reasoning is left
    out, because an agent's provider does not send it again."""
    if block := message.compaction:
        return render_marker(block)
    return "\n".join(part for block in message.content for part in _parts(block))


def context_text(messages: Iterable[Message]) -> str:
    """Returns what a whole context says."""
    return "\n".join(map(text_of, messages))


def shown_text(message: Message) -> str:
    """Returns what a message says without calls and results."""
    return text_and_resources(message.content)


def written_texts(given: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a call's input says by itself: all of its strings, without the text that an edit replaces. Of a patch
    only the added lines and the names of files are left."""
    for text in _strings(given, old=False):
        yield _patch_lines(text, "+*") if _PATCH in text else text


def replaced_texts(given: Mapping[str, Any]) -> Iterator[str]:
    """Yields the text that an edit replaces, or of a patch the lines that stay or go."""
    yield from _strings(given, old=True)
    for text in strings_in(given):
        if _PATCH in text:
            yield _patch_lines(text, " -")


def _patch_lines(text: str, marks: str) -> str:
    return "\n".join(line.lstrip("+-* ") for line in text.split("\n") if line[:1] in marks and line)


def _strings(value: Any, *, old: bool) -> Iterator[str]:
    """Yields the strings in an input that are, or are not, under a key of replaced text, at any depth."""
    for key, inner in as_object(value).items():
        if has_key(key, OLD_TEXT_KEYS):
            yield from strings_in(inner) if old else ()
        elif isinstance(inner, str):
            yield from () if old else (inner,)
        else:
            yield from _strings(inner, old=old)
    for inner in as_list(value):
        if isinstance(inner, str):
            yield from () if old else (inner,)
        else:
            yield from _strings(inner, old=old)


def _parts(block: Block) -> Sequence[str]:
    match block:
        case TextBlock(text=text):
            return [text]
        case ToolUseBlock(input=given):
            return list(strings_in(given))
        case ToolResultBlock(content=parts):
            return [text_and_resources(parts)]
        case ResourceBlock(uri=uri, text=text):
            return [uri, text or ""]
        case _:
            return []
