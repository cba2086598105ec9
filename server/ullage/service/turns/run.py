"""Prompt turns: the person asks, the model answers and calls tools, until it has nothing more to call.

One turn per session at a time; further prompts wait in order. Before every request, also between tool calls, the
context is brought under its limit; while an answer is being written nothing is compacted. What a model has said stays
in the transcript however its turn ends.
"""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from ullage.model.answer import Fragment, ModelRequest, StopReason, TextDelta, ThinkingDelta, TurnEnd
from ullage.model.blocks import Block
from ullage.model.errors import AnswerBroken, ContextTooLong
from ullage.model.message import Message, Role
from ullage.model.updates import AgentMessageChunk, AgentThoughtChunk, TextContent, UserMessageChunk
from ullage.model.usage import Usage
from ullage.service.archive.recall import message_lines
from ullage.service.asking.request import live_request
from ullage.service.asking.retries import stream_with_retries
from ullage.service.compact.automatic import fit_limit, settled
from ullage.service.conversation.workspace import Workspace
from ullage.service.sessions import append, declare_tools
from ullage.service.turns.first_count import count_first_prompt
from ullage.service.turns.provider_edits import note_cleared, with_clearing
from ullage.service.turns.tool_calls import results_message, unmade, use_tools
from ullage.service.turns.turn import Turn
from ullage.transcript.answer import PartialAnswer

# An agent that calls tools this often in one turn is going round in circles; ACP has a stop reason for it.
_MAX_REQUESTS = 100
_ENDS = {StopReason.MAX_TOKENS: TurnEnd.MAX_TOKENS, StopReason.REFUSAL: TurnEnd.REFUSAL}


async def prompt(workspace: Workspace, session_id: str, content: Sequence[Block]) -> TurnEnd:
    """Asks the model, and answers when the turn is over. Raises `NoModelConfigured` before anything is appended, and
    `ProviderError` if the model failed; what was said until then stays."""
    session = workspace.session(session_id)
    turn = Turn(workspace=workspace, session_id=session_id, provider=workspace.provider(session))
    async with workspace.turns.turn(session_id) as wanted:
        if not wanted:
            return TurnEnd.CANCELLED
        run = asyncio.get_running_loop().create_task(_run(turn, content))
        workspace.turns.running[session_id] = run
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            if run.cancelled():
                # The person stopped the turn; the request to prompt is answered all the same.
                return TurnEnd.CANCELLED
            workspace.turns.cancel(session_id)
            await asyncio.wait([run])
            raise
        finally:
            workspace.turns.running.pop(session_id, None)


async def _run(turn: Turn, content: Sequence[Block]) -> TurnEnd:
    ids, clock = turn.workspace.ports.ids, turn.workspace.ports.clock
    message = Message(id=ids.new("m"), role=Role.USER, content=tuple(content), timestamp=clock.now())
    _prepare(turn)
    await append(turn.workspace, turn.session_id, [message], None)
    shown = "\n".join(message_lines(message))
    turn.tell(UserMessageChunk(content=TextContent(text=shown), message_id=message.id))
    for _ in range(_MAX_REQUESTS):
        answer = await _answer(turn)
        if not any(answer.tool_uses):
            return _ENDS.get(answer.stop_reason or StopReason.END_TURN, TurnEnd.END_TURN)
        await use_tools(turn, answer)
    return TurnEnd.MAX_TURN_REQUESTS


def _prepare(turn: Turn) -> None:
    """Notes who answers, and declares our tools beside those of the client, unless the session has them already."""
    capabilities = turn.provider.capabilities(turn.workspace.model(turn.session))
    if capabilities.replays:
        turn.workspace.turns.replayed.add(turn.session_id)
        return
    turn.workspace.turns.replayed.discard(turn.session_id)
    if capabilities.manages_context:
        turn.workspace.turns.managed.add(turn.session_id)
    else:
        turn.workspace.turns.managed.discard(turn.session_id)
    declared = turn.session.transcript.tools
    names = {tool.name for tool in declared}
    missing = [tool for tool in turn.workspace.ports.toolbox.definitions if tool.name not in names]
    if missing:
        declare_tools(turn.workspace, turn.session_id, (*declared, *missing))


async def _answer(turn: Turn) -> PartialAnswer:
    """The next answer, appended. A request that the provider calls too long is made smaller and sent once more."""
    try:
        return await _ask(turn)
    except ContextTooLong:
        session = await settled(turn.workspace, turn.session_id)
        budget = turn.workspace.budget(session)
        limit = session.used // 2 if budget is None else min(budget.target, session.used // 2)
        fit_limit(turn.workspace, session, limit)
        return await _ask(turn)


async def _ask(turn: Turn) -> PartialAnswer:
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


async def _request(turn: Turn) -> ModelRequest:
    """What is asked next, brought under the limit first."""
    session = await settled(turn.workspace, turn.session_id)
    if turn.replays:
        return live_request(turn.workspace, session)
    if session.tracker.totals == Usage():
        await count_first_prompt(turn, live_request(turn.workspace, session))
        session = await settled(turn.workspace, turn.session_id)
    budget = turn.workspace.budget(session)
    if budget is not None and session.used > budget.usable:
        session = fit_limit(turn.workspace, session, budget.usable)
    return with_clearing(turn.workspace, session, live_request(turn.workspace, session))


async def _keep(turn: Turn, message_id: str, answer: PartialAnswer) -> None:
    """Appends what the model said. Calls of an answer that was cut off will not be made, and are answered so."""
    if not answer.content:
        return
    note_cleared(turn.workspace, turn.session_id, answer.cleared_tool_uses)
    now = turn.workspace.ports.clock.now()
    messages = [Message(id=message_id, role=Role.ASSISTANT, content=answer.content, timestamp=now)]
    if answer.stop_reason is None and any(answer.tool_uses):
        messages.append(results_message(turn, unmade(tuple(answer.tool_uses))))
    await append(turn.workspace, turn.session_id, messages, answer.usage)


def _tell_fragment(turn: Turn, message_id: str, fragment: Fragment) -> None:
    match fragment:
        case TextDelta(text=text):
            turn.tell(AgentMessageChunk(content=TextContent(text=text), message_id=message_id))
        case ThinkingDelta(text=text) if text:
            turn.tell(AgentThoughtChunk(content=TextContent(text=text), message_id=message_id))
        case _:
            pass
