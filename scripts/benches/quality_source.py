"""What the quality bench looks up in the messages before a cut: which lines follow one another, and what follows a
sentence."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import groupby, pairwise

from benches.quality_page import is_gap
from benches.quality_probe import text_of
from ullage.model.message import Message

FEWEST_LINES = 5
# Characters. A page may clip a line; two lines that begin alike for so long are taken for the same.
_KEY = 60
_FEWEST_KEY = 12
_TERMINAL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_LINE_NUMBER = re.compile(r"^\s*\d+(?:→|\t|[:|] ?| {2,})")
_CLIPPED = re.compile(r"\s*(?:\[…\]|…).*$")
_WORD = re.compile(r"[^\W\d_]{2}")
_SPACES = re.compile(r"\s+")


class Source:
    """The text of messages, indexed by line."""

    def __init__(self, messages: Sequence[Message]) -> None:
        texts = [text for message in messages for text in _unwrapped(text_of(message))]
        self.text = "\n\n".join(plain(text) for text in texts)
        self._keys: set[str] = set()
        self._pairs: set[tuple[str, str]] = set()
        for text in texts:
            keys = [key for line in text.splitlines() if (key := _key(line))]
            self._keys.update(keys)
            self._pairs.update(pairwise(keys))

    def runs(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """Yields the lines in runs that follow one another here, blank lines left out. Lines that are nowhere here
        (a model wrote them) follow any. A mark of a gap parts the lines before and after it, unless they follow one
        another here: then the mark is a line of the text itself, such as `# ...`."""
        run: list[str] = []
        last = ""
        gap = False
        for line in lines:
            key = _key(line)
            if is_gap(line) and (last, key) not in self._pairs:
                gap = True
                continue
            if not key:
                continue
            if run and ((gap and (last, key) not in self._pairs) or not self._follows(last, key)):
                yield run
                run = []
            run.append(line)
            last, gap = key, False
        if run:
            yield run

    def _follows(self, first: str, second: str) -> bool:
        known = first in self._keys and second in self._keys
        return not known or (first, second) in self._pairs

    def breaks_after(self, said: str, then: str) -> bool:
        """Whether `said` is here, and nowhere before `then`. `then` may be empty: the page ends there."""
        end, start = plain(said)[-_KEY:], plain(then)[:_FEWEST_KEY]
        found = False
        place = self.text.find(end)
        while end and place >= 0:
            found = True
            if start and self.text[place + len(end) :].lstrip(" -*#\n`").startswith(start.lstrip(" -*#`")):
                return False
            place = self.text.find(end, place + 1)
        return found

    def introduced(self, said: str) -> bool:
        """Whether a line here ends with `said`."""
        end = plain(said)[-_KEY:]
        return bool(end) and f"{end}\n" in f"{self.text}\n"


def _unwrapped(text: str) -> Iterator[str]:
    """Yields a text, the strings in each of its lines that is a JSON object, and what its patches make of files. Codex
    before 0.58 wrote what a command printed into such an object, with its line breaks escaped."""
    yield text
    lines = text.splitlines()
    for line in lines:
        if line.startswith('{"') and line.endswith("}"):
            with suppress(ValueError):
                yield from (each for each in json.loads(line).values() if isinstance(each, str))
    yield from _patched(lines)


def _patched(lines: Iterable[str]) -> Iterator[str]:
    """Yields the lines that follow one another in a file after a patch: those that it adds and those around them."""
    for is_patch, run in groupby(
        lines, key=lambda line: line[:1] in ("+", "-", " ") and line[:3] not in ("+++", "---")
    ):
        after = [line for line in run if not line.startswith("-")] if is_patch else []
        if any(line.startswith("+") for line in after):
            yield "\n".join(line[1:] for line in after)


def plain(text: str) -> str:
    """Returns the text with single spaces, without blank lines and marks of bold type, so that copies compare
    equal."""
    lines = (_SPACES.sub(" ", line).strip() for line in text.replace("**", "").splitlines())
    return "\n".join(line for line in lines if line)


def in_context(source: Source, lines: Iterable[str]) -> tuple[list[list[str]], list[str]]:
    """Returns the runs of at least five consecutive lines, and the lines in none."""
    runs = list(source.runs(lines))
    whole = [run for run in runs if len(run) >= FEWEST_LINES]
    return whole, [line for run in runs if len(run) < FEWEST_LINES for line in run]


def _key(line: str) -> str:
    """Returns what a line is known by: its beginning. Empty for a line without a word, such as a closing bracket, which
    a page may leave out."""
    line = _LINE_NUMBER.sub("", _TERMINAL.sub("", line)).replace("'''", "```")
    return _SPACES.sub(" ", _CLIPPED.sub("", line)).strip()[:_KEY] if _WORD.search(line) else ""
