"""The files that a prompt links to, read before the prompt becomes part of the transcript.

A file in the session's folders is read without asking, one outside of them if the user permits it. Instead of a file
that is not read, the model gets a sentence that says why. A link to a folder or to an address elsewhere stays a link.
"""

import asyncio
import base64
from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.file_reads import path_of_uri
from ullage.model import words
from ullage.model.blocks import PDF, Block, ImageBlock, ResourceBlock, TextBlock
from ullage.model.errors import InvalidRequest
from ullage.model.updates import Notice, Severity, ToolCall, ToolCallUpdate, ToolKind, ToolLocation, ToolStatus
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.linked_files import FoundFile, LinkedFiles
from ullage.service.ports.models import Question
from ullage.service.turns.tool_calls import is_permitted

# Characters of all files of one prompt, about 100,000 tokens: further files are read by the model, if it needs them.
_MOST_CHARS = 400_000
_REFUSED = "the user did not permit it"


async def read_links(conversation: Conversation, content: Sequence[Block]) -> tuple[Block, ...]:
    """Returns a prompt with the contents of the files that it links to. Raises `CancelledError` if the user stops the
    turn instead of answering whether a file may be read. At doors whose tools always ask, links stay links."""
    files = conversation.workspace.linked_files
    if files is None or not conversation.workspace.reads_open_folders:
        return tuple(content)
    read: list[Block] = []
    faults: list[str] = []
    left = _MOST_CHARS
    for block in content:
        if not isinstance(block, ResourceBlock) or not block.is_link or not block.uri.startswith("file://"):
            read.append(block)
            continue
        try:
            filled = await _read(conversation, files, block, left)
        except InvalidRequest as error:
            fault = words.link_not_read(block.uri, str(error))
            filled = (block, TextBlock(text=f"[{fault}]"))
            faults += [fault] if str(error) != _REFUSED else []
        left -= sum(len(one.text or "") for one in filled if isinstance(one, ResourceBlock))
        read += filled
    if faults:
        conversation.emit(Notice(severity=Severity.WARNING, title=" ".join(faults)))
    return tuple(read)


async def _read(conversation: Conversation, files: LinkedFiles, link: ResourceBlock, left: int) -> tuple[Block, ...]:
    """Returns a link with what it links to, or that of a folder as it is. `left` is how many characters may still be
    read. Raises `InvalidRequest`, whose text ends a sentence, if the file is not read."""
    found = await files.find(conversation.id, conversation.transcript.cwd, path_of_uri(link.uri))
    if found is None:
        raise InvalidRequest("there is no such file")
    if found.is_folder:
        return (link,)
    if left <= 0:
        raise InvalidRequest("the other files of the prompt are long enough; read_file reads it")
    if found.question is not None and not await _may_read(conversation, found, found.question):
        raise InvalidRequest(_REFUSED)
    content = await files.read(conversation.id, found)
    if content.fault:
        raise InvalidRequest(content.fault)
    if content.media_type == PDF:
        return (replace(link, mime_type=PDF, data=base64.b64encode(content.data).decode()),)
    if content.data:
        return link, ImageBlock(media_type=content.media_type, data=base64.b64encode(content.data).decode())
    return (ResourceBlock(uri=link.uri, text=content.text, mime_type=link.mime_type),)


async def _may_read(conversation: Conversation, file: FoundFile, question: Question) -> bool:
    """Asks the user, who is shown a tool call, as if the model had made it, because clients ask about nothing else."""
    call = ToolCall(
        tool_call_id=conversation.workspace.ports.ids.new("call"),
        title=question.title,
        kind=ToolKind.READ,
        status=ToolStatus.PENDING,
        locations=(ToolLocation(path=file.path),),
        raw_input={"path": file.path},
    )
    conversation.emit(call)
    try:
        permitted = await is_permitted(conversation, question, call)
    except asyncio.CancelledError:
        conversation.emit(ToolCallUpdate(tool_call_id=call.tool_call_id, status=ToolStatus.FAILED))
        raise
    status = ToolStatus.COMPLETED if permitted else ToolStatus.FAILED
    conversation.emit(ToolCallUpdate(tool_call_id=call.tool_call_id, status=status))
    return permitted
