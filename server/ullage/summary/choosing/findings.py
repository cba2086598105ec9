"""Findings of the conversation: conclusions in prose, errors with their fixes, and details worth keeping."""

import re
from collections.abc import Iterator, Sequence, Set

from ullage.model.artifacts import FileAction, Outcome
from ullage.summary.checks import MANY, Check, checked, go_on
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest, Excerpt, Run, Source
from ullage.summary.reading.excerpts import CHATTER
from ullage.summary.tuning import TUNING, Tuning

_CONCLUDES = re.compile(
    r"\b(?:found|fix(?:ed|es)?|because|root cause|caused?|the (?:issue|problem|bug|reason|solution)|turns out|decided"
    r"|decision|instead|confirm(?:ed|s)?|works?|pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|implement(?:ed|s)|added|created"
    r"|changed|removed|renamed|replaced|updated|done|complete[d]?|means|therefore|so that|must|should|need(?:s|ed)?"
    r"|important|note|key|only|missing|wrong|correct|error|now)\b",
    re.IGNORECASE,
)
# Code pasted into prose: a patch, or an assignment or call that fills its line.
_CODE = re.compile(
    r"^(?:diff --git|index [0-9a-f]{7}|@@ |[-+] |[-+]{3} )|^[\w.\[\]]+(?:: [\w.\[\]]+)? = |[,({;]$|^[\w.]+\(.*\)$"
)


def findings_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields the agent's sentences. A sentence that states a conclusion is worth more than its names alone."""
    for excerpt in _last_of_each(digest, {Source.AGENT, Source.THINKING}, check):
        yield _item(excerpt, Section.FINDINGS, _value(excerpt.text, tuning))


def details_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields text that was written into files and commands, and text that tools returned."""
    for excerpt in _last_of_each(digest, {Source.CALL, Source.RESULT}, check):
        yield _item(excerpt, Section.DETAILS, tuning.shown_value)


def _last_of_each(digest: Digest, sources: Set[Source], check: Check) -> Iterator[Excerpt]:
    """Yields excerpts from the newest to the oldest. Of equal texts only the newest is yielded."""
    seen: set[str] = set()
    for excerpt in checked(reversed(digest.excerpts), check, MANY):
        if excerpt.source in sources and excerpt.text not in seen:
            seen.add(excerpt.text)
            yield excerpt


def errors_of(digest: Digest, check: Check = go_on, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields each command that failed, the last first, with the changes made until it passed. A failed test that
    never passed is listed as open."""
    runs = digest.runs
    changes = _changes(digest, check)
    passed: dict[str, Run] = {}
    seen: set[tuple[str, str]] = set()
    for run in reversed(runs):
        if run.outcome is Outcome.PASSED:
            passed[run.command] = run
        elif run.outcome is Outcome.FAILED and run.detail and (run.command, run.detail) not in seen:
            seen.add((run.command, run.detail))
            yield _error_item(run, passed.get(run.command), changes, tuning.error_value)


def _error_item(run: Run, cure: Run | None, changes: Sequence[tuple[int, str]], value: float) -> Item:
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
        value=value,
    )


def _changes(digest: Digest, check: Check) -> list[tuple[int, str]]:
    return [
        (call.index, path)
        for call, touches in checked(zip(digest.calls, digest.touches, strict=True), check)
        for path, action in touches
        if action is not FileAction.READ
    ]


def _value(text: str, tuning: Tuning) -> float:
    """Returns the worth of a text in addition to its names: 0 for announcements and for pasted code."""
    if CHATTER.match(text) or _CODE.search(text):
        return 0.0
    return tuning.said_value if _CONCLUDES.search(text) else tuning.shown_value


def _item(excerpt: Excerpt, section: Section, value: float) -> Item:
    return Item(
        section=section,
        text=excerpt.text if section is Section.FINDINGS else excerpt.text.replace("```", "'''"),
        index=excerpt.index,
        order=excerpt.order,
        anchors=excerpt.anchors,
        group=excerpt.group,
        value=value,
    )
