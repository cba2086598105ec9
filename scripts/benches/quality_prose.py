"""How many of a page's sentences under "Decisions and findings" decide nothing.

Counted are sentences under a heading that names decisions, findings, concepts or the solving of problems.

- A *bare colon*: the sentence ends in a colon, and what it introduced in the transcript doesn't follow on the page.
- *Narration*: the sentence names the agent's next call, or only says that something went well.
"""

import re
from collections.abc import Iterator

from msgspec import Struct

from benches.quality_page import Entry, Page
from benches.quality_source import Source

_HEADED = re.compile(r"decision|decided|finding|conclusion|learn|key .*concepts|problem solving", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?;])\s+")
_COLON = re.compile(r":(?=[\s;]|[A-Z])")
_NARRATES = re.compile(
    r"^(?:(?:now|next|then|first|so|and|also|but|good|great|perfect|ok(?:ay)?|excellent|right|alright|wait|hmm)\b"
    r"[,.!:—–-]*\s*)*"
    r"(?:let me|let us|let's|i'll|i will|i'm going to|i am going to|i need to|i should|i want to|i can now|i have to"
    r"|i'd like to|we need to (?:check|look|see)|starting (?:with|by)|time to|moving on"
    r"|now (?:i |we )?(?:add|update|fix|write|run|check|create|implement|also|replace|edit|look))\b"
    r"|^(?:all|the|\d+)? ?(?:\d+ )?(?:unit |integration )?tests? (?:all )?(?:pass(?:ed|es)?|are passing)\b[^,:]*[.!]?$"
    r"|^(?:perfect|great|good|excellent|done|nice|awesome|clean|looks good|all (?:good|done|set|clean|passing|green))"
    r"\b[^,:;]{0,40}[.!]*$",
    re.IGNORECASE,
)


class Decisions(Struct, frozen=True, kw_only=True):
    """Sentences under decisions: all, those that end in a bare colon, and the others that narrate."""

    sentences: int
    colons: int
    narrating: int


def measure_decisions(page: Page, source: Source) -> Decisions:
    """Counts the sentences of a page's decisions."""
    sentences = [
        (sentence, colon)
        for entry in page.entries
        if _HEADED.search(entry.heading)
        for sentence, colon in split_sentences(entry, source)
    ]
    return Decisions(
        sentences=len(sentences),
        colons=sum(colon for _, colon in sentences),
        narrating=sum(not colon and narrates(sentence) for sentence, colon in sentences),
    )


def narrates(sentence: str) -> bool:
    """Whether a sentence only says what the agent does next or that it went well."""
    return _NARRATES.match(sentence.strip(" *`->")) is not None


def split_sentences(entry: Entry, source: Source) -> Iterator[tuple[str, bool]]:
    """Yields an entry's sentences, and whether each ends in a bare colon."""
    sentences = _END.split(entry.text)
    for number, sentence in enumerate(sentences, start=1):
        start = 0
        for colon in _COLON.finditer(sentence):
            said = sentence[start : colon.end()]
            rest = sentence[colon.end() :]
            if rest.strip(" ;") and source.introduced(said) and source.breaks_after(said, rest):
                yield said.strip(), True
                start = colon.end()
        last = sentence[start:].strip()
        if last:
            follows = number == len(sentences) and entry.introduces
            yield last, last.rstrip(";").endswith(":") and not follows
