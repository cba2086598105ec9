"""A context as the probe of sentences and passages reads it: only text that a reader can use.

The first probe (`quality_probe`) takes a context as one text, so a loose line of code next to another grounds the names
of both. Here a context is divided into units, and a name must be grounded within one.

- On a page (a summary or a marker) a unit is a run of sentences of an entry that follow one another in the transcript
  (sentences in the agent's own words count as following), or a run of at least five lines of code that do. Sentences
  of fewer than four words, narration and bare colons are left out, as are all other lines of code.
- In a message that stays verbatim, each block is a unit.
"""

from collections.abc import Iterator, Sequence

from benches.quality_page import Entry, read_page
from benches.quality_probe import Text, text_of
from benches.quality_prose import narrates, split_sentences
from benches.quality_source import Source, in_context
from ullage.model.marker import render_marker
from ullage.model.message import Message

_FEWEST_WORDS = 4


class Units:
    """Texts in which anchors are looked up one by one (see `Text`)."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._texts = [Text(text) for text in texts]

    def holds(self, name: str) -> bool:
        """Whether one of the texts has `name`."""
        return any(text.holds(name) for text in self._texts)

    def windows(self, name: str) -> Iterator[frozenset[str]]:
        """Yields the words around each place of `name`, of the same text."""
        for text in self._texts:
            yield from text.windows(name)


def usable_context(messages: Sequence[Message], source: Source) -> Units:
    """Returns the units of a context."""
    texts: list[str] = []
    for message in messages:
        if block := message.compaction:
            texts.extend(usable_texts(render_marker(block), source))
        else:
            texts.append(text_of(message))
    return Units(texts)


def usable_texts(text: str, source: Source) -> Iterator[str]:
    """Yields the units of a page."""
    for part in read_page(text).parts:
        if isinstance(part, Entry):
            yield from _runs(part, source)
        else:
            whole, _ = in_context(source, part.lines)
            yield from ("\n".join(run) for run in whole)


def _runs(entry: Entry, source: Source) -> Iterator[str]:
    run: list[str] = []
    for sentence, colon in split_sentences(entry, source):
        if colon or narrates(sentence) or len(sentence.split()) < _FEWEST_WORDS:
            continue
        if run and source.breaks_after(run[-1], sentence):
            yield " ".join(run)
            run = []
        run.append(sentence)
    if run:
        yield " ".join(run)
