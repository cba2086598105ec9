"""A new session of an agent, prepared: chosen, compacted if wanted, and measured. Nothing is written yet."""

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.machine import Machine
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.service.compact.to_budget import fit_budget
from ullage.service.continuing.continuation import Continuation, Target, plan_continuation, target_of
from ullage.service.continuing.wanted import WantedContext, choose_context
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import import_without_reports


class Prepared(Struct, frozen=True, kw_only=True):
    """A new session before its file is written, with its figures.

    `messages` are those of its context, `left_out` those of the conversation that are not among them. `used` is the
    tokens of its context with what the agent adds to every request (`hidden`), and `before` the same before Ullage
    compacted it, None if it did not. `size` is the window and `compacts_at` where the agent compacts by itself, in
    tokens; None if unknown. `notes` are sentences for the user.
    """

    continuation: Continuation
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    notes: tuple[str, ...] = ()


async def prepare_continuation(
    scratch: Workspace, transcript: ImportedTranscript, wanted: WantedContext, machine: Machine, cwd: str
) -> Prepared:
    """Returns the new session that is wanted of a conversation. It is imported into `scratch`, a workspace on a store
    of its own. `cwd` is the folder if the conversation names none, and the paths of `machine` are used as they are.

    Raises `InvalidRequest` if the session can't be made, and `CannotFit` if the budget is too small.
    """
    chosen = choose_context(transcript.events, wanted)
    conversation, hidden = await import_without_reports(scratch, replace(transcript, events=chosen.events))
    # An agent whose sessions can't be written is refused before anything is compacted.
    target = target_of(conversation, wanted.agent)
    hidden = hidden if target.is_own else 0
    whole = plan_continuation(conversation, target, machine, cwd, hidden)
    compacted, notes = wanted.is_compacted(is_own=target.is_own), [*chosen.notes]
    if compacted and conversation.used <= wanted.budget:
        compacted = False
        notes.append(
            f"The messages count {conversation.used:,} tokens, within the budget of {wanted.budget:,}: "
            "nothing was compacted."
        )
    planned = whole
    if compacted:
        await fit_budget(conversation, wanted.budget, wanted.focus)
        planned = plan_continuation(conversation, target, machine, cwd, hidden)
    meta = usage_meta(conversation)
    size = conversation.budget.window if target.is_own and conversation.budget else None
    compacts_at = meta.threshold.tokens if target.is_own and meta.threshold else None
    active = conversation.transcript.active
    return Prepared(
        continuation=planned,
        messages=active,
        left_out=chosen.total - active,
        used=planned.used,
        hidden=hidden,
        before=whole.used if compacted else None,
        size=size,
        compacts_at=compacts_at,
        notes=(*notes, *_notes(target, planned, compacts_at)),
    )


def _notes(target: Target, planned: Continuation, compacts_at: int | None) -> Iterator[str]:
    agent = target.agent.name
    if compacts_at is not None and planned.used >= compacts_at:
        yield f"{agent} compacts at {compacts_at:,} tokens, so it may compact this session at once."
    if not target.is_own:
        yield f"What {agent} adds to every request is not in the figure."
