"""What each arm carries over a cut: the contexts, made as they would have been made there."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ullage.app.scratch import reading_settings, throwaway_workspace
from ullage.cli.surviving.cuts import Cut, find_cuts, messages_of
from ullage.edits.compaction import joined
from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.lost.brief import write_brief
from ullage.lost.finding import find_lost
from ullage.model.blocks import TextBlock
from ullage.model.errors import CannotFit
from ullage.model.events import Event
from ullage.model.marker import render_ledger
from ullage.model.message import Message, Role
from ullage.service.compact.to_budget import fit_budget
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.imports import import_transcript
from ullage.summary.choosing.composition import compose
from ullage.summary.summary_request import SummaryRequest
from ullage.survive.actions import recorded_actions
from ullage.survive.arms import masking, tail
from ullage.survive.said import context_text
from ullage.survive.study import Arm, Carried, Trial, make_trial
from ullage.survive.survival import known_before
from ullage.tokens.counter_choice import get_counter

# One exact tokenizer counts every conversation, whatever its model, so that sizes can be compared.
_MODEL = "gpt-4o"
_COUNTER = get_counter(_MODEL)
# Tokens. About the size of the summaries that coding agents write of themselves.
SIZE = 3_000
# Tokens of the page or the brief that is given back next to the agent's own summary.
BRIEF = 2_500
# A context that is not this many times larger than what is carried over the cut has lost too little to compare.
_LOST = 3


async def trials_of(name: str, transcript: ImportedTranscript, size: int, *, only_recorded: bool) -> list[Trial]:
    """Returns a trial for each cut of a conversation after which the agent acted. At a chosen cut every arm may carry
    `size` tokens; at a recorded compaction as many as the agent carried."""
    messages = messages_of(transcript)
    found: list[Trial] = []
    for cut in find_cuts(transcript, _COUNTER, only_recorded=only_recorded):
        recorded = recorded_actions(messages, cut.at, cut.stop, _COUNTER)
        carried = await _carried(cut, messages, size) if recorded.actions or recorded.free else None
        if carried:
            known = known_before(messages, cut.at)
            arms = {arm: _as_carried(context) for arm, context in carried.items()}
            # The brief is the last message that is given back.
            brief = _as_carried(carried[Arm.BRIEF][-1:]) if Arm.BRIEF in carried else None
            found.append(replace(make_trial(name, transcript.cwd, recorded, known, arms), brief=brief))
    return found


async def _carried(cut: Cut, messages: Sequence[Message], size: int) -> Mapping[Arm, Sequence[Message]] | None:
    """Returns what each arm carries. Returns None if the context before the cut is too small to compare,
    or if what must stay in it exceeds what may be carried."""
    with throwaway_workspace(reading_settings(_MODEL, None)) as workspace:
        conversation = await _opened(workspace, cut.before)
        view = conversation.transcript.view
        own = conversation.imagine(cut.edit).transcript.view if cut.edit else ()
        budget = _COUNTER.count_messages(own) if own else size
        if _COUNTER.count_messages(view) < _LOST * budget:
            return None
        arms: dict[Arm, Sequence[Message]] = {Arm.ORACLE: messages[: cut.at], Arm.EMPTY: ()}
        arms |= {Arm.TAIL: tail(view, budget, _COUNTER), Arm.MASKING: masking(view, budget, _COUNTER)}
        if own:
            arms |= {Arm.AGENT: own, Arm.BESIDE: (*own, _page_beside(conversation, own))}
            brief = write_brief(find_lost(messages[: cut.at], own, conversation.transcript.cwd), BRIEF, _COUNTER.count)
            arms[Arm.BRIEF] = (*own, _said("brief", brief.text))
        try:
            await fit_budget(conversation, budget)
        except CannotFit:
            return None
        arms[Arm.OURS] = conversation.transcript.view
    return arms


def _as_carried(context: Sequence[Message]) -> Carried:
    return Carried(texts=tuple(_texts(context)), size=_COUNTER.count_messages(context))


async def _opened(workspace: Workspace, events: tuple[Event, ...]) -> Conversation:
    transcript = ImportedTranscript(format="", events=events, model=_MODEL)
    return await import_transcript(workspace, transcript, "")


def _page_beside(conversation: Conversation, own: Sequence[Message]) -> Message:
    """Returns the page of what the agent's own context lacks: a summary of the messages before the cut that leaves out
    what the agent's context has."""
    items = conversation.projection.counted_view().items
    archived = [item for item in items if not item.message.compaction]
    earlier = joined([block for item in items if (block := item.message.compaction)])
    request = SummaryRequest(
        messages=tuple(item.message for item in archived),
        indices=tuple(item.index for item in archived),
        max_tokens=BRIEF,
        previous=earlier,
        tail=(_said("own", context_text(own)),),
    )
    page = compose(request, _COUNTER)
    return _said("page", f"{page.summary}\n\n{render_ledger(page.ledger)}")


def _said(name: str, text: str) -> Message:
    return Message(id=name, role=Role.ASSISTANT, content=(TextBlock(text=text),))


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    if messages:
        yield context_text(messages)
