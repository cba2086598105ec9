"""A new session of an agent, prepared: chosen, compacted if wanted, and measured. Nothing is written yet."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.machine import Machine
from ullage.agents.new_session import is_system
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import ThinkingBlock
from ullage.service.compact.to_budget import fit_budget
from ullage.service.continuing.continuation import Continuation, Known, Target, plan_continuation, spoken, target_of
from ullage.service.continuing.wanted import WantedContext, choose_context
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import import_without_reports
from ullage.transcript.view import Item

# Tokens of a short first prompt with what an agent puts around it, for which it may compact first: 2,500 were measured.
_FIRST_PROMPT = 3_000


class Prepared(Struct, frozen=True, kw_only=True):
    """A new session before its file is written, with its figures.

    `messages` are those of its context, `left_out` those of the conversation that are not among them. `used` is the
    tokens of its context with what the agent adds to every request (`hidden`), and `before` the same before Ullage
    compacted it, None if it did not. `size` is the window and `compacts_at` where the agent compacts by itself, in
    tokens; None if unknown. `fits` is False if the agent may compact the session before it asks the first prompt.
    `notes` are sentences for the user.
    """

    continuation: Continuation
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    fits: bool
    notes: tuple[str, ...] = ()


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
        # System prompts always stay in the context, and the budget is that of the other messages.
        await fit_budget(conversation, wanted.budget + _prompts(conversation), wanted.focus)
        planned = plan_continuation(conversation, target, machine, cwd, known)
    budget = None if compacted else wanted.budget
    active = sum(message.compaction is None for message in planned.session.messages)
    return Prepared(
        continuation=planned,
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


def _shown(conversation: Conversation, target: Target, unreported: int) -> Known:
    """Returns what a conversation shows of its own agent."""
    messages = sum(tokens for _, tokens in spoken(conversation, target))
    threshold = usage_meta(conversation).threshold
    return Known(
        hidden=max(0, conversation.used + unreported - messages),
        size=conversation.budget.window if conversation.budget else None,
        compacts_at=threshold.tokens if threshold else None,
    )


async def _learned(scratch: Workspace, examples: Iterable[ImportedTranscript]) -> Known:
    for example in examples:
        conversation, unreported = await import_without_reports(scratch, example)
        shown = _shown(conversation, target_of(conversation), unreported) if unreported else Known()
        # It is unknown in a session that Ullage wrote without such an example.
        if shown.hidden:
            projection = conversation.projection
            # Models count differently, by a tenth for example. One whose tokenizer is secret is only estimated.
            is_known = projection.counter.error_share == 0
            return replace(shown, measure=projection.counted_view().measure if is_known else None)
    return Known()


def _prompts(conversation: Conversation) -> int:
    items = conversation.transcript.items
    counted = zip(items, conversation.projection.tokens_of(items), strict=True)
    return sum(tokens for item, tokens in counted if is_system(item.message))


def _fits(used: int, known: Known) -> bool:
    limit = known.compacts_at or known.size
    return limit is None or used + _FIRST_PROMPT < limit


def _notes(
    target: Target, planned: Continuation, items: Sequence[Item], known: Known, budget: int | None
) -> Iterator[str]:
    """Yields what the user has to know. `budget` is that of a compacted session, None if this is one."""
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
