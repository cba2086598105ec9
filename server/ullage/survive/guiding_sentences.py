"""Sentences that a successor must know: what the user has forbidden or demanded, and what the agent has decided."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from msgspec import Struct

from ullage.agents.inserted import is_typed, without_inserted
from ullage.model.message import Message, Role
from ullage.survive.fact import Kind

_CONSTRAINT = re.compile(
    r"\b(?:must(?:n't)?|never|always|only|don'?t|do not|should(?:n't| not)|cannot|can't|without|instead of|"
    r"make sure|no longer|not allowed)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|chose|instead of|rather than|because|the (?:fix|cause|problem|reason|issue) (?:is|was)|root cause|"
    r"turns out|so that|we(?:'ll| will) (?:use|keep)|I(?:'ll| will) (?:use|keep))\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"(?<=[.!?])\s+|\n+")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][\w./-]{3,}")
_FILLER = frozenset(
    re.findall(
        r"\w+",
        "that this with from have been were will would should could there their they then than which what when where "
        "your into also just need make sure must only never always because instead let",
    )
)
# Characters. A longer message of the user is a pasted text, or the prompt of a command or skill.
_LONGEST_TYPED = 2_000
# A shorter sentence says too little alone, a longer one is a pasted text.
_FEWEST_WORDS, _MOST_WORDS = 4, 60
# The share of a sentence's words that a passage must have to say the same. A summary may say it in other words.
SAME = 0.6


class Sentence(Struct, frozen=True, kw_only=True):
    """A constraint or a decision, as the words that make it up, in lower case."""

    kind: Kind
    words: frozenset[str]


class Told(Struct, frozen=True, kw_only=True):
    """A sentence as it was written. `index` is the place of its message."""

    sentence: Sentence
    text: str
    index: int


class Passages:
    """A text as the lines in which sentences are looked up, each with the line after it."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [words for text in texts for line in text.splitlines() if (words := _words(line))]
        self._passages = [here | after for here, after in pairwise([*lines, frozenset[str]()])]

    def say(self, sentence: Sentence) -> bool:
        """Returns whether a passage has most of the sentence's words."""
        wanted = SAME * len(sentence.words)
        return any(len(sentence.words & passage) >= wanted for passage in self._passages)


def sentences_in(messages: Iterable[Message]) -> Iterator[Sentence]:
    """Yields the constraints in what the user typed and the decisions in what the agent said, each once."""
    yield from (told.sentence for told in told_in(messages))


def told_in(messages: Iterable[Message]) -> Iterator[Told]:
    """Yields the same sentences as they were written, each where it was written first."""
    met = set[Sentence]()
    for index, message in enumerate(messages):
        for text, sentence in _of_message(message):
            if sentence not in met:
                met.add(sentence)
                yield Told(sentence=sentence, text=text.strip(), index=index)


def sentence_of(kind: Kind, text: str) -> Sentence:
    """Returns the sentence of a text, to look up whether another text says the same."""
    return Sentence(kind=kind, words=_words(text))


def _of_message(message: Message) -> Iterator[tuple[str, Sentence]]:
    if message.compaction or message.role not in (Role.USER, Role.ASSISTANT):
        return
    by_user = message.role is Role.USER
    if by_user and (len(message.text) > _LONGEST_TYPED or not is_typed(message.text)):
        return
    text = without_inserted(message.text) if by_user else message.text
    kind, mark = (Kind.CONSTRAINT, _CONSTRAINT) if by_user else (Kind.DECISION, _DECISION)
    for part in _ENDS.split(_CODE.sub("\n", text)):
        found = sentence_of(kind, part)
        if len(found.words) >= _FEWEST_WORDS and len(part.split()) <= _MOST_WORDS and mark.search(part):
            yield part, found


def _words(text: str) -> frozenset[str]:
    return frozenset(word.lower().rstrip("./-") for word in _WORD.findall(text)) - _FILLER
