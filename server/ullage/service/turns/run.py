"""Prompt turns: the model answers the user's prompt and calls tools, until it calls no more tools.

A conversation has one turn at a time; further prompts wait in order. Before every request, also between tool calls, the
context is brought under its limit. While an answer is written nothing is compacted. Everything that the model has said
stays in the transcript, however the turn ends.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from ullage.model import words
from ullage.model.answer import Fragment, ModelRequest, StopReason, TextDelta, ThinkingDelta, TurnEnd
from ullage.model.blocks import Block, ResourceBlock
from ullage.model.errors import AnswerBroken, ContextTooLong, ProviderError
from ullage.model.events import ContextEdited
from ullage.model.message import Message, Role
from ullage.model.updates import AgentMessageChunk, AgentThoughtChunk, Notice, Severity, TextContent, UserMessageChunk
from ullage.model.usage import Usage
from ullage.policy.decision import target_for
from ullage.service.archive.recall import message_lines
from ullage.service.asking.request import live_request
from ullage.service.asking.retries import Waits, stream_with_retries
from ullage.service.compact.room import cannot_be_sent, edits_to_fit
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.read_only import require_not_kept
from ullage.service.conversation.work import Ask, Job
from ullage.service.sessions import add_system_prompt, append, declare_tools
from ullage.service.turns.links import read_links
from ullage.service.turns.provider_edits import note_cleared, with_clearing
from ullage.service.turns.tool_calls import Turn, results_message, unmade, use_tools
from ullage.transcript.partial_answer import PartialAnswer

_log = logging.getLogger(__name__)
# An agent that has made this many requests in one turn is repeating itself. ACP has a stop reason for this case.
_MAX_REQUESTS = 100
# Seconds to wait for the provider's count of a first prompt. The user waits for an answer, so after this time the local
# count is used.
_COUNT_PATIENCE = 3.0
_ENDS = {StopReason.MAX_TOKENS: TurnEnd.MAX_TOKENS, StopReason.REFUSAL: TurnEnd.REFUSAL}


async def prompt(conversation: Conversation, content: Sequence[Block]) -> TurnEnd:
    """Appends the user's prompt, runs the prompt turn and returns how it ended. Raises `SessionFollowed`,
    `NoModelConfigured` or `SdkMissing` before anything is appended, and `ProviderError` if the model failed; the
    messages up to the failure stay. If the view ends with the same prompt, still without an answer, it is not appended
    again, so that a failed prompt can be sent again."""
    require_not_kept(conversation)
    turn = Turn(conversation=conversation, provider=conversation.provider)
    async with conversation.work.turn() as wanted:
        if not wanted or not conversation.is_open:
            return TurnEnd.CANCELLED
        run = conversation.work.start(Job.TURN, _run(turn, content))
        try:
            return await asyncio.shield(run)
        except asyncio.CancelledError:
            if run.cancelled():
                # The user has stopped the turn. The request to prompt still gets an answer.
                return TurnEnd.CANCELLED
            if not run.cancelling():
                run.cancel()
            await asyncio.wait([run])
            raise


async def _run(turn: Turn, content: Sequence[Block]) -> TurnEnd:
    conversation = turn.conversation
    ids, clock = conversation.workspace.ports.ids, conversation.workspace.ports.clock
    await _introduce(turn)
    content = await read_links(conversation, content)
    _notice_what_is_not_taken(turn, content)
    message = _unanswered(conversation, content)
    if message is None:
        message = Message(id=ids.new("m"), role=Role.USER, content=content, timestamp=clock.now())
        await append(conversation, [message], None, {message.id})
    shown = "\n".join(message_lines(message))
    conversation.emit(UserMessageChunk(content=TextContent(text=shown), message_id=message.id))
    for _ in range(_MAX_REQUESTS):
        answer = await _answer(turn)
        if not any(answer.tool_uses):
            return _ENDS.get(answer.stop_reason or StopReason.END_TURN, TurnEnd.END_TURN)
        await use_tools(turn, answer)
    return TurnEnd.MAX_TURN_REQUESTS


def _notice_what_is_not_taken(turn: Turn, content: Sequence[Block]) -> None:
    """Sends a notice of those contents of a prompt that the model's provider does not take. In the request there is a
    sentence in their place."""
    given = [block for block in content if isinstance(block, ResourceBlock) and block.data]
    documents = [block.title for block in given if block.is_document]
    others = [block.title for block in given if not block.is_document]
    capabilities = turn.provider.capabilities(turn.conversation.model)
    said = [words.blobs_not_taken(others)] if others else []
    if documents and not (capabilities.documents or capabilities.replays):
        said.append(words.documents_not_taken(turn.provider.name, documents))
    if said:
        turn.conversation.emit(Notice(severity=Severity.WARNING, title=" ".join(said)))


def _unanswered(conversation: Conversation, content: Sequence[Block]) -> Message | None:
    """Returns the last message of the view if it is a user's message with this content, so a prompt still without an
    answer. Otherwise returns None."""
    view = conversation.transcript.view
    last = view[-1] if view else None
    return last if last is not None and last.role is Role.USER and last.content == tuple(content) else None


async def _introduce(turn: Turn) -> None:
    """Notes in the guards what the provider does by itself, adds the door's system prompt to an empty session, and
    declares Ullage's own tools in addition to the session's. A replayed recording gets neither."""
    conversation, guards = turn.conversation, turn.conversation.guards
    capabilities = turn.provider.capabilities(conversation.model)
    guards.replays = capabilities.replays
    if guards.replays:
        return
    guards.provider_clears = capabilities.manages_context
    introduce = conversation.workspace.introduce
    if introduce is not None and not conversation.transcript.items:
        prompt = await introduce(conversation)
        # Another message may have come in the meantime.
        if not conversation.transcript.items:
            add_system_prompt(conversation, prompt)
    if conversation.workspace.session_tools is not None:
        await conversation.workspace.session_tools.prepare(conversation.id)
    _declare(conversation)


def _declare(conversation: Conversation) -> None:
    """Declares the tools that the model is to be offered now, unless they are declared already."""
    declared, door = conversation.transcript.tools, conversation.workspace.session_tools
    names = {tool.name for tool in declared}
    missing = [tool for tool in conversation.workspace.ports.toolbox.definitions if tool.name not in names]
    wanted = (*declared, *missing)
    if door is not None:
        wanted = door.offered(conversation.id, wanted)
    if wanted != declared:
        declare_tools(conversation, wanted)


class _Asked(Struct, frozen=True, kw_only=True):
    """A request, and the edits that its context has and that are recorded with the answer: a request without an answer
    leaves the context as it is. `edits_seen` is the conversation's when it was made."""

    request: ModelRequest
    cuts: tuple[ContextEdited, ...] = ()
    edits_seen: int


async def _answer(turn: Turn) -> PartialAnswer:
    """Requests the model's next answer, appends it and returns it. If the provider finds the request too long, it is
    sent once more with a truncated context."""
    try:
        return await _ask(turn)
    except ContextTooLong:
        conversation = turn.conversation
        await conversation.work.wait(Ask.ANSWER)
        budget, held = conversation.budget, conversation.projection.counted_view().held(conversation.transcript.pinned)
        half = (held + conversation.used) // 2
        limit = half if budget is None else min(target_for(budget, held), half)
        if edits_to_fit(conversation, limit) is None:
            raise
        return await _ask(turn, limit)


async def _ask(turn: Turn, limit: int | None = None) -> PartialAnswer:
    conversation, asked = turn.conversation, await _request(turn, limit)
    ports = conversation.workspace.ports
    waits = Waits(clock=ports.clock, chance=ports.chance, publish=conversation.emit)
    message_id = ports.ids.new("m")
    answer = PartialAnswer()
    # The answer's usage counts the present context, so nothing may change the context before the answer is appended.
    with conversation.work.during(Job.ANSWERING):
        try:
            async with aclosing(stream_with_retries(turn.provider, asked.request, waits)) as fragments:
                async for fragment in fragments:
                    answer.add(fragment)
                    _publish_fragment(conversation, message_id, fragment)
            if answer.stop_reason is None:
                raise AnswerBroken(f"{turn.provider.name}'s answer broke off; try again")
            if not answer.content and answer.stop_reason is not StopReason.REFUSAL:
                raise AnswerBroken(f"{turn.provider.name} gave an empty answer; try again")
        finally:
            await _keep(conversation, message_id, answer, asked)
    return answer


async def _request(turn: Turn, limit: int | None) -> _Asked:
    """Returns the turn's next request, with a context truncated to `limit` tokens, or to usable if that is None. Raises
    `CannotFit`, and changes nothing, if what must stay exceeds that."""
    conversation = turn.conversation
    await conversation.work.wait(Ask.ANSWER)
    if conversation.guards.replays:
        return _Asked(request=live_request(conversation), edits_seen=conversation.edits_seen)
    # The last tool call may have changed them.
    if conversation.workspace.session_tools is not None:
        await conversation.workspace.session_tools.refresh(conversation.id)
    _declare(conversation)
    if conversation.projection.tracker.totals == Usage():
        await _count_first_prompt(turn, live_request(conversation))
        await conversation.work.wait(Ask.ANSWER)
    budget = conversation.budget
    if limit is None and budget is not None:
        limit = budget.usable
    cuts = edits_to_fit(conversation, limit) if limit is not None and conversation.used > limit else ()
    if cuts is None:
        raise cannot_be_sent(conversation, limit or 0)
    context = conversation.imagine(*cuts) if cuts else conversation
    door = conversation.workspace.session_tools
    request = replace(live_request(context), reminder=door.reminder(conversation.id) if door else "")
    return _Asked(request=with_clearing(conversation, request), cuts=cuts, edits_seen=conversation.edits_seen)


async def _count_first_prompt(turn: Turn, request: ModelRequest) -> None:
    """Sets the size of the context to the provider's own count of a first prompt. If the provider cannot count in time,
    the local count stays."""
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


async def _keep(conversation: Conversation, message_id: str, answer: PartialAnswer, asked: _Asked) -> None:
    """Appends an answer, complete or not, with its usage and the edits that its request had. If it broke off, its tool
    calls get results that say that they were cancelled."""
    if not answer.content:
        return
    # Another process may have edited the context meanwhile, and may have left out what the cuts are about.
    cuts = asked.cuts if conversation.edits_seen == asked.edits_seen else ()
    context = conversation.imagine(*cuts) if cuts else conversation
    cleared, notice = note_cleared(context, answer.cleared_tool_uses)
    now = conversation.workspace.ports.clock.now()
    messages = [Message(id=message_id, role=Role.ASSISTANT, content=answer.content, timestamp=now)]
    if answer.stop_reason is None and any(answer.tool_uses):
        messages.append(results_message(conversation, unmade(tuple(answer.tool_uses))))
    await append(conversation, messages, answer.usage, {message.id for message in messages}, (*cuts, *cleared))
    if notice is not None:
        conversation.emit(notice)


def _publish_fragment(conversation: Conversation, message_id: str, fragment: Fragment) -> None:
    match fragment:
        case TextDelta(text=text):
            conversation.emit(AgentMessageChunk(content=TextContent(text=text), message_id=message_id))
        case ThinkingDelta(text=text) if text:
            conversation.emit(AgentThoughtChunk(content=TextContent(text=text), message_id=message_id))
        case _:
            pass
