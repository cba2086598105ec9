"""The agent's words: its answer to the user at the end of each turn, word for word, and what became of it.

Whether a text reports, proposes or narrates is not judged by its words. The text with which a turn ends is the
agent's answer. A paragraph that names what a later call changed is overtaken: the change is among the files, and
the paragraph may no longer be true. What the user answered is kept with the words.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.ledger.prose import asks, is_heading, on_one_line, paragraphs, with_gaps
from ullage.redaction.clean import clean
from ullage.redaction.remembering import len_of, remembering

# Names in the text: in backticks, or by their shape a path or an identifier.
_NAMED = re.compile(r"`([^`\n]{2,120})`|\b([\w-]++(?:/[\w.-]+)+|\w++\.[a-z]{1,5}|[a-z]++[A-Z]\w++|\w[^\W_]*+_\w++)\b")
_WORD = re.compile(r"[A-Za-z_][\w.-]{2,80}")
# The newest answers that stand; older ones are told if they are asked for.
_MOST = 4
# Characters of the user's answer that are kept with the words.
_ANSWER = 160


class _Told(Struct, frozen=True, kw_only=True):
    """A text that the agent put before the user, and what the user answered."""

    index: int
    text: str
    answer: str = ""


class WordsFold:
    """Collects the agent's answers at the ends of its turns: texts after which it made no call."""

    def __init__(self) -> None:
        self._told: list[_Told] = []

    def take_text(self, text: str, index: int) -> None:
        """Notes a text, or a plan, that the agent put before the user. It is read when it is asked for, because most
        texts never are."""
        self._told.append(_Told(index=index, text=text))

    def take_answer(self, answer: str, index: int) -> None:
        """Notes what the user answered to the newest text."""
        if self._told and not self._told[-1].answer:
            self._told[-1] = replace(self._told[-1], answer=f"the user in #{index + 1}: {on_one_line(answer, _ANSWER)}")

    def entries(self, changed: Mapping[str, int], focus: Collection[str] = ()) -> tuple[Entry, ...]:
        """Returns the newest answers that stand, and older ones with a word of `focus` (in lower case), in order.
        They are without code in fences, and without the paragraphs that are overtaken: what they name was changed
        later. `changed` has the message in which each name was last changed. A question that was answered is left out:
        it is kept with the user's words. Of answers that were repeated, the last is there."""
        found: dict[str, Entry] = {}
        for told in reversed(self._told):
            if len(found) < _MOST or (focus and _has_any(told.text, focus)):
                entry = _standing(told, changed)
                if entry and (len(found) < _MOST or _has_any(entry.text, focus)):
                    found.setdefault(entry.text, entry)
        return tuple(reversed(found.values()))


def _has_any(text: str, words: Collection[str]) -> bool:
    low = text.lower()
    return any(word in low for word in words)


def _standing(told: _Told, changed: Mapping[str, int]) -> Entry | None:
    named = _named_paragraphs(told.text)
    parts = [part for part, _ in named if not (told.answer and asks(part))]
    overtaken = {at for at, (_, names) in enumerate(named) if any(changed.get(name, -1) > told.index for name in names)}
    sections = _sections([part for part, _ in named])
    # Without the paragraph that names its subject, the rest under a heading says something else.
    gone = {sections[at] for at in overtaken}
    stand = [part for at, (part, _) in enumerate(named) if part in parts and sections[at] not in gone]
    if not stand:
        return None
    return Entry(
        kind=Kind.WORDS,
        life=Life.STAND,
        index=told.index,
        text="\n\n".join(with_gaps(parts, stand)),
        beside=told.answer,
    )


@remembering(1_000_000, len_of)
def _named_paragraphs(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Returns the paragraphs of a text without secrets, each with the names in it."""
    # As a whole, because a secret may be known by the text before it.
    return tuple((part, _names_in(part)) for part in paragraphs(clean(text)))


def _sections(parts: Sequence[str]) -> list[int]:
    """Returns for each paragraph the place of the one with the heading that it is under, its own place if it is under
    none."""
    found: list[int] = []
    head = -1
    for at, part in enumerate(parts):
        head = at if is_heading(part.partition("\n")[0].strip()) else head
        found.append(head if head >= 0 else at)
    return found


def still_standing(earlier: Iterable[Entry], changed: Mapping[str, int]) -> Iterator[Entry]:
    """Yields the lines of an earlier summary that are not overtaken: neither they nor the lines that they belong to
    name what was changed later."""
    for entry in earlier:
        if all(changed.get(name, -1) <= entry.index for name in _names_in(f"{entry.beside}\n{entry.text}")):
            yield entry


def _names_in(paragraph: str) -> frozenset[str]:
    """Returns the names in a paragraph: identifiers, and files without their folders."""
    names = {word for quoted, bare in _NAMED.findall(paragraph) for word in _WORD.findall(quoted or bare)}
    return frozenset(names | {name.rsplit("/", 1)[-1] for name in names})
