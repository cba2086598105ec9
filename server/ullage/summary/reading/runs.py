"""Commands that were run, and how they ended."""

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ullage.agents.calls import ToolCall
from ullage.model.artifacts import Outcome
from ullage.summary.reading.reader import Reader


class Run(Struct, frozen=True, kw_only=True):
    """One command: as shown, its outcome, and the line of its output that tells most. `looks` when it only shows
    something and changes nothing."""

    command: str
    index: int
    outcome: Outcome
    detail: str
    is_test: bool
    looks: bool


def runs_of(calls: Iterable[ToolCall], reader: Reader) -> Iterator[Run]:
    """The shell commands among the calls, in order."""
    for call in calls:
        command = reader.command(call.command)
        if command.shown:
            outcome, detail = reader.end(call.result, call.failed)
            yield Run(
                command=command.shown,
                index=call.index,
                outcome=outcome,
                detail=detail,
                is_test=command.is_test,
                looks=command.looks,
            )
