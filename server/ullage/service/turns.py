"""Prompt turns: the person asks, the model answers and calls tools, until it has nothing more to call.

One turn per session at a time; further prompts wait in order. Before every request, also between tool calls, the
context is brought under its limit; while an answer is being written nothing is compacted. What a model has said stays
in the transcript however its turn ends.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from msgspec import Struct

from ullage.model.answer import Fragment, ModelRequest, StopReason, TextDelta, ThinkingDelta, TurnEnd
from ullage.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.errors import AnswerBroken, ContextTooLong
from ullage.model.message import Message, Role
from ullage.model.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolStatus,
    Update,
    UserMessageChunk,
)
from ullage.service.live_request import live_request
from ullage.service.model_ports import Provider, ToolOutcome
from ullage.service.retries import stream_with_retries
from ullage.service.session import Session
from ullage.service.sessions import append, declare_tools
from ullage.service.shrink import fit_limit, settled
from ullage.service.workspace import Workspace
from ullage.transcript.answer import PartialAnswer

# An agent that calls tools this often in one turn is going round in circles; ACP has a stop reason for it.
_MAX_REQUESTS = 100
_ENDS = {StopReason.MAX_TOKENS: TurnEnd.MAX_TOKENS, StopReason.REFUSAL: TurnEnd.REFUSAL}
_CANCELLED = "[Cancelled before the tool returned.]"
_REFUSED = "[The person did not permit this tool call.]"
_UNREADABLE = "The tool call's input could not be read: "


class _Turn(Struct, kw_only=True):
    """A running turn."""

    workspace: Workspace
    session_id: str
    provider: Provider

    @property
    def session(self) -> Session:
        return self.workspace.session(self.session_id)

    def tell(self, update: Update) -> None:
        self.workspace.emit(self.session_id, update)


async def prompt(workspace: Workspace, session_id: str, content: Sequence[Block]) -> TurnEnd:
    """Asks the model, and answers when the turn is over. Raises `NoModelConfigured` before anything is appended, and
    `ProviderError` if the model failed; what was said until then stays."""
    session = workspace.session(session_id)
    provider = workspace.provider(session)
    async with workspace.turns.turn(session_id):
        run = asyncio.ensure_future(_run(_Turn(workspace=workspace, session_id=session_id, provider=provider), content))
        workspace.turns.running[session_id] = run
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            if run.cancelled():
                # The person stopped the turn; the request to prompt is answered all the same.
                return TurnEnd.CANCELLED
            run.cancel()
            await asyncio.wait([run])
            raise
        finally:
            workspace.turns.running.pop(session_id, None)


async def _run(turn: _Turn, content: Sequence[Block]) -> TurnEnd:
    ids, clock = turn.workspace.ports.ids, turn.workspace.ports.clock
    message = Message(id=ids.new("m"), role=Role.USER, content=tuple(content), timestamp=clock.now())
    _offer_tools(turn)
    await append(turn.workspace, turn.session_id, [message], None)
    turn.tell(UserMessageChunk(content=TextContent(text=message.text), message_id=message.id))
    for _ in range(_MAX_REQUESTS):
        answer = await _answer(turn)
        if not any(answer.tool_uses):
            return _ENDS.get(answer.stop_reason or StopReason.END_TURN, TurnEnd.END_TURN)
        await _use_tools(turn, answer)
    return TurnEnd.MAX_TURN_REQUESTS


def _offer_tools(turn: _Turn) -> None:
    """Declares our tools beside those of the client, unless the session has them already."""
    declared = turn.session.transcript.tools
    names = {tool.name for tool in declared}
    missing = [tool for tool in turn.workspace.ports.toolbox.definitions if tool.name not in names]
    if missing:
        declare_tools(turn.workspace, turn.session_id, (*declared, *missing))


async def _answer(turn: _Turn) -> PartialAnswer:
    """The next answer, appended. A request that the provider calls too long is made smaller and sent once more."""
    try:
        return await _ask(turn)
    except ContextTooLong:
        session = await settled(turn.workspace, turn.session_id)
        budget = turn.workspace.budget(session)
        limit = session.used // 2 if budget is None else min(budget.target, session.used // 2)
        fit_limit(turn.workspace, session, limit)
        return await _ask(turn)


async def _ask(turn: _Turn) -> PartialAnswer:
    request = await _request(turn)
    message_id = turn.workspace.ports.ids.new("m")
    answer = PartialAnswer()
    try:
        with turn.workspace.turns.answering(turn.session_id):
            async with aclosing(stream_with_retries(turn.provider, request, turn.tell)) as fragments:
                async for fragment in fragments:
                    answer.add(fragment)
                    _tell_fragment(turn, message_id, fragment)
        if answer.stop_reason is None:
            raise AnswerBroken(f"{turn.provider.name}'s answer broke off; try again")
        if not answer.content and answer.stop_reason is not StopReason.REFUSAL:
            raise AnswerBroken(f"{turn.provider.name} gave an empty answer; try again")
    finally:
        await _keep(turn, message_id, answer)
    return answer


async def _request(turn: _Turn) -> ModelRequest:
    """What is asked next, brought under the limit first."""
    session = await settled(turn.workspace, turn.session_id)
    budget = turn.workspace.budget(session)
    if budget is not None and session.used > budget.usable:
        session = fit_limit(turn.workspace, session, budget.usable)
    return live_request(turn.workspace, session)


async def _keep(turn: _Turn, message_id: str, answer: PartialAnswer) -> None:
    """Appends what the model said. Calls of an answer that was cut off will not be made, and are answered so."""
    if not answer.content:
        return
    now = turn.workspace.ports.clock.now()
    messages = [Message(id=message_id, role=Role.ASSISTANT, content=answer.content, timestamp=now)]
    if answer.stop_reason is None and any(answer.tool_uses):
        results = [_result(use, ToolOutcome(text=_CANCELLED, is_error=True)) for use in answer.tool_uses]
        messages.append(_results_message(turn, results))
    await append(turn.workspace, turn.session_id, messages, answer.usage)


async def _use_tools(turn: _Turn, answer: PartialAnswer) -> None:
    """Runs the calls one after another and appends their results as one message, cancelled ones included."""
    uses = tuple(answer.tool_uses)
    outcomes: list[ToolOutcome] = []
    try:
        for use in uses:
            outcome = await _use_tool(turn, use, answer.faults.get(use.id, ""))
            outcomes.append(outcome)
    finally:
        missing = len(uses) - len(outcomes)
        outcomes += [ToolOutcome(text=_CANCELLED, is_error=True)] * missing
        results = [_result(use, outcome) for use, outcome in zip(uses, outcomes, strict=True)]
        await append(turn.workspace, turn.session_id, [_results_message(turn, results)], None)


async def _use_tool(turn: _Turn, use: ToolUseBlock, fault: str) -> ToolOutcome:
    toolbox = turn.workspace.ports.toolbox
    about = toolbox.describe(use)
    call = ToolCall(
        tool_call_id=use.id,
        title=about.title,
        kind=about.kind,
        status=ToolStatus.PENDING,
        locations=about.locations,
        raw_input=use.input,
    )
    turn.tell(call)
    if fault:
        outcome = ToolOutcome(text=_UNREADABLE + fault, is_error=True)
    elif about.needs_permission and not await turn.workspace.permitted(turn.session_id, call):
        outcome = ToolOutcome(text=_REFUSED, is_error=True)
    else:
        turn.tell(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.IN_PROGRESS))
        outcome = await _run_tool(turn, use)
    status = ToolStatus.FAILED if outcome.is_error else ToolStatus.COMPLETED
    content = (ToolContent(content=TextContent(text=outcome.text)),)
    turn.tell(ToolCallUpdate(tool_call_id=use.id, status=status, content=content))
    return outcome


async def _run_tool(turn: _Turn, use: ToolUseBlock) -> ToolOutcome:
    try:
        return await turn.workspace.ports.toolbox.run(turn.session_id, turn.session.transcript.cwd, use)
    except asyncio.CancelledError:
        turn.tell(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.FAILED))
        raise


def _results_message(turn: _Turn, results: Sequence[ToolResultBlock]) -> Message:
    ids, clock = turn.workspace.ports.ids, turn.workspace.ports.clock
    return Message(id=ids.new("m"), role=Role.USER, content=tuple(results), timestamp=clock.now())


def _result(use: ToolUseBlock, outcome: ToolOutcome) -> ToolResultBlock:
    return ToolResultBlock(
        tool_use_id=use.id, content=(TextBlock(text=outcome.text),) if outcome.text else (), is_error=outcome.is_error
    )


def _tell_fragment(turn: _Turn, message_id: str, fragment: Fragment) -> None:
    match fragment:
        case TextDelta(text=text):
            turn.tell(AgentMessageChunk(content=TextContent(text=text), message_id=message_id))
        case ThinkingDelta(text=text) if text:
            turn.tell(AgentThoughtChunk(content=TextContent(text=text), message_id=message_id))
        case _:
            pass
