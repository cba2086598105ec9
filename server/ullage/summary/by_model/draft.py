"""A model's summary as it is written: pieces of text come in, what may be told goes out.

Half a secret is not known for one, so nothing is told before it is whole: an entry (all that stands up to the next
entry or heading) waits until the one behind it is whole, too, and until the two read the same cleaned together as
cleaned alone. Our headings stay; all other text that poses as our frame becomes a quote (`imitations`).

The `check_` functions raise `AnswerBroken`, with the reason, for a text that cannot replace the messages it summarises.
"""

import re
from collections.abc import Iterator, Set

from ullage.model.answer import Finished, Fragment, StopReason, ToolUseEnd, ToolUseStart
from ullage.model.artifacts import ArtifactLedger
from ullage.model.errors import AnswerBroken
from ullage.model.marker import render_ledger
from ullage.model.words import short
from ullage.redaction.clean import clean, redact
from ullage.summary.choosing.items import HEADINGS, Section
from ullage.summary.summary_request import SummaryRequest
from ullage.summary.tuning import CHARACTERS_PER_TOKEN
from ullage.tokens.counter import TokenCounter

_ENTRY = re.compile(r"(?:[-*]|\d{1,3}[.)])\s")
_HEADING = re.compile(r"#{1,4}\s*(?P<name>[A-Za-z ]{4,30}?)\s*:?\s*#*\s*")
# What a model is asked for. Details are what code quotes, message by message.
WRITTEN = tuple(section for section in Section if section is not Section.DETAILS)
_BY_NAME = {HEADINGS[section].removeprefix("## ").lower(): section for section in WRITTEN}


class Draft:
    """Takes a model's text in pieces, cut anywhere. What `add` and `end` give, put together, is `text`.

    What comes before the first heading is left out, as are empty lines.
    """

    def __init__(self) -> None:
        self._line = ""
        self._entry = ""
        self._held = ""
        self._section: Section | None = None
        self._filled: set[Section] = set()
        self._told: list[str] = []

    @property
    def text(self) -> str:
        """All that was told."""
        return "".join(self._told)

    @property
    def filled(self) -> Set[Section]:
        """The sections that something stands in."""
        return self._filled

    def add(self, piece: str) -> Iterator[str]:
        """Takes in the next piece; gives what can be told now."""
        *lines, self._line = (self._line + piece).split("\n")
        for line in lines:
            yield from self._take(line.rstrip())

    def end(self) -> Iterator[str]:
        """Gives what is left."""
        yield from self._take(self._line.rstrip())
        yield from self._end_entry()
        yield from self._tell_held()

    def _take(self, line: str) -> Iterator[str]:
        section = self._section_of(line)
        if section is not None:
            yield from self._begin(section, line)
        elif line and self._section is not None:
            if _ENTRY.match(line):
                yield from self._end_entry()
            self._entry += line + "\n"

    def _section_of(self, line: str) -> Section | None:
        """The section a line begins. Each comes once and in order; anything else is text that looks like one."""
        match = _HEADING.fullmatch(line)
        found = _BY_NAME.get(match["name"].lower()) if match else None
        return found if found is not None and (self._section is None or found > self._section) else None

    def _begin(self, section: Section, line: str) -> Iterator[str]:
        yield from self._end_entry()
        heading = HEADINGS[section] + "\n"
        if redact(self._held + heading) != redact(self._held) + heading:
            # A heading in the middle of a secret is none.
            self._entry = line + "\n"
            return
        yield from self._tell_held()
        self._section = section
        yield self._tell(f"\n{heading}" if self._told else heading)

    def _end_entry(self) -> Iterator[str]:
        entry, self._entry = self._entry, ""
        if not entry:
            return
        if self._held and clean(self._held + entry) == clean(self._held) + clean(entry):
            yield from self._tell_held()
        self._held += entry

    def _tell_held(self) -> Iterator[str]:
        held, self._held = self._held, ""
        if held and self._section is not None:
            self._filled.add(self._section)
            yield self._tell(clean(held))

    def _tell(self, text: str) -> str:
        self._told.append(text)
        return text


# Without these nobody could go on with the work.
REQUIRED = (Section.TASK, Section.STATE, Section.NEXT)
# A text of so many times the usual characters per token is too long for certain; its end need not be waited for.
_CERTAINLY = 2
# The line above a summary, in any tokenizer.
_HEAD_TOKENS = 48
_WRONG_ENDS = {
    StopReason.MAX_TOKENS: "the summary was cut off at the model's output limit",
    StopReason.REFUSAL: "the model refused to summarise",
    StopReason.TOOL_USE: "the model called a tool instead of summarising",
}


def text_room(request: SummaryRequest, ledger: ArtifactLedger, counter: TokenCounter) -> int:
    """Tokens that the ledger leaves a summary's text."""
    return request.max_tokens - counter.count(render_ledger(ledger)) - _HEAD_TOKENS


def check_fragment(fragment: Fragment) -> None:
    """Raises `AnswerBroken` for a fragment that no summary has: a tool call, an end other than by itself."""
    if isinstance(fragment, ToolUseStart | ToolUseEnd):
        raise AnswerBroken(_WRONG_ENDS[StopReason.TOOL_USE])
    if isinstance(fragment, Finished) and fragment.stop_reason in _WRONG_ENDS:
        raise AnswerBroken(_WRONG_ENDS[fragment.stop_reason])


def check_length(written: int, room: int) -> None:
    """Raises `AnswerBroken` as soon as so many characters cannot be a summary of `room` tokens."""
    if written > room * CHARACTERS_PER_TOKEN * _CERTAINLY:
        raise AnswerBroken(f"the summary is too long: over {short(room)} tokens")


def check_draft(draft: Draft, written: int, room: int, counter: TokenCounter) -> None:
    """Raises `AnswerBroken` for an ended draft, of `written` characters, that is empty, lacks what it must have or
    counts more than `room` tokens."""
    if not written:
        raise AnswerBroken("the summary is empty")
    missing = [HEADINGS[section] for section in REQUIRED if section not in draft.filled]
    if missing:
        raise AnswerBroken(f"the summary has nothing under {', '.join(missing)}")
    tokens = counter.count(draft.text)
    if tokens > room:
        raise AnswerBroken(f"the summary is too long: {short(tokens)} tokens, {short(room)} allowed")
