"""The state of the work: the newest plan, the last test run and commit, the files changed last, the next step."""

import re
from collections.abc import Iterator

from ullage.agents.calls import ToolCall, text_put_into
from ullage.agents.tools import PLAN_KEYS, value_of
from ullage.model.artifacts import FileAction
from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest, Source
from ullage.summary.reading.excerpts import clip, lines

_DONE = {"completed": "done", "done": "done", "in_progress": "in progress", "pending": "open"}
_ENTRY_LIMIT = 240
# A checklist in Markdown. In text written into files the list mark is required, because "[x]" occurs in code, too.
_SAID_ENTRY = re.compile(r"^(?:[-*] )?\[([ xX])\] (\S.*)$", re.MULTILINE)
_WRITTEN_ENTRY = re.compile(r"^[-*] \[([ xX])\] (\S.*)$", re.MULTILINE)
_FEWEST_ENTRIES = 2
# Other products read as many files again after a compaction.
RECENT_FILES = 5
_TOUCHED_LINES, _TOUCHED_LIMIT = 3, 200


def plan_of(digest: Digest) -> list[Item]:
    """Returns the newest list of things to do, from a to-do tool or from a checklist in Markdown."""
    index, entries = _checklist(digest)
    for call in reversed(digest.calls):
        if call.index < index:
            break
        if todos := _todos(call):
            index, entries = call.index, todos
            break
    return [_item(Section.PLAN, f"{status}: {text}", index) for status, text in entries]


def state_of(digest: Digest) -> Iterator[Item]:
    """Yields the last test run and the last commit."""
    tests = commits = None
    for run in digest.runs:
        if run.is_test:
            tests = run
        elif run.command.startswith("git commit"):
            commits = run
    for run, what in ((tests, "Last test run"), (commits, "Last commit")):
        if run:
            detail = f": {run.detail}" if run.detail else ""
            yield _item(Section.STATE, f"{what}: `{run.command}` {run.outcome.value}{detail}", run.index)


def recent_of(digest: Digest) -> Iterator[Item]:
    """Yields the files that were changed last, each with the lines that were written into it last."""
    seen: set[str] = set()
    for call, touches in zip(reversed(digest.calls), reversed(digest.touches), strict=True):
        for path, action in touches:
            if action in (FileAction.CREATED, FileAction.MODIFIED) and path not in seen:
                if len(seen) == RECENT_FILES:
                    return
                seen.add(path)
                yield _item(Section.RECENT, _touched(path, call), call.index)


def next_of(digest: Digest) -> Iterator[Item]:
    """Yields what the agent said last."""
    said = [piece for piece in digest.excerpts if piece.source in (Source.AGENT, Source.THINKING)]
    for piece in said[-3:]:
        if piece.index == said[-1].index:
            yield _item(Section.NEXT, piece.text, piece.index)


def _touched(path: str, call: ToolCall) -> str:
    shown = lines(clean(text_put_into(call, path)), 4_000)[:_TOUCHED_LINES]
    quoted = clip(" ".join(shown), _TOUCHED_LIMIT).replace("`", "'")
    return f"{path}: `{quoted}`" if quoted else path


def _checklist(digest: Digest) -> tuple[int, list[tuple[str, str]]]:
    """Returns the newest message's checklist and that message's index, or -1 and no entries."""
    index, found = -1, list[tuple[str, str]]()
    for excerpt in reversed(digest.excerpts):
        if excerpt.index != index:
            if len(found) >= _FEWEST_ENTRIES:
                break
            index, found = excerpt.index, []
        if excerpt.source is not Source.RESULT and "[" in excerpt.text:
            pattern = _SAID_ENTRY if excerpt.source is Source.AGENT else _WRITTEN_ENTRY
            entries = [("open" if match[1] == " " else "done", match[2]) for match in pattern.finditer(excerpt.text)]
            found[:0] = entries
    return (index, found) if len(found) >= _FEWEST_ENTRIES else (-1, [])


def _todos(call: ToolCall) -> list[tuple[str, str]]:
    """Returns status and text of each entry of a to-do tool's list."""
    entries = as_objects(value_of(call.input, PLAN_KEYS))
    texts = [(as_text(entry.get("status")) or "pending", _todo_text(entry)) for entry in entries]
    return [(_DONE.get(status, status), clip(clean(text), _ENTRY_LIMIT)) for status, text in texts if text]


def _todo_text(entry: JsonObject) -> str:
    return as_text(entry.get("content") or entry.get("step") or entry.get("text") or entry.get("title"))


def _item(section: Section, text: str, index: int) -> Item:
    return Item(section=section, text=text, index=index, anchors=find_anchors(text))
