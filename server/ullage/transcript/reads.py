"""File reads: which tool results show a file's contents."""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.message import Message

# Names of reading tools as coding agents call them, lower case without separators.
_READ_TOOLS = {"read", "readfile", "view", "viewfile", "openfile", "fsread", "readtextfile", "cat"}
# One tool for several actions (Anthropic's text editor and its kin): a read if `command` says so.
_EDITOR_TOOLS = {"strreplaceeditor", "strreplacebasededittool", "fileeditor", "edit"}
_PATH_KEYS = ("file_path", "path", "filePath", "filename", "file", "absolute_path", "target_file", "uri")


class FileRead(Struct, frozen=True, kw_only=True):
    """A tool result that shows a file: the message, the block in it, the path and the lines shown."""

    message_id: str
    block: int
    path: str
    text: str


def file_reads(messages: Sequence[Message]) -> Iterator[FileRead]:
    """Every successful read in order."""
    paths: dict[str, str] = {}
    for message in messages:
        for i, block in enumerate(message.content):
            if isinstance(block, ToolUseBlock):
                path = read_path(block)
                if path:
                    paths[block.id] = path
            elif isinstance(block, ToolResultBlock) and block.tool_use_id in paths and not block.is_error:
                text = _only_text(block)
                if text:
                    yield FileRead(message_id=message.id, block=i, path=paths[block.tool_use_id], text=text)


def read_path(use: ToolUseBlock) -> str | None:
    """The path that a tool use reads; None if it is not a read."""
    name = use.name.rsplit("__", 1)[-1].replace("_", "").replace("-", "").lower()
    reads = name in _READ_TOOLS or (name in _EDITOR_TOOLS and use.input.get("command") == "view")
    if not reads:
        return None
    return next((value for key in _PATH_KEYS if isinstance(value := use.input.get(key), str)), None)


def _only_text(block: ToolResultBlock) -> str:
    """The result's text; empty if it holds anything else, which a notice could not stand for."""
    if not all(isinstance(part, TextBlock) for part in block.content):
        return ""
    return "\n".join(part.text for part in block.content if isinstance(part, TextBlock))
