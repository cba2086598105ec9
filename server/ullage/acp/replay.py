"""A stored transcript as the updates that show it: every message ever, with the compactions where they cut."""

import asyncio
from collections.abc import Iterator

from msgspec import UNSET
from msgspec.structs import replace

from ullage.acp.announce import Announcer, compaction_as_tool_call
from ullage.acp.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Content,
    ImageContent,
    OwnUpdate,
    ResourceContent,
    ResourceLink,
    TextResource,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    UserMessageChunk,
)
from ullage.edits.compaction import compaction_id
from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.message import Message, Role
from ullage.model.updates import CompactionMeta, CompactionStatus, CompactionUpdate, Meta, TextContent
from ullage.service.contexts import transcript_page
from ullage.service.workspace import Workspace

# Messages read and sent at a time; between two pages others get their turn.
_PAGE = 100


async def replay(workspace: Workspace, announcer: Announcer, session_id: str) -> None:
    """Sends the whole transcript. Raises `SessionNotFound`."""
    sent, total = 0, 1
    while sent < total:
        page = transcript_page(workspace, session_id, sent, _PAGE)
        for entry in page.entries:
            for update in message_updates(entry.message, shows_compactions=announcer.client.shows_compactions):
                announcer.send(session_id, update)
        sent, total = sent + _PAGE, page.total
        await asyncio.sleep(0)


def message_updates(message: Message, *, shows_compactions: bool) -> Iterator[OwnUpdate | CompactionUpdate]:
    """The updates that show a message; what a person was never shown, as a system prompt, has none."""
    for block in message.content:
        if isinstance(block, CompactionBlock):
            yield from _compaction(message, block, shows_compactions=shows_compactions)
        elif message.role is not Role.SYSTEM:
            yield from _block_updates(message, block)


def _block_updates(message: Message, block: Block) -> Iterator[OwnUpdate]:
    match block:
        case ThinkingBlock(thinking=thinking):
            if thinking:
                yield AgentThoughtChunk(content=TextContent(text=thinking), message_id=message.id)
        case ToolUseBlock():
            yield ToolCall(tool_call_id=block.id, title=block.name, status="in_progress", raw_input=block.input)
        case ToolResultBlock():
            yield _result(block)
        case TextBlock() | ImageBlock() | ResourceBlock():
            kind = UserMessageChunk if message.role is Role.USER else AgentMessageChunk
            yield kind(content=_content(block), message_id=message.id)
        case CompactionBlock():
            pass


def _result(block: ToolResultBlock) -> ToolCallUpdate:
    return ToolCallUpdate(
        tool_call_id=block.tool_use_id,
        status="failed" if block.is_error else "completed",
        content=tuple(ToolContent(content=_content(part)) for part in block.content),
    )


def _content(block: ResultPart) -> Content:
    match block:
        case TextBlock(text=text):
            return TextContent(text=text)
        case ImageBlock(data=str(data)):
            return ImageContent(data=data, mime_type=block.media_type)
        case ImageBlock():
            return ResourceLink(uri=block.url or "", name="picture", mime_type=block.media_type)
        case ResourceBlock(text=str(text)):
            return ResourceContent(resource=TextResource(uri=block.uri, text=text, mime_type=block.mime_type or UNSET))
        case ResourceBlock():
            return ResourceLink(uri=block.uri, name=_name(block.uri), mime_type=block.mime_type or UNSET)


def _name(uri: str) -> str:
    return uri.rstrip("/").rsplit("/", 1)[-1] or uri


def _compaction(
    marker: Message, block: CompactionBlock, *, shows_compactions: bool
) -> Iterator[OwnUpdate | CompactionUpdate]:
    """As ACP wants it replayed: one terminal update with the full summary. Who asked for it is not told again."""
    meta = CompactionMeta(
        trigger="",
        compaction_number=block.compaction_number,
        message_id=marker.id,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
    )
    update = CompactionUpdate(
        compaction_id=compaction_id(marker),
        status=CompactionStatus.COMPLETED,
        summary=(TextContent(text=block.summary),),
        meta=Meta(ullage=meta),
    )
    if shows_compactions:
        yield update
        return
    begun = replace(update, status=CompactionStatus.IN_PROGRESS, summary=UNSET)
    yield compaction_as_tool_call(begun)
    yield compaction_as_tool_call(update)
