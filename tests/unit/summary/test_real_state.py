"""The state of work in summaries of recorded conversations: nothing is reported as failed that passed later, nothing is
next that was done, and decisions neither end in a colon nor narrate.

The check reads the conversations by itself: it compares commands by their text up to the first filter, and steps by the
files that later calls changed.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.conversations import places
from support.transcripts import ROOT, conversation_files, recorded
from ullage.model.artifacts import FileAction, Outcome
from ullage.model.events import MessageAppended
from ullage.model.message import Message
from ullage.summary.choosing.findings import errors_of, findings_of
from ullage.summary.choosing.ledger import collect
from ullage.summary.choosing.plans import plan_entries
from ullage.summary.choosing.work_state import next_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader

FILES = conversation_files()
CUTS = (0.4, 0.6, 0.9)
TAIL = 4
# At most this share of the decisions may end in a colon or narrate.
NARRATING = 0.02
READER = Reader()
_FILTER = re.compile(r"\s*(?:2>&1|2>/dev/null)?\s*\|\s*(?:tail|head|grep|egrep|rg|sed|cat|sort)\b.*$", re.DOTALL)
_FOLDER = re.compile(r"^\s*cd \S+ *(?:&&|;)\s*")
_NARRATES = re.compile(
    r"(?:now|next|ok(?:ay)?|good|great|perfect|let me|let['’]s|i['’]ll|i will|i need to|i['’]m going to)\b",
    re.IGNORECASE,
)
_PASSES = re.compile(r"all (?:\d+ )?tests? pass", re.IGNORECASE)


@cache
def messages_of(path: Path) -> tuple[Message, ...]:
    return tuple(event.message for event in recorded(path).events if isinstance(event, MessageAppended))


@cache
def cuts() -> tuple[tuple[str, tuple[Message, ...], Digest], ...]:
    return tuple(_cuts())


def _cuts() -> Iterator[tuple[str, tuple[Message, ...], Digest]]:
    for path in FILES:
        messages = messages_of(path)
        for end in sorted({int(len(messages) * cut) for cut in CUTS} - {0}):
            tail = messages[end : end + TAIL]
            digest = read_messages(messages[:end], places(messages)[:end], READER)
            after = read_messages(tail, range(end, end + len(tail)), READER)
            yield f"{path.relative_to(ROOT)}:{end}", messages[:end], replace(digest, after=after)


def bare(command: str) -> str:
    return " ".join(_FILTER.sub("", _FOLDER.sub("", command)).replace("`", "'").split())


def passed_later(digest: Digest) -> set[tuple[str, int]]:
    """Returns the commands that passed, each with the index of the message in which it passed last."""
    return {(bare(digest.calls[run.number].command), run.index) for run in digest.runs if run.outcome is Outcome.PASSED}


pytestmark = pytest.mark.skipif(not FILES, reason="recorded transcripts are not on this machine")


def test_nothing_is_reported_as_failed_that_passed_later() -> None:
    reported, false = 0, list[str]()
    for name, messages, digest in cuts():
        last = dict[str, int]()
        for command, index in sorted(passed_later(digest), key=lambda pair: pair[1]):
            last[command] = index
        for item in errors_of(digest):
            command = re.match(r"`([^`]+)` failed", item.text)
            open_still = "; passed in #" not in item.text
            reported += 1
            if command and open_still and last.get(bare(command[1]), -1) > item.index:
                false.append(f"{name} {item.text[:80]}")
        for artifact in collect(messages, places(messages)).commands:
            failed = artifact.outcome is Outcome.FAILED
            if failed and last.get(bare(artifact.command), -1) > artifact.last_index:
                false.append(f"{name} ledger {artifact.command[:80]}")
    assert reported > 100
    assert false == []


def test_nothing_is_next_that_a_later_call_changed_or_ran() -> None:
    steps, false = 0, list[str]()
    for name, _, digest in cuts():
        parts = [digest, *([digest.after] if digest.after else [])]
        for item in next_of(digest, plan_entries(digest)):
            steps += 1
            changed = [
                path
                for part in parts
                for call, touches in zip(part.calls, part.touches, strict=True)
                for path, action in touches
                if call.index > item.index and action is not FileAction.READ
            ]
            tested = any(run.is_test and run.index > item.index for part in parts for run in part.runs)
            names = [anchor for anchor in item.anchors if "/" in anchor or "." in anchor]
            done = any(path.endswith(anchor) for path in changed for anchor in names) and "again:" not in item.text
            if done or (tested and re.search(r"\brun .{0,20}\btests?\b", item.text, re.IGNORECASE)):
                false.append(f"{name} {item.text[:100]}")
    assert steps > 10
    assert false == []


def test_decisions_neither_end_in_a_colon_nor_narrate() -> None:
    texts = [item.text for _, _, digest in cuts() for item in findings_of(digest)]
    bad = [
        text
        for text in texts
        if text.endswith(":") or _NARRATES.match(text) or _PASSES.match(text) or len(text.split()) < 5
    ]
    assert len(texts) > 1_000
    assert len(bad) <= NARRATING * len(texts), bad[:20]
