"""Prepares a new session of an agent: its context is chosen, compacted if wanted, and measured. Nothing is written."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, is_system, uuid_of
from ullage.agents.table import AGENTS, agent_called, agent_of_format
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import InvalidRequest
from ullage.model.events import CompactionEdit, ContextEdited, EditReverted, Event, MessageAppended, first_messages
from ullage.model.message import Message, Role, ThinkingBlock, join_texts
from ullage.service.compact.by_hand import fit_budget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import ContinuingResult
from ullage.service.sessions import import_without_reports
from ullage.transcript.view import Item, cut_points

# Tokens of messages in a compacted session, without what the agent adds. A tenth of the smallest usual window, and five
# times what agents' own compactions leave: 2,200 to 4,200 in recorded conversations.
BUDGET = 20_000


class WantedContext(Struct, frozen=True, kw_only=True):
    """What is wanted of a new session.

    - `agent`: the agent that resumes it, as a word that `word_of` returns; "" for the conversation's own.
    - `before_compaction`: the context as it was before the agent's own last compaction.
    - `from_message`: the context as it was after the message with this number, counted from 1; None for all messages.
    - `compacted`: whether Ullage compacts it. None if it does so for the conversation's own agent, unless one of the
      two above is wanted.
    - `budget`: the most tokens of a compacted context, without what the agent adds.
    - `focus`: what the summary must keep above all.
    """

    agent: str = ""
    before_compaction: bool = False
    from_message: int | None = None
    compacted: bool | None = None
    budget: int = BUDGET
    focus: str = ""

    def is_compacted(self, *, is_own: bool) -> bool:
        """Returns whether Ullage compacts the context. `is_own` says that the conversation's own agent resumes it."""
        if self.compacted is None:
            return is_own and not self.before_compaction and self.from_message is None
        return self.compacted


class ChosenContext(Struct, frozen=True, kw_only=True):
    """The events that a new session is made from. `total` counts all messages; `notes` say what was chosen."""

    events: tuple[Event, ...]
    total: int
    notes: tuple[str, ...] = ()

    @property
    def later(self) -> int:
        """The number of messages after those that lead to the context."""
        return self.total - sum(isinstance(event, MessageAppended) for event in self.events)


def choose_context(events: Sequence[Event], wanted: WantedContext) -> ChosenContext:
    """Returns the events up to the wanted context. Raises `InvalidRequest` if there is no such place."""
    total = sum(isinstance(event, MessageAppended) for event in events)
    if wanted.before_compaction:
        return ChosenContext(events=tuple(_before_compaction(events)), total=total)
    number = wanted.from_message
    if number is None:
        return ChosenContext(events=tuple(events), total=total)
    last = _whole_up_to(events, number)
    note = f"It ends with message #{last:,}, because what begins with #{number:,} must stay whole."
    return ChosenContext(
        events=tuple(first_messages(events, last)), total=total, notes=(note,) if last > number else ()
    )


def _before_compaction(events: Sequence[Event]) -> Sequence[Event]:
    """Returns the events before the agent's own last compaction that is in force."""
    reverted = {event.edit_id: event.reverted for event in events if isinstance(event, EditReverted)}
    for at in reversed(range(len(events))):
        event = events[at]
        edit = event.edit if isinstance(event, ContextEdited) else None
        if isinstance(edit, CompactionEdit) and edit.by_agent and not reverted.get(edit.id):
            return events[: _summary_at(events, at, edit)]
    raise InvalidRequest("the agent has compacted nothing that is still compacted, so there is nothing to go back to")


def _summary_at(events: Sequence[Event], at: int, edit: CompactionEdit) -> int:
    """Returns the index of the answer with the summary, which some agents record before the compaction, or `at`."""
    marker = edit.marker.compaction
    for before in reversed(range(at)):
        event = events[before]
        if isinstance(event, MessageAppended):
            said = join_texts(event.message.content).strip() if event.message.role is Role.ASSISTANT else ""
            return before if said and marker and marker.summary.strip().endswith(said) else at
    return at


def _whole_up_to(events: Sequence[Event], number: int) -> int:
    """Returns the first message from `number` on after which one may cut: calls stay with their results."""
    messages = [event.message for event in events if isinstance(event, MessageAppended)]
    if number > len(messages):
        raise InvalidRequest(f"there is no message #{number:,}; the conversation has {len(messages):,}")
    return next(cut for cut in cut_points(messages) if cut >= number)


class Continuation(Struct, frozen=True, kw_only=True):
    """A session that an agent can resume once its file is written.

    `agent` is the agent's name, `data` the content of the file at `path`, and `command` resumes the session in the
    folder `session.cwd`. `used` is the tokens of its context with the `hidden` ones, which the agent adds to each
    request.
    """

    agent: str
    session: NewSession
    path: str
    data: bytes
    command: tuple[str, ...]
    used: int
    hidden: int

    @property
    def shell_command(self) -> str:
        """A line for a shell that resumes the session from any folder."""
        return f"cd {shlex.quote(self.session.cwd)} && {shlex.join(self.command)}"


class AgentFacts(Struct, frozen=True, kw_only=True):
    """What is known of the agent that is to resume a session, in tokens: what it adds to each request (`hidden`), the
    window (`size`) and where it compacts by itself, None if unknown. `measure` counts a message as its model does; None
    if it is the conversation's own agent, or its model's tokenizer is not known."""

    hidden: int = 0
    size: int | None = None
    compacts_at: int | None = None
    measure: Callable[[Message], int] | None = None


class Target(Struct, frozen=True, kw_only=True):
    """The agent that is to resume a conversation, and how its sessions are written. `is_own` says whether it is the
    conversation's own agent, and `version` which version of it wrote the conversation; "" if unknown."""

    agent: Agent
    writer: SessionWriter
    is_own: bool
    version: str = ""

    @property
    def keeps_reasoning(self) -> bool:
        """Whether the new session has the conversation's reasoning. No agent can read another one's."""
        return self.is_own and self.writer.keeps_reasoning


def target_of(conversation: Conversation, word: str = "") -> Target:
    """Returns the agent that commands call `word`, or without a word the conversation's own.

    Raises `InvalidRequest` if there is no such agent, if its sessions can't be written, or if the conversation is of a
    version of its agent that is not known.
    """
    origin = conversation.transcript.origin
    own = agent_of_format(origin.format) if origin else None
    version = origin.version if origin else ""
    agent = agent_called(word) if word else own
    if word and agent is None:
        raise InvalidRequest(f"there is no agent {word!r}; a new session can be made for: {_possible()}")
    if agent is None:
        raise InvalidRequest(f"this is no conversation of an agent; a new session can be made for: {_possible()}")
    if agent.writer is None:
        raise InvalidRequest(f"no new session can be made for {agent.name}; it can for: {_possible()}")
    if own and own.writer and (reason := own.writer.unknown(version)):
        raise InvalidRequest(f"a conversation of this version of {own.name} can't be continued: {reason}")
    is_own = own is agent
    return Target(agent=agent, writer=agent.writer, is_own=is_own, version=version if is_own else "")


def spoken(
    conversation: Conversation, target: Target, measure: Callable[[Message], int] | None = None
) -> Sequence[tuple[Message, int]]:
    """Returns the messages of the context with their tokens, as the new session has them. `measure`: see `AgentFacts`.

    Messages are left out that the conversation's own agent wrote and writes again by itself in a new session, such as
    its system prompt. So is reasoning, if the agent that is to resume the session can't have it.
    """
    items = conversation.transcript.items
    counted = zip((item.message for item in items), conversation.projection.tokens_of(items), strict=True)
    origin = conversation.transcript.origin
    agent = agent_of_format(origin.format) if origin else None
    is_own = agent.writer.is_own if agent and agent.writer else is_system
    kept = [(message, tokens) for message, tokens in counted if not is_own(message)]
    said = kept if target.keeps_reasoning else [*_without_reasoning(conversation, kept)]
    return [(message, measure(message)) for message, _ in said] if measure else said


def plan_continuation(
    conversation: Conversation, target: Target, machine: Machine, cwd: str, known: AgentFacts
) -> Continuation:
    """Returns a new session with the context of an imported conversation. Nothing is written.

    `cwd` is the folder if the conversation names none. The paths of `machine` are used as they are. Raises
    `InvalidRequest` if the context is empty.
    """
    transcript, ports = conversation.transcript, conversation.workspace.ports
    counted = spoken(conversation, target, known.measure)
    messages = summary_first([message for message, _ in counted])
    if not any(not target.writer.is_own(message) for message in messages):
        raise InvalidRequest("the context is empty, so there is nothing to continue")
    used = known.hidden + sum(tokens for _, tokens in counted)
    session = NewSession(
        id=uuid_of(ports.ids.new("continued")),
        cwd=transcript.cwd or cwd,
        messages=messages,
        made_at=ports.clock.now(),
        version=target.version,
        origin_id=(transcript.origin.origin_id if transcript.origin else "") or conversation.id,
        model=conversation.model if target.is_own else "",
        title=transcript.title,
        used=used - _after_answer(counted),
        window=known.size,
    )
    return Continuation(
        agent=target.agent.name,
        session=session,
        path=target.writer.path(machine, session),
        data=b"".join(msgspec.json.encode(line) + b"\n" for line in target.writer.lines(session)),
        command=target.writer.command(session),
        used=used,
        hidden=known.hidden,
    )


def summary_first(view: Sequence[Message]) -> tuple[Message, ...]:
    """Returns a view with its first marker before all messages, where agents have a summary."""
    at = next((at for at, message in enumerate(view) if message.compaction), 0)
    return (*view[at : at + 1], *view[:at], *view[at + 1 :])


def _without_reasoning(
    conversation: Conversation, counted: Sequence[tuple[Message, int]]
) -> Iterator[tuple[Message, int]]:
    measure = conversation.projection.counted_view().measure
    for message, tokens in counted:
        content = tuple(block for block in message.content if not isinstance(block, ThinkingBlock))
        if len(content) == len(message.content):
            yield message, tokens
        elif content:
            rest = replace(message, content=content, provided=None)
            yield rest, measure(rest)


def _after_answer(counted: Sequence[tuple[Message, int]]) -> int:
    answers = (at for at, (message, _) in enumerate(counted) if message.role is Role.ASSISTANT)
    last = max(answers, default=-1)
    return sum(size for _, size in counted[last + 1 :])


def _possible() -> str:
    return ", ".join(agent.name for agent in AGENTS if agent.writer)


# Tokens of a short first prompt with what an agent puts around it, for which it may compact first: 2,500 were measured.
_FIRST_PROMPT = 3_000


class Prepared(Struct, frozen=True, kw_only=True):
    """A new session before its file is written, with its figures as they are shown."""

    continuation: Continuation
    shown: ContinuingResult


async def prepare_continuation(  # noqa: PLR0913 - the places of a new session
    scratch: Workspace,
    transcript: ImportedTranscript,
    wanted: WantedContext,
    machine: Machine,
    cwd: str,
    *,
    examples: Iterable[ImportedTranscript] = (),
) -> Prepared:
    """Returns the new session that is wanted of a conversation.

    It is imported into `scratch`, a workspace on a store of its own. `cwd` is the folder if the conversation names
    none, and the paths of `machine` are used as they are. `examples` are other conversations of the agent that is to
    resume it, read one by one until one shows what that agent adds to each request; they are needed if it is not the
    conversation's own agent.

    Raises `InvalidRequest` if the session can't be made, and `CannotFit` if the budget is too small.
    """
    chosen = choose_context(transcript.events, wanted)
    conversation, unreported = await import_without_reports(scratch, replace(transcript, events=chosen.events))
    # An agent whose sessions can't be written is refused before anything is compacted.
    target = target_of(conversation, wanted.agent)
    messages = sum(tokens for _, tokens in spoken(conversation, target))
    known = _shown(conversation, target, unreported) if target.is_own else await _learned(scratch, examples)
    planned = whole = plan_continuation(conversation, target, machine, cwd, known)
    compacted, notes = wanted.is_compacted(is_own=target.is_own), [*chosen.notes]
    if compacted and messages <= wanted.budget:
        compacted = False
        notes.append(
            f"The messages count {messages:,} tokens, within the budget of {wanted.budget:,}: nothing was compacted."
        )
    if compacted:
        # System prompts always stay in the context, and the budget is for the other messages.
        await fit_budget(conversation, wanted.budget + _prompts(conversation), wanted.focus)
        planned = plan_continuation(conversation, target, machine, cwd, known)
    budget = None if compacted else wanted.budget
    active = sum(message.compaction is None for message in planned.session.messages)
    notes += _left_out_words(conversation, target, chosen, active, wanted)
    shown = ContinuingResult(
        written=False,
        preview_id=planned.session.id,
        agent=planned.agent,
        agent_session_id=planned.session.id,
        path=planned.path,
        cwd=planned.session.cwd,
        command=planned.command,
        shell=planned.shell_command,
        messages=active,
        left_out=chosen.total - active,
        used=planned.used,
        hidden=known.hidden,
        before=whole.used if compacted else None,
        size=known.size,
        compacts_at=known.compacts_at,
        fits=_fits(planned.used, known),
        notes=(*notes, *_notes(target, planned, conversation.transcript.items, known, budget)),
    )
    return Prepared(continuation=planned, shown=shown)


_SUMMARIZED = "summarized or taken back"


def _left_out_words(
    conversation: Conversation, target: Target, chosen: ChosenContext, active: int, wanted: WantedContext
) -> Iterator[str]:
    """Yields of which kinds the messages are that the new session lacks, nothing if all of them are summarized.
    `active` is the number of those that it has."""
    view = [item.message for item in conversation.transcript.items if item.message.compaction is None]
    after = f"after message #{wanted.from_message:,}" if wanted.from_message else "after the point where it ends"
    after = "from the compaction on" if wanted.before_compaction else after
    counts = {
        after: chosen.later,
        _SUMMARIZED: chosen.total - chosen.later - len(view),
        f"written by {target.agent.name} itself{'' if target.keeps_reasoning else ' or reasoning alone'}": (
            len(view) - active
        ),
    }
    kinds = {kind: count for kind, count in counts.items() if count}
    if {*kinds} - {_SUMMARIZED}:
        told = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        yield f"Left out of its {chosen.total:,} messages: {told}."


def _shown(conversation: Conversation, target: Target, unreported: int) -> AgentFacts:
    messages = sum(tokens for _, tokens in spoken(conversation, target))
    threshold = usage_meta(conversation).threshold
    return AgentFacts(
        hidden=max(0, conversation.used + unreported - messages),
        size=conversation.budget.window if conversation.budget else None,
        compacts_at=threshold.tokens if threshold else None,
    )


async def _learned(scratch: Workspace, examples: Iterable[ImportedTranscript]) -> AgentFacts:
    for example in examples:
        conversation, unreported = await import_without_reports(scratch, example)
        shown = _shown(conversation, target_of(conversation), unreported) if unreported else AgentFacts()
        # It is unknown in a session that Ullage wrote without such an example.
        if shown.hidden:
            projection = conversation.projection
            # Models count differently, by a tenth for example. One whose tokenizer is secret is only estimated.
            is_known = projection.counter.error_share == 0
            return replace(shown, measure=projection.counted_view().measure if is_known else None)
    return AgentFacts()


def _prompts(conversation: Conversation) -> int:
    items = conversation.transcript.items
    counted = zip(items, conversation.projection.tokens_of(items), strict=True)
    return sum(tokens for item, tokens in counted if is_system(item.message))


def _fits(used: int, known: AgentFacts) -> bool:
    limit = known.compacts_at or known.size
    return limit is None or used + _FIRST_PROMPT < limit


def _notes(
    target: Target, planned: Continuation, items: Sequence[Item], known: AgentFacts, budget: int | None
) -> Iterator[str]:
    agent, limit = target.agent.name, known.compacts_at or known.size
    if not _fits(planned.used, known):
        offer = "; compacted by Ullage it has room" * (budget is not None and _fits(known.hidden + budget, known))
        yield f"{agent} compacts at {limit:,} tokens, so it may compact this session at once{offer}."
    reasons = any(isinstance(block, ThinkingBlock) for item in items for block in item.message.content)
    # An agent that keeps its reasoning encrypted seldom says in its file whether there was any.
    if not target.keeps_reasoning and (reasons or target.is_own):
        yield "Reasoning is left out: only the account and the model that wrote it can read it."
    if not target.is_own and known.hidden:
        yield f"What {agent} adds to every request is taken from another conversation of it."
    elif not target.is_own:
        yield f"What {agent} adds to every request is not in the figure, because no conversation of it was found."
