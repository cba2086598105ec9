"""What the conversation came to: conclusions in prose, errors with what cured them, and details worth keeping."""

import re
from collections.abc import Iterator, Sequence, Set

from ullage.model.artifacts import FileAction, Outcome
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.excerpts import CHATTER
from ullage.summary.reading.history import Excerpt, History, Source
from ullage.summary.reading.runs import Run

_CONCLUDES = re.compile(
    r"\b(?:found|fix(?:ed|es)?|because|root cause|caused?|the (?:issue|problem|bug|reason|solution)|turns out|decided"
    r"|decision|instead|confirm(?:ed|s)?|works?|pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|implement(?:ed|s)|added|created"
    r"|changed|removed|renamed|replaced|updated|done|complete[d]?|means|therefore|so that|must|should|need(?:s|ed)?"
    r"|important|note|key|only|missing|wrong|correct|error|now)\b",
    re.IGNORECASE,
)
# Code pasted among prose: a patch, an assignment or call that fills its line.
_CODE = re.compile(
    r"^(?:diff --git|index [0-9a-f]{7}|@@ |[-+] |[-+]{3} )|^[\w.\[\]]+(?:: [\w.\[\]]+)? = |[,({;]$|^[\w.]+\(.*\)$"
)
# An announcement names what is looked at next; what was found there says more.
_CHATTER_SCALE = 0.5
# Output without a name in it comes last, but before an empty page.
_SHOWN_VALUE = 0.01
_SOURCE_VALUE = {Source.AGENT: 0.1, Source.THINKING: 0.03, Source.CALL: 0.1, Source.RESULT: 0.0}


def findings_of(history: History, check: Check = go_on) -> Iterator[Item]:
    """What the agent said, conclusions worth most."""
    for excerpt in _last_of_each(history, {Source.AGENT, Source.THINKING}, check):
        yield _item(excerpt, Section.FINDINGS, _conclusiveness(excerpt))


def details_of(history: History, check: Check = go_on) -> Iterator[Item]:
    """What was written into files and commands, and what they showed."""
    for excerpt in _last_of_each(history, {Source.CALL, Source.RESULT}, check):
        yield _item(excerpt, Section.DETAILS, _SOURCE_VALUE[excerpt.source] or _SHOWN_VALUE)


def _last_of_each(history: History, sources: Set[Source], check: Check) -> Iterator[Excerpt]:
    """Excerpts from the newest back; of equal texts only the newest."""
    seen: set[str] = set()
    for excerpt in checked(reversed(history.excerpts), check, MANY):
        if excerpt.source in sources and excerpt.text not in seen:
            seen.add(excerpt.text)
            yield excerpt


def errors_of(history: History, check: Check = go_on) -> Iterator[Item]:
    """Each command that failed, the last first, and what was done until it passed; a test that never did is open."""
    runs = history.runs
    changes = _changes(history, check)
    passed: dict[str, Run] = {}
    seen: set[tuple[str, str]] = set()
    for run in reversed(runs):
        if run.outcome is Outcome.PASSED:
            passed[run.command] = run
        elif run.outcome is Outcome.FAILED and run.detail and (run.command, run.detail) not in seen:
            seen.add((run.command, run.detail))
            yield _error_item(run, passed.get(run.command), changes)


def _error_item(run: Run, cure: Run | None, changes: Sequence[tuple[int, str]]) -> Item:
    is_open = run.is_test and cure is None
    text = f"`{run.command}` failed: {run.detail}"
    if cure:
        between = dict.fromkeys(path for index, path in changes if run.index <= index <= cure.index)
        text += f"; passed in #{cure.index}" + (f" after changes to {', '.join([*between][:4])}" if between else "")
    return Item(
        section=Section.OPEN if is_open else Section.ERRORS,
        text=text,
        index=run.index,
        anchors=find_anchors(text),
        value=3.0 + 2.0 * run.is_test - 1.5 * run.looks,
    )


def _changes(history: History, check: Check) -> list[tuple[int, str]]:
    return [
        (call.index, path)
        for call, touches in checked(zip(history.calls, history.touches, strict=True), check)
        for path, action in touches
        if action is not FileAction.READ
    ]


def _conclusiveness(excerpt: Excerpt) -> float:
    if CHATTER.match(excerpt.text) or _CODE.search(excerpt.text):
        return 0.0
    cues = len(set(match.lower() for match in _CONCLUDES.findall(excerpt.text)))
    return _SOURCE_VALUE[excerpt.source] * (1 + min(cues, 4))


def _scale(excerpt: Excerpt) -> float:
    return _CHATTER_SCALE if CHATTER.match(excerpt.text) or _CODE.search(excerpt.text) else 1.0


def _item(excerpt: Excerpt, section: Section, value: float) -> Item:
    return Item(
        section=section,
        text=excerpt.text if section is Section.FINDINGS else excerpt.text.replace("```", "'''"),
        index=excerpt.index,
        order=excerpt.order,
        anchors=excerpt.anchors,
        group=excerpt.group,
        value=value,
        scale=_scale(excerpt) if section is Section.FINDINGS else 1.0,
    )
