"""The recorded actions after a cut, and the facts from before it that each of them needs.

An action *needs* a fact if the fact is in its input, a message before the cut had it, and nothing after the cut gave it
first. Messages of the user give facts, and so do results, except those of a *look again*: a look at what had been
looked at or written before the cut, which is what a compaction costs. Text that an edit replaces is not needed, because
an agent must see the file to quote it. A fact is needed once, by the first action that uses it: from then on it was
carried or has been looked up.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.calls import ToolCall, tool_calls, touches_of
from ullage.agents.outcomes import judge
from ullage.agents.results import FENCED
from ullage.agents.shell import only_looks, without_cd
from ullage.agents.tools import PLAN_KEYS, Action, action_of, strings_in, value_of
from ullage.model.artifacts import Outcome
from ullage.model.message import Message, Role
from ullage.survive.fact import Fact, Haystack, commands_in, error_fact, facts_in, path_end
from ullage.survive.said import replaced_texts, shown_text, text_of, written_texts
from ullage.tokens.counter import TokenCounter

# The median number of actions between a compaction and the agent's next change of a file, in recorded sessions.
HORIZON = 28
_LOOKS = (Action.READ, Action.SEARCH, Action.LIST, Action.FETCH)


class Need(Struct, frozen=True, kw_only=True):
    """A fact from before the cut that an action needs. `source` is the number of the cheapest recorded look-up before
    the cut that showed it, and `tokens` what that look-up took; -1 and 0 if no look-up showed it. `looked_again` is
    true if, after the cut and before the action, the agent's own look again showed it."""

    fact: Fact
    source: int = -1
    tokens: int = 0
    looked_again: bool = False


class Recorded(Struct, frozen=True, kw_only=True):
    """What the agent did in the calls after a cut.

    `actions` has the needs of each action that needs anything. `free` is the number of actions that need nothing from
    before the cut, `looks_again` the number of looks again, and `look_tokens` what those took.
    """

    actions: tuple[tuple[Need, ...], ...]
    free: int
    looks_again: int
    look_tokens: int

    @property
    def needs(self) -> tuple[Need, ...]:
        """All needs, in order."""
        return tuple(need for needs in self.actions for need in needs)


class _Shown(Struct, frozen=True):
    """A text that was shown at a message, and whether a look again showed it."""

    index: int
    text: Haystack
    again: bool = False


class _Lookup(Struct, frozen=True):
    """A look-up before the cut: its number among the calls, its tokens, and what it showed."""

    number: int
    tokens: int
    shown: Haystack


def recorded_actions(messages: Sequence[Message], cut: int, stop: int, counter: TokenCounter) -> Recorded:
    """Returns the first `HORIZON` calls from message `cut` up to message `stop`, and what they need. `messages` are all
    messages of the transcript, of which those before `cut` were known."""
    calls = tool_calls(messages[:stop], range(stop))
    before, after = [c for c in calls if c.index < cut], [c for c in calls if c.index >= cut]
    targets = {target for call in before for target in _targets(call)}
    window = [call for call in after if not _is_plan(call)][:HORIZON]
    looks = [call for call in window if _is_again(call, targets)]
    acting = [call for call in window if call not in looks]
    head = Haystack(map(text_of, messages[:cut]))
    shown = list(_shown(messages[:stop], cut, after, targets))
    lookups = sorted(_lookups(before, counter), key=lambda lookup: lookup.tokens)
    errors = errors_of(before)
    found, met = list[tuple[Need, ...]](), set[Fact]()
    for call in acting:
        facts = [fact for fact in dict.fromkeys(used_facts(call, errors)) if fact not in met and head.holds(fact)]
        met.update(facts)
        seen = [each for each in shown if each.index < call.index]
        given = [each.text for each in seen if not each.again] + [Haystack(replaced_texts(call.input))]
        looked = [each.text for each in seen if each.again]
        wanted = [fact for fact in facts if not _in_any(fact, given)]
        found.append(tuple(_need(fact, lookups, looked_again=_in_any(fact, looked)) for fact in wanted))
    return Recorded(
        actions=tuple(needs for needs in found if needs),
        free=sum(not needs for needs in found),
        looks_again=len(looks),
        look_tokens=sum(_tokens(call, counter) for call in looks),
    )


def used_facts(call: ToolCall, errors: Sequence[Fact] = ()) -> Iterator[Fact]:
    """Yields the facts in a call's input, with repetitions. `errors` are the errors that were known."""
    texts = list(written_texts(call.input))
    yield from commands_in(call.command)
    for text in texts:
        yield from facts_in(text)
    if errors:
        own = Haystack(texts)
        yield from (error for error in errors if own.holds(error))


def errors_of(calls: Sequence[ToolCall]) -> tuple[Fact, ...]:
    """Returns the telling line of each call that failed, without repetitions."""
    found = dict[Fact, None]()
    for call in calls:
        outcome, line = judge(call.result, call.failed) if call.result else (Outcome.UNKNOWN, "")
        if outcome is Outcome.FAILED and (fact := error_fact(line)):
            found[fact] = None
    return tuple(found)


def _need(fact: Fact, lookups: Sequence[_Lookup], *, looked_again: bool) -> Need:
    found = next((lookup for lookup in lookups if lookup.shown.holds(fact)), None)
    if found is None:
        return Need(fact=fact, looked_again=looked_again)
    return Need(fact=fact, source=found.number, tokens=found.tokens, looked_again=looked_again)


def _shown(messages: Sequence[Message], cut: int, calls: Sequence[ToolCall], targets: set[str]) -> Iterator[_Shown]:
    """Yields what users and results have shown after the cut."""
    fenced = {call.result_index for call in calls if call.name == FENCED}
    for index in range(cut, len(messages)):
        if messages[index].role is not Role.ASSISTANT and index not in fenced:
            yield _Shown(index, Haystack([shown_text(messages[index])]))
    for call in calls:
        if call.result_index >= 0:
            yield _Shown(call.result_index, Haystack([call.result]), _is_again(call, targets))


def _lookups(calls: Sequence[ToolCall], counter: TokenCounter) -> Iterator[_Lookup]:
    for number, call in enumerate(calls):
        if _looks(call) and call.result:
            yield _Lookup(number, _tokens(call, counter), Haystack([call.result]))


def _tokens(call: ToolCall, counter: TokenCounter) -> int:
    return counter.count("\n".join((*strings_in(call.input), call.result)))


def _looks(call: ToolCall) -> bool:
    return only_looks(call.command) if call.command else action_of(call.name, call.input) in _LOOKS


def _is_again(call: ToolCall, targets: set[str]) -> bool:
    return _looks(call) and not targets.isdisjoint(_targets(call))


def _is_plan(call: ToolCall) -> bool:
    """Returns whether a call only writes down the agent's plan or thoughts: it acts on nothing."""
    return action_of(call.name, call.input) is Action.THINK or value_of(call.input, PLAN_KEYS) is not None


def _targets(call: ToolCall) -> Iterator[str]:
    """Yields what a call looks at or changes: the ends of its files' paths; of a call without a file its words."""
    touched = [path_end(path) for path, _ in touches_of(call)]
    yield from touched
    if not touched:
        yield " ".join(without_cd(call.command)[0].split()) or " ".join(strings_in(call.input))


def _in_any(fact: Fact, texts: Sequence[Haystack]) -> bool:
    return any(text.holds(fact) for text in texts)
