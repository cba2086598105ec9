"""Makes questions about the past of a recorded conversation by rule, with the messages that answer each question.

A conversation is cut. What the agent or the user writes after the cut (tool results are neither's) is searched for
anchors (`quality_probe`: paths, identifiers, hashes). An anchor is used at its first mention after the
cut if one to `MAX_EVIDENCE` messages before the cut have it. Those messages are the evidence. The question consists of
words around that mention, so the words come from another sentence than the evidence, in a frame of words without
meaning. Each anchor gives one question, and the kinds take turns:

- `named` has the anchor itself;
- `spoken` has the anchor's parts as words, as users say a name;
- `described` has neither the anchor nor its parts, and is asked only if two of its words are in the evidence.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from benches.quality_probe import find_anchors
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import MessageAppended
from ullage.model.message import Message, TextBlock, ToolUseBlock
from ullage.store.search.indexed_text import message_text

KINDS = ("named", "spoken", "described")
MAX_EVIDENCE = 3
# Where conversations are cut, as shares of their messages, and the fewest messages of a conversation that is used.
CUTS, MIN_MESSAGES = (0.4, 0.6, 0.8), 20
# The most questions per cut, evenly spread, so that no long conversation outweighs the others.
MOST_QUESTIONS = 40
_AROUND_CHARS, _WORDS = 120, 3
_FRAMES = (
    "what did we find out about {} earlier?",
    "where did {} come up before, and what was it?",
    "do you remember how {} looked when we saw it?",
    "please show me again the part with {}",
    "which message talked about {}?",
)
_WORD = re.compile(r"[A-Za-z]{3,}")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_EMPTY = """
    the and for with this that from was were are has have had not but you your its can will would should let now
    all any use used using into out then than when what which where how why who there here they them our been
    being also just more some such only each other about after before
"""
_EMPTY_WORDS = frozenset(_EMPTY.split())


class Question(Struct, frozen=True, kw_only=True):
    """A question about the messages before `cut`. Each of the messages `evidence` (by index) answers the question."""

    text: str
    kind: str
    cut: int
    evidence: tuple[int, ...]


def conversation(transcript: ImportedTranscript) -> list[Message]:
    """Returns the messages of a transcript."""
    return [event.message for event in transcript.events if isinstance(event, MessageAppended)]


def make_questions(messages: Sequence[Message]) -> list[Question]:
    """Returns the questions of one conversation; no questions if the conversation is short."""
    if len(messages) < MIN_MESSAGES:
        return []
    texts = [message_text(message) for message in messages]
    return [question for share in CUTS for question in _ask(messages, texts, int(len(messages) * share))]


def words_of(text: str) -> Iterator[str]:
    """Yields the words that are not stop words, in lower case."""
    for match in _WORD.finditer(text):
        word = match[0].lower()
        if word not in _EMPTY_WORDS:
            yield word


def _ask(messages: Sequence[Message], texts: Sequence[str], cut: int) -> list[Question]:
    spread = Counter(word for text in texts[:cut] for word in set(words_of(text)))
    questions: list[Question] = []
    for anchor, mention in _mentions(messages[cut:]):
        evidence = tuple(index for index, text in enumerate(texts[:cut]) if anchor in text)
        if 1 <= len(evidence) <= MAX_EVIDENCE:
            around = _around(anchor, mention, spread)
            known = set(words_of(" ".join(texts[index] for index in evidence)))
            question = _question(anchor, around, known, len(questions))
            if question:
                kind, text = question
                questions.append(Question(text=text, kind=kind, cut=cut, evidence=evidence))
    step = max(1, -(-len(questions) // MOST_QUESTIONS))
    return questions[::step]


def _mentions(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Yields each anchor that the agent or the user writes, at its first mention, with the text around it."""
    seen: set[str] = set()
    for message in messages:
        text = _written(message)
        for anchor in find_anchors(text):
            if anchor not in seen:
                at = text.index(anchor)
                yield anchor, text[max(0, at - _AROUND_CHARS) : at + len(anchor) + _AROUND_CHARS]
        seen.update(find_anchors(message_text(message)))


def _written(message: Message) -> str:
    """Returns what the agent or the user wrote: texts and the inputs of tools, without tool results."""
    own = tuple(block for block in message.content if isinstance(block, TextBlock | ToolUseBlock))
    return message_text(Message(id=message.id, role=message.role, content=own))


def _around(anchor: str, mention: str, spread: Counter[str]) -> list[str]:
    """Returns the rarest words around the anchor that are not its own parts, in their order in the text."""
    parts = {part.lower() for part in _PART.findall(anchor)}
    words = [word for word in dict.fromkeys(words_of(mention.replace(anchor, " "))) if word not in parts]
    # The first and last word are left out: the mention may begin or end inside a word.
    rarest = sorted(words[1:-1], key=lambda word: (spread[word] or len(spread), word))[:_WORDS]
    return [word for word in words if word in rarest]


def _question(anchor: str, around: list[str], known: set[str], number: int) -> tuple[str, str] | None:
    kind = KINDS[number % len(KINDS)]
    if kind == "described" and sum(word in known for word in around) < 2:
        kind = "spoken"
    name = {"named": anchor, "spoken": " ".join(part.lower() for part in _PART.findall(anchor)), "described": ""}[kind]
    body = " ".join((*around[:2], name, *around[2:])).replace("  ", " ").strip()
    return (kind, _FRAMES[number % len(_FRAMES)].format(body)) if body else None
