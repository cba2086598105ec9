"""Finds the places of a conversation that show a file's contents.

There are three sources: results of tools and shell commands that read a file; calls and results of tools that write or
edit a file, whose final content is in the input or in the result; and files inside a user's message. The shapes are
those of the recorded transcripts and of known agents: numbered lines of Claude Code and of Anthropic's text editor,
Cline's `<file_content path>` and `<final_file_content path>`, Claude Code's reminders of a mentioned file, Gemini's
`Content from @path:`, ACP's embedded resources.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from ullage.agents.results import fenced_command
from ullage.agents.shell import shell_read
from ullage.agents.tools import CONTENT_KEYS, Action, action_of, command_of, path_of, text_of
from ullage.model.message import Message, ResourceBlock, Role, TextBlock, ToolResultBlock, ToolUseBlock, join_texts

_SCHEME = "file://"
# The beginning of an absolute path of Windows; `C:a` is relative to the drive's own folder.
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_SNIPPET = "running `cat -n` on"
# Each with its end, without which no beginning is looked for: every one would be tried up to the end of the text.
_CARRIED = (
    *(
        (re.compile(rf"<{tag} path=\"(?P<path>[^\"\n]{{1,1000}})\">\n?(?P<text>.*?)</{tag}>", re.S), f"</{tag}>")
        for tag in ("file_content", "final_file_content")
    ),
    (
        re.compile(
            r"Called the Read tool with the following input: \{[^}\n]{0,2000}\"file_?[pP]ath\":\s?"
            r"\"(?P<path>[^\"\n]{1,1000})\".{0,200}?Result of calling the Read tool: ?\"?"
            r"(?P<text>.*?)(?=\"?\n?</system-reminder>|\Z)",
            re.S,
        ),
        "",
    ),
    (
        re.compile(
            r"^Content from @(?P<path>[^\n]{1,1000}?):\n(?P<text>.*?)(?=^Content from @|^--- End of content|\Z)",
            re.S | re.M,
        ),
        "",
    ),
)


class FileRead(Struct, frozen=True, kw_only=True):
    """A place of a conversation that shows a file: the characters from `start` to before `stop` of a block's text, also
    in `text`.

    `block` is the block's index in its message. `first` is the number of the first line, counted from 1, for lines that
    show no number of their own; None if it is not known. `is_input` is set if the text is the input of a tool call that
    writes the file, so the model itself wrote the text.
    """

    message_id: str
    block: int
    path: str
    text: str
    start: int = 0
    first: int | None = None
    is_input: bool = False

    @property
    def stop(self) -> int:
        """The index in the block's text after the last character of the file."""
        return self.start + len(self.text)


class _Call(Struct, frozen=True):
    """A tool call that shows the file `path` in its result. `first` is the number of the first line, None if unknown.

    If `snippet` is true, the result shows the file only if it contains the words with which an edit tool introduces
    lines.
    """

    path: str
    first: int | None = None
    snippet: bool = False


def file_reads(messages: Sequence[Message]) -> Iterator[FileRead]:
    """Yields every place of the messages that shows a file's contents, in order. Calls that failed and their results
    are left out."""
    failed = {block.tool_use_id for message in messages for block in _results(message) if block.is_error}
    calls: dict[str, _Call] = {}
    for position, message in enumerate(messages):
        for i, block in enumerate(message.content):
            if isinstance(block, ToolUseBlock):
                call = _call(block)
                if call:
                    calls[block.id] = call
                if block.id not in failed:
                    yield from _written(message, i, block)
            elif isinstance(block, ToolResultBlock) and not block.is_error:
                yield from _shown(message, i, only_text(block), calls.get(block.tool_use_id))
            elif message.role is Role.USER:
                fenced = fenced_command(messages, position - 1) if position else ""
                yield from _mentioned(message, i, fenced)


def only_text(block: ToolResultBlock) -> str:
    """Returns a result's text, or an empty string if the result contains anything but text, which a notice could not
    replace."""
    if not all(isinstance(part, TextBlock) for part in block.content):
        return ""
    return join_texts(block.content)


def file_keys(paths: Iterable[str]) -> dict[str, str]:
    r"""Returns a key for each path, the same key for paths that mean the same file.

    `./a.py` and `a.py` have one key, as have `file:///a.py` and `/a.py`, and `file:///C:/a.py` and `c:\a.py`. A
    relative path has the key of the absolute path that ends in it, if there is exactly one. The shape of a path
    decides, not the running system, so a transcript means the same everywhere.
    """
    plain = {path: _normalized(path) for path in paths}
    by_name: dict[str, set[str]] = {}
    for path in plain.values():
        if _is_absolute(path):
            by_name.setdefault(posixpath.basename(path), set()).add(path)
    return {path: _absolute(key, by_name.get(posixpath.basename(key), set())) for path, key in plain.items()}


def _normalized(path: str) -> str:
    """Returns the path with forward slashes, without `.` and `..`, and with a lower-case drive letter. Other capitals
    stay, because a folder of Windows may distinguish them."""
    path = path_of_uri(path)
    if _DRIVE.match(path) or ("\\" in path and not path.startswith("/")):
        path = path.replace("\\", "/")
    drive, rest = (path[:2].lower(), path[2:]) if _DRIVE.match(path) else ("", path)
    return drive + posixpath.normpath(rest)


def path_of_uri(path: str) -> str:
    """Returns the path that a `file://` URI names; any other path unchanged. Source: RFC 8089, whose appendix E.2 has
    the drives."""
    if not path.startswith(_SCHEME):
        return path
    named = unquote(path.removeprefix(_SCHEME))
    host, slash, rest = named.partition("/")
    # `file:///C:/a`, and `file://C:/a`, which is wrong and often written.
    for with_drive in (rest, named):
        if _DRIVE.match(with_drive):
            return with_drive
    return f"{slash}{rest}" if host in ("", "localhost") else f"//{host}{slash}{rest}"


def _is_absolute(path: str) -> bool:
    return posixpath.isabs(path) or _DRIVE.match(path) is not None


def _absolute(path: str, known: Collection[str]) -> str:
    ends = [absolute for absolute in known if absolute.endswith(f"/{path}")]
    return ends[0] if len(ends) == 1 and not _is_absolute(path) else path


def _results(message: Message) -> Iterator[ToolResultBlock]:
    return (block for block in message.content if isinstance(block, ToolResultBlock))


def _call(use: ToolUseBlock) -> _Call | None:
    if command := command_of(use.name, use.input):
        return _Call(read.path, read.first) if (read := shell_read(command)) else None
    path, action = path_of(use.input), action_of(use.name, use.input)
    if not path or action not in (Action.READ, Action.WRITE, Action.EDIT):
        return None
    return _Call(path, snippet=action is not Action.READ)


def _written(message: Message, block: int, use: ToolUseBlock) -> Iterator[FileRead]:
    """Yields the file read of a tool call that writes a whole file; nothing for other calls."""
    path, text = path_of(use.input), text_of(use.input, CONTENT_KEYS)
    if path and text and action_of(use.name, use.input) is Action.WRITE:
        yield FileRead(message_id=message.id, block=block, path=path, text=text, first=1, is_input=True)


def _shown(message: Message, block: int, text: str, call: _Call | None) -> Iterator[FileRead]:
    carried = list(_carried(message, block, text))
    if carried:
        yield from carried
    elif text and call and (not call.snippet or _SNIPPET in text):
        yield FileRead(message_id=message.id, block=block, path=call.path, text=text, first=call.first)


def _mentioned(message: Message, i: int, command: str) -> Iterator[FileRead]:
    block = message.content[i]
    if isinstance(block, ResourceBlock) and block.text and block.uri.startswith(_SCHEME):
        yield FileRead(message_id=message.id, block=i, path=block.uri, text=block.text, first=1)
    elif isinstance(block, TextBlock):
        # No `first`: the message frames the output in lines of its own, so counting from 1 would be wrong.
        read = shell_read(command) if command else None
        yield from _shown(message, i, block.text, _Call(read.path) if read else None)


def _carried(message: Message, block: int, text: str) -> Iterator[FileRead]:
    for pattern, end in _CARRIED:
        for match in pattern.finditer(text, 0, text.rfind(end) + len(end)):
            yield FileRead(
                message_id=message.id, block=block, path=match["path"], text=match["text"], start=match.start("text")
            )


# `cat -n` and the tools that copy it right-align the number in six columns, before a tab or an arrow. Others write at
# least five digits and a bar. Shorter forms (`12:`) may be part of the file's text, so they are left in the text.
_NUMBERED = re.compile(r"(?=[ \d]{6})( *\d+)[\t→](.*)|( *\d+)→(.*)|(\d{5,})\| ?(.*)", re.DOTALL)


class Line(NamedTuple):
    """A line's number in its file (None if it is unknown) and its text without the number."""

    number: int | None
    text: str


def file_lines(text: str, first: int | None = None) -> list[Line]:
    """Returns the lines of a text with their numbers. A line number that the tool printed before a line is read and
    removed.

    `first` is the number of the first line, for texts without printed numbers; None if it is unknown.
    """
    return list(_lines(text, first))


def _lines(text: str, first: int | None) -> Iterator[Line]:
    for i, line in enumerate(text.split("\n")):
        match = _NUMBERED.fullmatch(line)
        if match:
            digits, words = (group for group in match.groups() if group is not None)
            yield Line(int(digits), words)
        else:
            yield Line(None if first is None else first + i, line)
