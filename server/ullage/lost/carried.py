"""What a context says, to ask whether a fact is in it."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ullage.model.message import Message
from ullage.survive.fact import Fact, Haystack, Kind, path_end
from ullage.survive.guiding_sentences import Passages, Sentence
from ullage.survive.said import context_text


class Carried:
    """The text of a context. `files` are all files that are known: a bare name that two of them have names neither."""

    def __init__(self, messages: Sequence[Message], files: Iterable[str] = ()) -> None:
        texts = [context_text(messages)]
        self._held = Haystack(texts)
        self._passages = Passages(texts)
        self._names = Counter(_name(path) for path in files)

    def holds(self, facts: Iterable[Fact]) -> bool:
        """Returns whether the context holds all of these facts, letter for letter."""
        return all(map(self._held.holds, facts))

    def holds_name(self, name: str) -> bool:
        """Returns whether the context has a name or a number as a word of its own."""
        return self._held.holds(Fact(kind=Kind.NAME, text=name))

    def holds_file(self, path: str) -> bool:
        """Returns whether the context names a file: by the last two parts of its path, or by its name alone if no other
        known file has it."""
        return self.holds_name(path_end(path)) or (self._names[_name(path)] <= 1 and self.holds_name(_name(path)))

    def says(self, sentence: Sentence) -> bool:
        """Returns whether two neighbouring lines of the context have most of the sentence's words. A sentence without
        telling words is never said."""
        return bool(sentence.words) and self._passages.say(sentence)


def _name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
