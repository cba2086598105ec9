"""Calls of tools other than the shell that failed and did not work later, as of a page that was not fetched."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from ullage.agents.calls import ToolCall
from ullage.agents.tools import SUBJECT_KEYS, Action, action_of, plain, strings_in, text_of
from ullage.model.artifacts import FileAction
from ullage.model.message import number_of
from ullage.redaction.clean import clean
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest
from ullage.summary.reading.excerpts import clip, cut_at_space, single_spaced
from ullage.summary.tuning import TUNING, Tuning

# A call that the user refused, or answered otherwise than the agent hoped, did not fail.
_BY_USER = re.compile(r"\s*(?:\[Request interrupted|Permission to use|(?:The )?[Uu]ser\b|.{0,60}\bby (?:the )?user\b)")
_TAG = re.compile(r"</?\w{1,40}>")
# Characters.
_OF_LIMIT, _SAID_LIMIT = 100, 160
_SAID_OF = re.compile(r"`([^`\n]+)` of (\S[^\n]*?) failed\b")
# Tries of a change that are reported with the state of the work.
_REPORTED = 2


class _Aim(NamedTuple):
    """What a call was for: its tool and its file, address or the like. Two calls with one aim do the same."""

    tool: str
    of: str


def failed_calls(digest: Digest, tuning: Tuning = TUNING) -> Iterator[Item]:
    """Yields an item for each tool's call that failed and did not work later, newest first: what it was for and the
    first line that the tool returned. Commands are listed elsewhere, and so are changes that failed again and again. A
    file that could not be read is left out, because the next look at it shows the same."""
    failed: dict[_Aim, list[ToolCall]] = {}
    for call in digest.calls:
        if call.failed and not call.command and not _BY_USER.match(call.result) and (aim := _aim(call)).of:
            failed[aim] = [*failed.pop(aim, ()), call]
    worked = _worked(digest, failed) if failed else {}
    for aim, calls in reversed(failed.items()):
        last = calls[-1]
        action = action_of(last.name, last.input)
        again_and_again = len(calls) >= _REPORTED and action in (Action.EDIT, Action.WRITE)
        if not (action is Action.READ or again_and_again or worked.get(aim, -1) > last.index):
            yield _item(aim, calls, tuning.error_value)


def without_worked(items: Sequence[Item], digest: Digest) -> Iterator[Item]:
    """Yields the items of an earlier summary without those on calls that worked since."""
    said = [_SAID_OF.match(item.text) if item.section is Section.ERRORS else None for item in items]
    aims = [_Aim(plain(failed[1]), failed[2]) if failed else None for failed in said]
    known = {aim for aim in aims if aim}
    worked = _worked(digest, known) if known else {}
    return (item for item, aim in zip(items, aims, strict=True) if aim is None or aim not in worked)


def _worked(digest: Digest, aims: Collection[_Aim]) -> dict[_Aim, int]:
    """Returns which of the aims a later call had that did not fail, or whose file was changed in any way, and the
    message of the last such call."""
    tools = {aim.tool for aim in aims}
    by_file: defaultdict[str, list[_Aim]] = defaultdict(list)
    for aim in aims:
        by_file[aim.of].append(aim)
    worked: dict[_Aim, int] = {}
    for part in (digest, *([digest.after] if digest.after else [])):
        for call, touches in zip(part.calls, part.touches, strict=True):
            if not call.failed and plain(call.name) in tools:
                worked[_aim(call)] = call.index
            for path, action in touches:
                if action is not FileAction.READ:
                    worked.update(dict.fromkeys(by_file.get(path, ()), call.index))
    return worked


def _aim(call: ToolCall) -> _Aim:
    subject = call.path or text_of(call.input, SUBJECT_KEYS) or next(strings_in(call.input), "")
    return _Aim(plain(call.name), cut_at_space(" ".join(clean(subject).split()).replace("`", "'"), _OF_LIMIT))


def _item(aim: _Aim, calls: Sequence[ToolCall], value: float) -> Item:
    last = calls[-1]
    times = f" {len(calls)} times since #{number_of(calls[0].index)}" if len(calls) > 1 else ""
    text = f"`{clean(last.name)}` of {aim.of} failed{times}: {_first_line(last.result)}"
    return Item(section=Section.ERRORS, text=text, index=last.index, anchors=find_anchors(text), value=value)


def _first_line(result: str) -> str:
    line = next((line for line in _TAG.sub("", result).splitlines() if line.strip()), "no reason is shown")
    return clip(single_spaced(clean(line.strip()).replace("`", "'")), _SAID_LIMIT)
