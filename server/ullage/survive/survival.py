"""How much of what was known before a cut is still in what was carried over it, by kind.

Counted once each: the paths, names and numbers that the user or the agent wrote, the commands that ran, the telling
lines of failures, the user's constraints and the agent's decisions. What only a result showed is not counted, since
most of it never mattered.
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ullage.agents.calls import ToolCall, tool_calls
from ullage.model.message import Message, Role
from ullage.survive.actions import errors_of, used_facts
from ullage.survive.fact import Fact, Haystack, Kind, facts_in
from ullage.survive.guiding_sentences import Passages, Sentence, sentences_in
from ullage.survive.said import shown_text

# The order of a table's rows: what a successor must obey first.
KINDS = (Kind.CONSTRAINT, Kind.DECISION, Kind.PATH, Kind.NAME, Kind.COMMAND, Kind.NUMBER, Kind.ERROR)


class Known(Struct, frozen=True, kw_only=True):
    """What was known before a cut."""

    facts: tuple[Fact, ...]
    sentences: tuple[Sentence, ...]


class Survivors(Struct, frozen=True, kw_only=True):
    """Of one kind: how much was known, and how much of it was carried."""

    kind: Kind
    known: int
    carried: int


def known_before(messages: Sequence[Message], cut: int) -> Known:
    """Returns what the messages before index `cut` made known."""
    head = messages[:cut]
    calls = tool_calls(head, range(cut))
    return Known(facts=tuple(dict.fromkeys(_facts(head, calls))), sentences=tuple(sentences_in(head)))


def survivors(known: Known, texts: Sequence[str]) -> tuple[Survivors, ...]:
    """Returns, for every kind of which anything was known, how much of it the texts carry."""
    held, passages = Haystack(texts), Passages(texts)
    found = [(fact.kind, held.holds(fact)) for fact in known.facts]
    found += [(sentence.kind, passages.say(sentence)) for sentence in known.sentences]
    counted = [(kind, [carried for of, carried in found if of is kind]) for kind in KINDS]
    return tuple(Survivors(kind=kind, known=len(each), carried=sum(each)) for kind, each in counted if each)


def _facts(head: Sequence[Message], calls: Sequence[ToolCall]) -> Iterator[Fact]:
    results = {call.result_index for call in calls}
    for index, message in enumerate(head):
        if message.role is not Role.SYSTEM and index not in results:
            yield from facts_in(shown_text(message))
    for call in calls:
        yield from used_facts(call)
    yield from errors_of(calls)
