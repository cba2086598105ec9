"""Tool calls as ACP's clients need them: with whole paths, and with output in a fence, because clients render text as
Markdown."""

import re
from pathlib import PurePath

from msgspec import UNSET
from msgspec.structs import replace

from ullage.model.updates import TextContent, ToolCall, ToolCallUpdate, ToolContent

# CommonMark, "Fenced code blocks": a fence is closed by a line of at least as many backticks.
_SHORTEST_FENCE = 3
_BACKTICKS = re.compile(r"`+")


def with_whole_paths(call: ToolCall, folder: str) -> ToolCall:
    """Returns the tool call with its locations made absolute, as ACP requires: a relative path is joined to
    `folder`."""
    return replace(call, locations=tuple(replace(at, path=str(PurePath(folder, at.path))) for at in call.locations))


def fenced(text: str) -> str:
    """Returns the text as a Markdown code block, whose fence is longer than any row of backticks in the text. Text that
    is empty stays empty."""
    if not text:
        return ""
    longest = max(map(len, _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(_SHORTEST_FENCE, longest + 1)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


def with_fences(update: ToolCallUpdate) -> ToolCallUpdate:
    """Returns the update of a tool call with each of its texts in a fence."""
    if update.content is UNSET:
        return update
    return replace(update, content=tuple(map(_with_fence, update.content)))


def _with_fence(part: ToolContent) -> ToolContent:
    return replace(part, content=TextContent(text=fenced(part.content.text)))
