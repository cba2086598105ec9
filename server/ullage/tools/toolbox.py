"""All tools, as the service's toolbox port, and the two tools on Ullage's own data: the memory and the conversation's
archive. Those two need no permission, because they reach nothing else.

The files that a prompt links to are found with the reach of the tools, and read as text, as a picture or as a PDF.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ullage.memory import memory_tool as memory
from ullage.memory.memory_tool import (
    Command,
    Create,
    Delete,
    Insert,
    Rename,
    StrReplace,
    View,
    insert_text,
    parse_path,
    read_command,
    render_listing,
    replace_text,
    view_text,
)
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.json_values import as_text
from ullage.model.message import PDF, ToolDefinition, ToolUseBlock
from ullage.model.updates import ToolKind
from ullage.service.archive.search import RECALL
from ullage.service.ports.models import FileContent, LinkedFile, Question, ToolAbout, ToolOutcome
from ullage.service.ports.store import MemoryFiles
from ullage.tools.folder_tools import (
    Call,
    OpenText,
    Reach,
    Spot,
    Tool,
    folder_tools,
    open_spot,
    permitted_spot,
    read_plain,
    resolved,
)

# Takes a session's folder; gives the folder's memory, or the user's memory for a session without a folder.
Memories = Callable[[str], MemoryFiles]
Recall = Callable[[str, Any], Awaitable[ToolOutcome]]
# Takes a session's id; gives its further folders, or None where every reading is asked for.
OpenedFolders = Callable[[str], tuple[str, ...] | None]


def memory_tool(memories: Memories) -> Tool:
    """Returns the tool for notes that outlast the conversation. `memories` returns a folder's memory."""

    async def run(call: Call) -> ToolOutcome:
        return await asyncio.to_thread(run_memory, memories(call.cwd), call.input)

    return Tool(definition=memory.DEFINITION, about=_about_memory, run=run)


def recall_tool(look_up: Recall) -> Tool:
    """Returns the tool that searches and reads archived messages. `look_up` gets session id and input."""

    async def run(call: Call) -> ToolOutcome:
        return await look_up(call.session_id, call.input)

    return Tool(definition=RECALL, about=_about_recall, run=run)


def _about_memory(given: dict[str, Any]) -> ToolAbout:
    command = as_text(given.get("command"))
    path = as_text(given.get("path")) or as_text(given.get("old_path"))
    kind = ToolKind.READ if command == "view" else ToolKind.EDIT
    return ToolAbout(title=" ".join(filter(None, ("Memory:", command, path))), kind=kind)


def _about_recall(given: dict[str, Any]) -> ToolAbout:
    subject = as_text(given.get("query")) or as_text(given.get("message_id"))
    return ToolAbout(title=f"Recall {subject}".strip(), kind=ToolKind.SEARCH)


class LocalToolbox:
    """Ullage's own tools, for the service's toolbox port: finds the tool of a call and runs the call. An unknown tool
    or a failing one gives a result with `is_error`, which the model reads.

    `opened` returns the further folders of a session in which files are read without asking and, after asking, outside.
    If it returns None, every reading is asked for, and none is possible outside the session's folder.
    """

    def __init__(
        self, memories: Memories, recall: Recall, open_text: OpenText, opened: OpenedFolders = lambda _: None
    ) -> None:
        self._opened = opened
        # Per session the id of the call that the user was asked about last, and the path outside that was asked about.
        # A link may lead elsewhere when the call is made: then it is refused.
        self._asked: dict[str, tuple[str, Path]] = {}
        tools = (*folder_tools(open_text), memory_tool(memories), recall_tool(recall))
        self._tools = {tool.definition.name: tool for tool in tools}

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return tuple(tool.definition for tool in self._tools.values())

    def describe(self, use: ToolUseBlock) -> ToolAbout:
        tool = self._tools.get(use.name)
        return tool.about(use.input) if tool else ToolAbout(title=use.name, kind=ToolKind.OTHER)

    async def question(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> Question | None:
        tool, further = self._tools.get(use.name), self._opened(session_id)
        if tool is None or not tool.reads:
            return None
        if further is None:
            # A file may hold text that no provider should see.
            return Question(key=use.name)
        path = _path_of(use)
        if await asyncio.to_thread(open_spot, Reach(cwd=cwd, further=further), path) is not None:
            return None
        found = await asyncio.to_thread(resolved, cwd, path)
        if found is None:
            # There is nothing to read, as the call's result will say.
            return None
        self._asked[session_id] = (use.id, found)
        return Question(key=f"{use.name} {found.parent}", title=tool.about({**use.input, "path": str(found)}).title)

    async def run(self, session_id: str, cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        tool = self._tools.get(use.name)
        if tool is None:
            known = ", ".join(self._tools)
            return ToolOutcome(text=f"There is no tool {use.name!r}; there are {known}.", is_error=True)
        try:
            if tool.reads and (spot := await asyncio.to_thread(self._spot, session_id, cwd, use)) is not None:
                outcome = await tool.run(
                    Call(session_id=session_id, cwd=spot.folder, input={**use.input, "path": spot.path})
                )
                return outcome if spot.folder == cwd else _told_where(outcome, tool, spot)
            return await tool.run(Call(session_id=session_id, cwd=cwd, input=use.input))
        # OSError: what the system refuses has no other reader than the model, and must not end the turn.
        except (UllageError, OSError) as error:
            return ToolOutcome(text=str(error), is_error=True)

    def _spot(self, session_id: str, cwd: str, use: ToolUseBlock) -> Spot | None:
        """Returns where a call looks; None if only in the session's folder, or not at all, as the error then says."""
        further, path = self._opened(session_id), _path_of(use)
        if further is None:
            return None
        asked = self._asked.pop(session_id, None)
        found = resolved(cwd, path)
        if asked is not None and asked == (use.id, found):
            return permitted_spot(asked[1])
        return open_spot(Reach(cwd=cwd, further=further), path)


def _path_of(use: ToolUseBlock) -> str:
    return as_text(use.input.get("path")) or "."


def _told_where(outcome: ToolOutcome, tool: Tool, spot: Spot) -> ToolOutcome:
    """Returns a search outside the session's folder with a first line that says what its paths are relative to."""
    if outcome.is_error or tool.about({}).kind is not ToolKind.SEARCH:
        return outcome
    return ToolOutcome(text=f"[Paths are relative to {spot.folder}]\n{outcome.text}")


# About 25,000 tokens, as for a file that the model reads itself.
_MOST_CHARS = 100_000
# The largest picture that Anthropic takes is 5 MB in base64; OpenAI's limit is higher ("Vision", both).
_MOST_BYTES = 3_750_000
# Anthropic takes requests of up to 32 MB, base64 included ("PDF support"); OpenAI takes files of up to 50 MB. A client
# sends the whole of a longer conversation with each prompt, so one document may not fill a request.
_MOST_PDF_BYTES = 10_000_000
_PDF_START = b"%PDF-"
# The first bytes of the pictures that providers take. WebP has its length in between.
_PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
_WEBP = (b"RIFF", b"WEBP")


class LocalLinkedFiles:
    """The files of this machine, for the service's port. `open_text` returns a file's text as the user's editor holds
    it, `opened` the further folders of a session that may be read without asking."""

    def __init__(self, open_text: OpenText, opened: OpenedFolders) -> None:
        self._open_text = open_text
        self._opened = opened

    async def find(self, session_id: str, cwd: str, path: str) -> LinkedFile | None:
        return await asyncio.to_thread(_find, Reach(cwd=cwd, further=self._opened(session_id) or ()), path)

    async def read(self, session_id: str, file: LinkedFile) -> FileContent:
        try:
            content = await asyncio.to_thread(_read, file)
        except InvalidRequest as error:
            return FileContent(fault=str(error))
        if content.data:
            return content
        text = await self._open_text(session_id, file.path)
        return FileContent(text=_cut(content.text if text is None else text))


def _find(reach: Reach, path: str) -> LinkedFile | None:
    found = resolved(reach.cwd, path)
    if found is None:
        return None
    spot = open_spot(reach, path)
    folder = (spot or permitted_spot(found)).folder
    # An answer "always" covers the folder for `read_file`, too.
    asked = None if spot else Question(key=f"read_file {found.parent}", title=f"Read {found}")
    return LinkedFile(path=str(found), folder=folder, is_folder=found.is_dir(), question=asked)


def _read(file: LinkedFile) -> FileContent:
    """Raises `InvalidRequest`, whose text ends a sentence, if the file cannot be read or is not for a model."""
    data = _bytes(file, _MOST_BYTES + 1)
    if data.startswith(_PDF_START):
        data = _bytes(file, _MOST_PDF_BYTES + 1) if len(data) > _MOST_BYTES else data
        if len(data) > _MOST_PDF_BYTES:
            raise InvalidRequest(f"a PDF may have {_MOST_PDF_BYTES / 1e6:g} MB")
        return FileContent(data=data, media_type=PDF)
    if picture := _picture(data):
        if len(data) > _MOST_BYTES:
            raise InvalidRequest(f"a picture may have {_MOST_BYTES / 1e6:g} MB")
        return FileContent(data=data, media_type=picture)
    if b"\0" in data[:8_192]:
        raise InvalidRequest("it is neither text nor a PDF, nor a picture of a kind that models take")
    return FileContent(text=data.decode(errors="replace"))


def _bytes(file: LinkedFile, most: int) -> bytes:
    try:
        return read_plain(Path(file.folder).resolve(), Path(file.path), most)
    except OSError as error:
        raise InvalidRequest(f"it cannot be read: {error.strerror or error}") from error


def _picture(data: bytes) -> str:
    if (data[:4], data[8:12]) == _WEBP:
        return "image/webp"
    return next((kind for start, kind in _PICTURES.items() if data.startswith(start)), "")


def _cut(text: str) -> str:
    left = len(text) - _MOST_CHARS
    return text if left <= 0 else f"{text[:_MOST_CHARS]}\n[{left:,} more characters are left out; read_file shows them]"


def run_memory(files: MemoryFiles, arguments: dict[str, Any]) -> ToolOutcome:
    """Runs one call of the memory tool with the model's `arguments` and returns its result. Wrong arguments and disk
    errors become results with `is_error`. Blocks on the disk, so an event loop must call this function in a thread."""
    try:
        return ToolOutcome(text=_carry_out(files, read_command(arguments)))
    except UllageError as error:
        return ToolOutcome(text=str(error), is_error=True)


def _carry_out(files: MemoryFiles, command: Command) -> str:
    match command:
        case View():
            return _view(files, command)
        case Create():
            path = parse_path(command.path)
            files.create(path, command.file_text)
            return f"File created successfully at: {path}"
        case StrReplace(old_str=old, new_str=new):
            path = parse_path(command.path)
            return files.edit(path, lambda text: replace_text(path, text, old, new)).answer
        case Insert(insert_line=line, insert_text=inserted):
            path = parse_path(command.path)
            return files.edit(path, lambda text: insert_text(path, text, line, inserted)).answer
        case Delete():
            path = parse_path(command.path)
            files.delete(path)
            return f"Successfully deleted {path}"
        case Rename():
            old_path, new_path = parse_path(command.old_path), parse_path(command.new_path)
            files.rename(old_path, new_path)
            return f"Successfully renamed {old_path} to {new_path}"


def _view(files: MemoryFiles, command: View) -> str:
    path = parse_path(command.path)
    found = files.look(path)
    if isinstance(found, str):
        return view_text(path, found, command.view_range)
    return render_listing(path, found)
