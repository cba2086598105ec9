"""The laws themselves: judges a case's edits in a situation from outside, without the code that planned them."""

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum

from lawcheck.cases import Case
from lawcheck.floors import newest_typed, said
from lawcheck.situation import Situation
from support.build import append, log, user
from support.provider_rules import anthropic_violations, openai_violations
from ullage.edits.counted import CountedView
from ullage.formats.provider import write_anthropic, write_openai
from ullage.model.events import ContextEdited, Edit, EditReverted
from ullage.model.message import Message, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import fold


class Verdict(StrEnum):
    """The result of a case in a situation. All verdicts except those in `LAWFUL` break a law."""

    EDITED = "edited"
    NOTHING = "nothing to do"
    CANNOT_FIT = "cannot fit"
    OVER = "over budget"
    MISCOUNTED = "miscounted"
    ANTHROPIC = "Anthropic"
    OPENAI = "OpenAI"
    PARTED = "parted pair"
    UNPINNED = "pin lost"
    REWORDED = "pin or newest question changed"
    UNDO = "undo not exact"
    RAISED = "raised"


LAWFUL = frozenset({Verdict.EDITED, Verdict.NOTHING, Verdict.CANNOT_FIT})


def judge(situation: Situation, case: Case) -> set[Verdict]:
    """Returns one lawful verdict, or all laws that are broken."""
    edits = case.plan(situation)
    after = situation.view
    for edit in edits:
        after = after.after(edit)
    broken = set(_broken(situation, case, edits, after))
    if broken:
        return broken
    if case.floor is not None and after.used > situation.limit:
        return {Verdict.CANNOT_FIT}
    return {Verdict.EDITED if edits else Verdict.NOTHING}


def _broken(situation: Situation, case: Case, edits: Sequence[Edit], after: CountedView) -> Iterator[Verdict]:
    if _over(situation, case, edits, after.used):
        yield Verdict.OVER
    if not edits:
        return
    if after.used != after.fixed + sum(map(after.measure, after.messages)):
        yield Verdict.MISCOUNTED
    if (
        situation.view.used - after.used != sum(edit.tokens_saved for edit in edits)
        or after.used >= situation.view.used
    ):
        yield Verdict.MISCOUNTED
    yield from _invalid(situation.view.messages, after.messages)
    if _parted(situation.view.messages, after.messages):
        yield Verdict.PARTED
    if set(situation.pinned) & _ids(situation.view.messages) - _ids(after.messages):
        yield Verdict.UNPINNED
    if _word_for_word(situation.view, situation.pinned) - _word_for_word(after, situation.pinned):
        yield Verdict.REWORDED
    if not undo_is_exact(situation, edits, after):
        yield Verdict.UNDO


def _over(situation: Situation, case: Case, edits: Sequence[Edit], used: int) -> bool:
    if used <= situation.limit:
        return False
    return bool(case.promises and edits) or (case.floor is not None and situation.limit >= case.floor(situation))


def _invalid(before: Sequence[Message], after: Sequence[Message]) -> Iterator[Verdict]:
    for verdict, messages, check in (
        (Verdict.ANTHROPIC, write_anthropic(after).messages, anthropic_violations),
        (Verdict.OPENAI, write_openai(after).messages, openai_violations),
    ):
        if check(messages):
            yield verdict
    # A request needs a message, so an edit must not remove the last one.
    if write_anthropic(before).messages and not write_anthropic(after).messages:
        yield Verdict.ANTHROPIC


def undo_is_exact(situation: Situation, edits: Sequence[Edit], after: CountedView) -> bool:
    """Whether the folded log has the edits' view, and has the earlier view again after all edits are undone,
    although another message was appended in between."""
    more = append(user("afterwards", "And now?"))
    edited = [*situation.events, *(ContextEdited(edit=edit) for edit in edits)]
    taken_back = [EditReverted(edit_id=edit.id) for edit in reversed(edits)]
    plain = fold(log([*situation.events, *more]))
    reverted = fold(log([*edited, *more, *taken_back]))
    return (
        fold(log(edited)).view == after.messages
        and list(reverted.items) == list(plain.items)
        and reverted.pinned == plain.pinned
        and all(edit.reverted for edit in reverted.edits if edit.id in {each.id for each in edits})
    )


def _parted(before: Sequence[Message], after: Sequence[Message]) -> bool:
    """Whether a tool use has lost its result, or a result its use."""
    left = _ids(after)
    return any((use in left) != (result in left) for use, result in _pairs(before))


def _pairs(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yields the ids of the messages with a tool use and with its result: the first result after it, as providers
    pair them."""
    open_uses: dict[str, str] = {}
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                open_uses[block.id] = message.id
            elif isinstance(block, ToolResultBlock) and block.tool_use_id in open_uses:
                yield open_uses.pop(block.tool_use_id), message.id


def _word_for_word(view: CountedView, pinned: Collection[str]) -> set[str]:
    """Returns what every request must have: the content of each pinned message, and what the user said last."""
    newest = newest_typed(view.items)
    last = {repr((newest.id, said(newest)))} if newest else set[str]()
    return last | {repr((message.id, message.content)) for message in view.messages if message.id in pinned}


def _ids(messages: Sequence[Message]) -> set[str]:
    return {message.id for message in messages}
