"""The tool calls of an answer: each is published, permitted by the user and run. The results are appended in any
case."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.blocks import TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.message import Message, Role
from ullage.model.updates import (
    PermissionAnswer,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolKind,
    ToolStatus,
)
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.models import Provider, Question, SessionTools, ToolAbout, ToolOutcome
from ullage.service.sessions import append
from ullage.transcript.partial_answer import PartialAnswer

# Kinds of tools that may run if no user can be asked, because they change nothing.
_HARMLESS = (ToolKind.READ, ToolKind.SEARCH)
_CANCELLED = "[Cancelled before the tool returned.]"
_REFUSED = "[The user did not permit this tool call.]"
_UNREADABLE = "The tool call's input could not be read: "


class Turn(Struct, frozen=True, kw_only=True):
    """A running prompt turn: its conversation and the provider that answers."""

    conversation: Conversation
    provider: Provider


async def use_tools(turn: Turn, answer: PartialAnswer) -> None:
    """Runs the tool calls of an answer one after another and appends their results as one message. If the turn is
    cancelled, the remaining calls get a result that says so."""
    uses = tuple(answer.tool_uses)
    results: list[ToolResultBlock] = []
    try:
        for use in uses:
            result = await _use_tool(turn, use, answer)
            results.append(result)
    finally:
        results += unmade(uses[len(results) :])
        message = results_message(turn.conversation, results)
        await append(turn.conversation, [message], None, {message.id})


def unmade(uses: Sequence[ToolUseBlock]) -> list[ToolResultBlock]:
    """Returns results, which say that the call was cancelled, for calls that are not run. Providers refuse a request in
    which a call has no result."""
    return [_result(use, ToolOutcome(text=_CANCELLED, is_error=True)) for use in uses]


def results_message(conversation: Conversation, results: Sequence[ToolResultBlock]) -> Message:
    """Returns a new user message with these tool results, to be appended after the answer."""
    ids, clock = conversation.workspace.ports.ids, conversation.workspace.ports.clock
    return Message(id=ids.new("m"), role=Role.USER, content=tuple(results), timestamp=clock.now())


async def _use_tool(turn: Turn, use: ToolUseBlock, answer: PartialAnswer) -> ToolResultBlock:
    about = describe_call(turn.conversation, use)
    call = ToolCall(
        tool_call_id=use.id,
        title=about.title,
        kind=about.kind,
        status=ToolStatus.PENDING,
        locations=about.locations,
        raw_input=use.input,
    )
    turn.conversation.emit(call)
    try:
        result = answer.results.get(use.id) or _result(use, await _outcome(turn, use, call, answer))
    except asyncio.CancelledError:
        turn.conversation.emit(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.FAILED))
        raise
    status = ToolStatus.FAILED if result.is_error else ToolStatus.COMPLETED
    text = join_texts(result.content)
    content = (ToolContent(content=TextContent(text=text)),)
    turn.conversation.emit(ToolCallUpdate(tool_call_id=use.id, status=status, content=content))
    return result


async def _outcome(turn: Turn, use: ToolUseBlock, call: ToolCall, answer: PartialAnswer) -> ToolOutcome:
    if use.id in answer.faults:
        return ToolOutcome(text=_UNREADABLE + answer.faults[use.id], is_error=True)
    conversation, toolbox = turn.conversation, turn.conversation.workspace.ports.toolbox
    session_id, cwd, door = conversation.id, conversation.transcript.cwd, _door_of(conversation, use)
    question = door.question(session_id, use) if door else await toolbox.question(session_id, cwd, use)
    if question is not None and not await is_permitted(turn.conversation, question, call):
        return ToolOutcome(text=_REFUSED, is_error=True)
    turn.conversation.emit(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.IN_PROGRESS))
    return await (door.run(session_id, use) if door else toolbox.run(session_id, cwd, use))


def describe_call(conversation: Conversation, use: ToolUseBlock) -> ToolAbout:
    """Returns a description of a tool call in the session for the user."""
    tools = conversation.workspace.session_tools
    about = tools.describe(conversation.id, use) if tools else None
    return about or conversation.workspace.ports.toolbox.describe(use)


def _door_of(conversation: Conversation, use: ToolUseBlock) -> SessionTools | None:
    """Returns the door's tools if the call is one of theirs, otherwise None."""
    tools = conversation.workspace.session_tools
    return tools if tools is not None and tools.describe(conversation.id, use) is not None else None


async def is_permitted(conversation: Conversation, question: Question, call: ToolCall) -> bool:
    """Returns whether the user permits the tool call, now or by an earlier answer in this session. If no client can ask
    the user, calls that only read are permitted. Raises `CancelledError` if the user stops the turn instead of
    answering."""
    permissions, always = conversation.workspace.permissions, conversation.guards.permitted
    if permissions is None:
        return call.kind in _HARMLESS
    if question.key in always:
        return True
    answer = await permissions.ask(conversation.id, replace(call, title=question.title or call.title))
    if answer is PermissionAnswer.CANCELLED:
        raise asyncio.CancelledError
    if answer is PermissionAnswer.ALLOW_ALWAYS:
        always.add(question.key)
    return answer is not PermissionAnswer.REJECT_ONCE


def _result(use: ToolUseBlock, outcome: ToolOutcome) -> ToolResultBlock:
    text = (TextBlock(text=outcome.text),) if outcome.text else ()
    return ToolResultBlock(tool_use_id=use.id, content=(*text, *outcome.images), is_error=outcome.is_error)
