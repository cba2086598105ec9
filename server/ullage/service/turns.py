"""Prompt turns: the model answers the user's prompt and calls tools, until it calls no more tools.

A conversation has one turn at a time; further prompts wait in order. Before every request, also between tool calls, the
context is brought under its limit. While an answer is written nothing is compacted. Everything that the model has said
stays in the transcript, however the turn ends.

When a turn begins, the files that the prompt links to are read. Edits that a provider makes by itself are recorded.

The tool calls of an answer: each is published, permitted by the user and run. The results are appended in any case.
"""

import asyncio
import base64
import logging
from collections.abc import Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.file_reads import path_of_uri
from ullage.edits.clear import MEMORY_TOOLS, ClearOptions, cleared_elsewhere
from ullage.model import words
from ullage.model.answer import ModelRequest, StopReason, TextDelta, ThinkingDelta, ToolUseClearing, TurnEnd
from ullage.model.errors import AnswerBroken, ContextTooLong, InvalidRequest, ProviderError
from ullage.model.events import ContextEdited
from ullage.model.message import (
    PDF,
    Block,
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    join_texts,
)
from ullage.model.updates import (
    AgentMessageChunk,
    AgentThoughtChunk,
    Notice,
    PermissionAnswer,
    Severity,
    TextContent,
    ToolCall,
    ToolCallUpdate,
    ToolContent,
    ToolKind,
    ToolLocation,
    ToolStatus,
    UserMessageChunk,
)
from ullage.model.usage import Usage
from ullage.policy.budget import target_for
from ullage.service.archive.search import message_lines
from ullage.service.asking import Waits, live_request, stream_with_retries
from ullage.service.compact.automatic import cannot_be_sent, edits_to_fit
from ullage.service.conversation.bus import context_cleared
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import require_not_kept
from ullage.service.conversation.work import Ask, Job
from ullage.service.plan import OLD_TOOL_USES
from ullage.service.ports.models import LinkedFile, LinkedFiles, Provider, Question, ToolAbout, ToolOutcome
from ullage.service.sessions import add_system_prompt, append, declare_tools
from ullage.transcript.view import PartialAnswer, kept

# Kinds of tools that may run if no user can be asked, because they change nothing.
_HARMLESS = (ToolKind.READ, ToolKind.SEARCH)
_CANCELLED = "[Cancelled before the tool returned.]"
_NOT_PERMITTED = "[The user did not permit this tool call.]"
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
    """Returns results that say `cancelled` for calls that are not run: providers refuse calls without one."""
    return [_result(use, ToolOutcome(text=_CANCELLED, is_error=True)) for use in uses]


def results_message(conversation: Conversation, results: Sequence[ToolResultBlock]) -> Message:
    """Returns a new user message with these tool results, to be appended after the answer."""
    ids, clock = conversation.workspace.ports.ids, conversation.workspace.ports.clock
    return Message(id=ids.new("m"), role=Role.USER, content=tuple(results), timestamp=clock.now())


async def _use_tool(turn: Turn, use: ToolUseBlock, answer: PartialAnswer) -> ToolResultBlock:
    call = call_update(use, describe_call(turn.conversation, use), ToolStatus.PENDING)
    turn.conversation.emit(call)
    try:
        result = answer.results.get(use.id) or _result(use, await _outcome(turn, use, call, answer))
    except asyncio.CancelledError:
        turn.conversation.emit(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.FAILED))
        raise
    turn.conversation.emit(result_update(result))
    return result


def call_update(use: ToolUseBlock, about: ToolAbout, status: ToolStatus) -> ToolCall:
    """Returns the update that shows a tool call to the user."""
    return ToolCall(
        tool_call_id=use.id,
        title=about.title,
        kind=about.kind,
        status=status,
        locations=about.locations,
        raw_input=use.input,
    )


def result_update(result: ToolResultBlock) -> ToolCallUpdate:
    """Returns the update that shows the text of a tool call's result to the user."""
    return ToolCallUpdate(
        tool_call_id=result.tool_use_id,
        status=ToolStatus.FAILED if result.is_error else ToolStatus.COMPLETED,
        content=(ToolContent(content=TextContent(text=join_texts(result.content))),),
    )


async def _outcome(turn: Turn, use: ToolUseBlock, call: ToolCall, answer: PartialAnswer) -> ToolOutcome:
    if use.id in answer.faults:
        return ToolOutcome(text=_UNREADABLE + answer.faults[use.id], is_error=True)
    conversation, toolbox = turn.conversation, turn.conversation.workspace.ports.toolbox
    tools = conversation.workspace.session_tools
    session_id, cwd, door = (
        conversation.id,
        conversation.transcript.cwd,
        (tools if tools is not None and tools.describe(conversation.id, use) is not None else None),
    )
    question = door.question(session_id, use) if door else await toolbox.question(session_id, cwd, use)
    if question is not None and not await is_permitted(turn.conversation, question, call):
        return ToolOutcome(text=_NOT_PERMITTED, is_error=True)
    turn.conversation.emit(ToolCallUpdate(tool_call_id=use.id, status=ToolStatus.IN_PROGRESS))
    return await (door.run(session_id, use) if door else toolbox.run(session_id, cwd, use))


def describe_call(conversation: Conversation, use: ToolUseBlock) -> ToolAbout:
    """Returns a description of a tool call in the session for the user."""
    tools = conversation.workspace.session_tools
    about = tools.describe(conversation.id, use) if tools else None
    return about or conversation.workspace.ports.toolbox.describe(use)


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
    view = conversation.transcript.view
    last = view[-1] if view else None
    message = last if last is not None and last.role is Role.USER and last.content == tuple(content) else None
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
        budget, view = conversation.budget, conversation.projection.counted_view()
        held = view.held(view.pinned(conversation.transcript.pinned))
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
                    match fragment:
                        case TextDelta(text=text):
                            conversation.emit(AgentMessageChunk(content=TextContent(text=text), message_id=message_id))
                        case ThinkingDelta(text=text) if text:
                            conversation.emit(AgentThoughtChunk(content=TextContent(text=text), message_id=message_id))
                        case _:
                            pass
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
    """Sets the context's size to the provider's count of a first prompt, if it counts in time."""
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
    """Returns a link with what it links to. A link to a folder is returned as it is. `left` is how many characters may
    still be read. Raises `InvalidRequest`, whose text ends a sentence, if the file is not read."""
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


async def _may_read(conversation: Conversation, file: LinkedFile, question: Question) -> bool:
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


def with_clearing(conversation: Conversation, request: ModelRequest) -> ModelRequest:
    """Returns the request with settings by which the provider clears old tool uses, if the provider does so by itself
    and the context is managed. Otherwise returns the request unchanged."""
    budget, settings = conversation.budget, conversation.settings
    if budget is None or not conversation.guards.provider_clears or not conversation.is_managed:
        return request
    clearing = ToolUseClearing(
        trigger=budget.clear_at,
        keep=settings.keep_tool_uses,
        clear_at_least=settings.clear_at_least,
        exclude_tools=tuple(sorted({*settings.exclude_tools, *MEMORY_TOOLS})),
        clear_tool_inputs=settings.clear_tool_inputs,
    )
    return replace(request, clearing=clearing)


def note_cleared(conversation: Conversation, count: int) -> tuple[tuple[ContextEdited, ...], Notice | None]:
    """Returns the edit for the `count` tool uses that the provider cleared before it wrote the answer that has just
    come, and the notice of it; nothing if there are none. The edit must be recorded before the answer's usage, because
    that usage counts a prompt without the cleared content."""
    if not count:
        return (), None
    settings, before = conversation.settings, conversation.used
    options = ClearOptions(
        exclude_tools=frozenset(settings.exclude_tools), clear_tool_inputs=settings.clear_tool_inputs
    )
    view, transcript = conversation.projection.counted_view(), conversation.transcript
    untouched = frozenset({*kept(view.messages, transcript.pinned), *transcript.relied})
    edit = cleared_elsewhere(view, count, options, conversation.workspace.new_stamp(), untouched)
    if edit is None:
        return (), None
    edit = replace(edit, context_size_before=before)
    after = conversation.imagine(ContextEdited(edit=edit)).used
    return (ContextEdited(edit=edit),), context_cleared(OLD_TOOL_USES.what, before, after, [edit])
