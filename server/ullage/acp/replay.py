"""Replays a stored transcript as updates: every message in order, with each compaction where it cut the transcript."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from msgspec import UNSET

from ullage.acp.announce import Announcer
from ullage.acp.session_tools import UPDATE_PLAN, read_plan
from ullage.acp.updates import (
    AgentContentChunk,
    BlobResource,
    Content,
    ImageContent,
    OwnUpdate,
    PlanUpdate,
    ResourceContent,
    ResourceLink,
    TextResource,
    UserContentChunk,
)
from ullage.edits.compaction import compaction_id
from ullage.model.blocks import (
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)
from ullage.model.errors import InvalidRequest
from ullage.model.message import Message, Role
from ullage.model.updates import (
    AgentThoughtChunk,
    CompactionMeta,
    CompactionStatus,
    CompactionUpdate,
    Meta,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolStatus,
    Update,
)
from ullage.service.conversation.pages import transcript_page
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import ToolAbout
from ullage.service.turns.tool_calls import describe_call

# Messages read from the store at a time.
_PAGE = 100


Describe = Callable[[ToolUseBlock], ToolAbout]


async def replay(workspace: Workspace, announcer: Announcer, session_id: str) -> None:
    """Sends the session's whole transcript to the client as updates, archived messages included. Raises
    `SessionNotFound`."""
    conversation = workspace.open(session_id)
    describe = partial(describe_call, conversation)
    sent, total = 0, 1
    while sent < total:
        page = transcript_page(conversation, sent, _PAGE)
        for entry in page.entries:
            for update in message_updates(entry.message, describe):
                announcer.replay(session_id, update)
            await announcer.room()
        sent, total = sent + _PAGE, page.total
        # Other tasks get a turn here even if the client reads so fast that the line before never waits.
        await asyncio.sleep(0)


def message_updates(message: Message, describe: Describe) -> Iterator[Update | OwnUpdate]:
    """Yields the updates that show one message to the user, one per block. Yields nothing for a system prompt, which
    users are never shown, and for a block of empty thinking. `describe` returns the title, kind and locations of a tool
    use."""
    if message.role is Role.SYSTEM:
        return
    for block in message.content:
        match block:
            case ThinkingBlock():
                if block.thinking:
                    yield AgentThoughtChunk(content=TextContent(text=block.thinking), message_id=message.id)
            case ToolUseBlock():
                yield _call(block, describe(block))
                yield from _plan(block)
            case ToolResultBlock():
                yield _result(block)
            case CompactionBlock():
                yield _compaction(message, block)
            case TextBlock() | ImageBlock() | ResourceBlock():
                kind = UserContentChunk if message.role is Role.USER else AgentContentChunk
                yield kind(content=_content(block), message_id=message.id)


def _call(block: ToolUseBlock, about: ToolAbout) -> ToolCall:
    return ToolCall(
        tool_call_id=block.id,
        title=about.title,
        kind=about.kind,
        status=ToolStatus.IN_PROGRESS,
        locations=about.locations,
        raw_input=block.input,
    )


def _plan(block: ToolUseBlock) -> Iterator[PlanUpdate]:
    """Yields the plan that a tool call has shown."""
    if block.name == UPDATE_PLAN.name:
        with suppress(InvalidRequest):
            yield read_plan(block.input)


def _result(block: ToolResultBlock) -> ToolCallUpdate:
    text = join_texts(block.content)
    return ToolCallUpdate(
        tool_call_id=block.tool_use_id,
        status=ToolStatus.FAILED if block.is_error else ToolStatus.COMPLETED,
        content=(ToolContent(content=TextContent(text=text)),),
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
        case ResourceBlock(data=str(data)) if data:
            return ResourceContent(resource=BlobResource(uri=block.uri, blob=data, mime_type=block.mime_type or UNSET))
        case ResourceBlock():
            return ResourceLink(uri=block.uri, name=block.name, mime_type=block.mime_type or UNSET)


def _compaction(marker: Message, block: CompactionBlock) -> CompactionUpdate:
    """Returns a stored compaction as one update: completed, with the whole summary, as ACP requires. Its trigger is "",
    because the marker doesn't contain it."""
    meta = CompactionMeta(
        trigger="",
        compaction_number=block.compaction_number,
        message_id=marker.id,
        messages_archived=block.messages_archived,
        context_size_before=block.context_size_before,
        context_size_after=block.context_size_after,
    )
    return CompactionUpdate(
        compaction_id=compaction_id(marker),
        status=CompactionStatus.COMPLETED,
        summary=(TextContent(text=block.summary),),
        meta=Meta(ullage=meta),
    )
