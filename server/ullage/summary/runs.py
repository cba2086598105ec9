"""Commands that were run, and how they ended."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ullage.model.artifacts import Outcome
from ullage.summary.calls import ToolCall
from ullage.summary.excerpts import clip
from ullage.summary.outcomes import judge
from ullage.summary.redaction import clean
from ullage.summary.shell import first_line, is_test, only_looks

_COMMAND_LIMIT = 140
# A commit's message is often a here-document; its first line says what was done.
_COMMIT_MESSAGE = re.compile(r"\bgit commit\b[^\n]{0,200}<<-?\s*['\"]?\w+['\"]?\n\s*([^\n]{3,200})")
_LOOKED_AT = 4000
_SPACES = re.compile(r"\s+")


class Run(Struct, frozen=True, kw_only=True):
    """One command: as shown, its outcome, and the line of its output that tells most. `looks` when it only shows
    something and changes nothing."""

    command: str
    index: int
    outcome: Outcome
    detail: str
    is_test: bool
    looks: bool


def runs_of(calls: Iterable[ToolCall]) -> Iterator[Run]:
    """The shell commands among the calls, in order."""
    for call in calls:
        shown = _shown(call.command)
        if shown:
            outcome, detail = judge(call.result, call.failed)
            looks = only_looks(call.command)
            yield Run(
                command=shown,
                index=call.index,
                outcome=outcome,
                detail=clean(detail),
                is_test=is_test(call.command) and not looks,
                looks=looks,
            )


def _shown(command: str) -> str:
    commit = _COMMIT_MESSAGE.search(command[:_LOOKED_AT])
    first = f"git commit: {commit[1]}" if commit else first_line(command)
    return clip(_SPACES.sub(" ", clean(first)).strip().replace("`", "'"), _COMMAND_LIMIT)
