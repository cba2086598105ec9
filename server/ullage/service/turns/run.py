"""Prompt turns: the user asks, the model answers and calls tools, until it has nothing more to call.

One turn per conversation at a time; further prompts wait in order. Before every request, also between tool calls, the
context is brought under its limit; while an answer is being written nothing is compacted. What a model has said stays
in the transcript however its turn ends.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing

from ullage.model.answer import Fragment, ModelRequest, StopReason, TextDelta, ThinkingDelta, TurnEnd
from ullage.model.blocks import Block
from ullage.model.errors import AnswerBroken, ContextTooLong, ProviderError
from ullage.model.message import Message, Role
from ullage.model.updates import AgentMessageChunk, AgentThoughtChunk, TextContent, UserMessageChunk
from ullage.model.usage import Usage
from ullage.service.archive.recall import message_lines
from ullage.service.asking.request import live_request
from ullage.service.asking.retries import Waits, stream_with_retries
from ullage.service.compact.automatic import fit_limit
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.work import Ask, Job
from ullage.service.sessions import append, declare_tools
from ullage.service.turns.provider_edits import note_cleared, with_clearing
from ullage.service.turns.tool_calls import Turn, results_message, unmade, use_tools
from ullage.transcript.answer import PartialAnswer

_log = logging.getLogger(__name__)
# An agent that calls tools this often in one turn is going round in circles; ACP has a stop reason for it.
_MAX_REQUESTS = 100
# Seconds to wait for the provider's own count of a first prompt. The user waits for an answer; without a count the
# local one has to do.
_COUNT_PATIENCE = 3.0
_ENDS = {StopReason.MAX_TOKENS: TurnEnd.MAX_TOKENS, StopReason.REFUSAL: TurnEnd.REFUSAL}


async def prompt(conversation: Conversation, content: Sequence[Block]) -> TurnEnd:
    """Asks the model, and returns when the turn is over. Raises `NoModelConfigured` before anything is appended, and
    `ProviderError` if the model failed; what was said until then stays."""
    turn = Turn(conversation=conversation, provider=conversation.provider)
    async with conversation.work.turn() as wanted:
        if not wanted or not conversation.is_open:
            return TurnEnd.CANCELLED
        run = conversation.work.start(Job.TURN, _run(turn, content))
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            if run.cancelled():
                # The user stopped the turn; the request to prompt is answered all the same.
                return TurnEnd.CANCELLED
            if not run.cancelling():
                run.cancel()
            await asyncio.wait([run])
            raise


async def _run(turn: Turn, content: Sequence[Block]) -> TurnEnd:
    conversation = turn.conversation
    ids, clock = conversation.workspace.ports.ids, conversation.workspace.ports.clock
    message = Message(id=ids.new("m"), role=Role.USER, content=tuple(content), timestamp=clock.now())
    _introduce(turn)
    await append(conversation, [message], None, {message.id})
    shown = "\n".join(message_lines(message))
    conversation.emit(UserMessageChunk(content=TextContent(text=shown), message_id=message.id))
    for _ in range(_MAX_REQUESTS):
        answer = await _answer(turn)
        if not any(answer.tool_uses):
            return _ENDS.get(answer.stop_reason or StopReason.END_TURN, TurnEnd.END_TURN)
        await use_tools(turn, answer)
    return TurnEnd.MAX_TURN_REQUESTS


def _introduce(turn: Turn) -> None:
    """Notes what the provider does itself, and declares our tools beside those of the client, unless the session has
    them already. A recording knows nothing of either."""
    conversation, guards = turn.conversation, turn.conversation.guards
    capabilities = turn.provider.capabilities(conversation.model)
    guards.replays = capabilities.replays
    if guards.replays:
        return
    guards.provider_clears = capabilities.manages_context
    declared = conversation.transcript.tools
    names = {tool.name for tool in declared}
    missing = [tool for tool in conversation.workspace.ports.toolbox.definitions if tool.name not in names]
    if missing:
        declare_tools(conversation, (*declared, *missing))


async def _answer(turn: Turn) -> PartialAnswer:
    """The next answer, appended. A request that the provider calls too long is made smaller and sent once more."""
    try:
        return await _ask(turn)
    except ContextTooLong:
        conversation = turn.conversation
        await conversation.work.wait(Ask.ANSWER)
        budget, half = conversation.budget, conversation.used // 2
        fit_limit(conversation, half if budget is None else min(budget.target, half))
        return await _ask(turn)


async def _ask(turn: Turn) -> PartialAnswer:
    conversation, request = turn.conversation, await _request(turn)
    ports = conversation.workspace.ports
    waits = Waits(clock=ports.clock, chance=ports.chance, publish=conversation.emit)
    message_id = ports.ids.new("m")
    answer = PartialAnswer()
    # The answer is being written until it is appended: nothing may shrink the context that its usage speaks of.
    with conversation.work.during(Job.ANSWERING):
        try:
            async with aclosing(stream_with_retries(turn.provider, request, waits)) as fragments:
                async for fragment in fragments:
                    answer.add(fragment)
                    _publish_fragment(conversation, message_id, fragment)
            if answer.stop_reason is None:
                raise AnswerBroken(f"{turn.provider.name}'s answer broke off; try again")
            if not answer.content and answer.stop_reason is not StopReason.REFUSAL:
                raise AnswerBroken(f"{turn.provider.name} gave an empty answer; try again")
        finally:
            await _keep(conversation, message_id, answer)
    return answer


async def _request(turn: Turn) -> ModelRequest:
    """What is asked next, brought under the limit first."""
    conversation = turn.conversation
    await conversation.work.wait(Ask.ANSWER)
    if conversation.guards.replays:
        return live_request(conversation)
    if conversation.projection.tracker.totals == Usage():
        await _count_first_prompt(turn, live_request(conversation))
        await conversation.work.wait(Ask.ANSWER)
    budget = conversation.budget
    if budget is not None and conversation.used > budget.usable:
        fit_limit(conversation, budget.usable)
    return with_clearing(conversation, live_request(conversation))


async def _count_first_prompt(turn: Turn, request: ModelRequest) -> None:
    """Takes in how many tokens the provider says a first prompt has. If the provider cannot say, nothing changes: what
    is wrong with it, its answer will show."""
    if not turn.provider.capabilities(request.model).counts_tokens:
        return
    position = turn.conversation.transcript.position
    try:
        # Not `wait_for`: in Python 3.11 it loses a cancellation that comes in the step in which the count is there.
        async with asyncio.timeout(_COUNT_PATIENCE):
            tokens = await turn.provider.count_tokens(request)
    except (ProviderError, TimeoutError) as error:
        _log.info("%s could not count the prompt: %s", turn.provider.name, error or "it took too long")
        return
    if tokens is not None and turn.conversation.transcript.position == position:
        turn.conversation.take_count(tokens)


async def _keep(conversation: Conversation, message_id: str, answer: PartialAnswer) -> None:
    """Appends what the model said. Calls of an answer that was cut off will not be made, and are answered so."""
    if not answer.content:
        return
    note_cleared(conversation, answer.cleared_tool_uses)
    now = conversation.workspace.ports.clock.now()
    messages = [Message(id=message_id, role=Role.ASSISTANT, content=answer.content, timestamp=now)]
    if answer.stop_reason is None and any(answer.tool_uses):
        messages.append(results_message(conversation, unmade(tuple(answer.tool_uses))))
    await append(conversation, messages, answer.usage, {message.id for message in messages})


def _publish_fragment(conversation: Conversation, message_id: str, fragment: Fragment) -> None:
    match fragment:
        case TextDelta(text=text):
            conversation.emit(AgentMessageChunk(content=TextContent(text=text), message_id=message_id))
        case ThinkingDelta(text=text) if text:
            conversation.emit(AgentThoughtChunk(content=TextContent(text=text), message_id=message_id))
        case _:
            pass
