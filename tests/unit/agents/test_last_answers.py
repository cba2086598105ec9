"""The end of a file, read from its last answer on, shows the usage that a reading of all of the file shows last."""

from typing import Any

import pytest

from support.codex_files import call, counted, output, said, session
from support.foreign import to_lines
from ullage.agents.codex.rollout import FORMAT as CODEX
from ullage.formats.parsing import Document, parse_document
from ullage.formats.transcripts.format import Format, from_last_answer
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import MessageAppended, UsageReported


@pytest.mark.parametrize("is_before", [True, False])
def test_a_usage_of_codex_is_read_with_the_prompt_that_shows_whose_it_is(is_before: bool) -> None:
    document = parse_document(to_lines(*_codex_lines(is_before=is_before)), "rollout.jsonl")
    whole = shown(CODEX, document)
    for first in range(1, len(document.lines)):
        part = Document(name="rollout.jsonl", lines=(document.lines[0], *document.lines[first:]))
        read = from_last_answer(CODEX, part, 1)
        # Where no prompt is in the end, nothing is shown of it.
        assert len(read.lines) == 1 or shown(CODEX, read)[:1] == whole[:1]


def shown(known: Format, document: Document) -> tuple[int, int]:
    """Returns the last usage, and how many messages follow it."""
    try:
        events = known.read(document).events
    except UnreadableTranscript:
        return 0, 0
    last = max((place for place, event in enumerate(events) if isinstance(event, UsageReported)), default=0)
    report = events[last]
    later = sum(isinstance(event, MessageAppended) for event in events[last:])
    return (report.usage.total if isinstance(report, UsageReported) else 0), later


def _codex_lines(*, is_before: bool) -> list[dict[str, Any]]:
    def answer(prompt: int, *items: dict[str, Any]) -> list[dict[str, Any]]:
        return [counted(prompt), *items] if is_before else [*items, counted(prompt)]

    return [
        session(id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9", cwd="/home/ada"),
        said("user", "Look."),
        *answer(9_000, call("c1")),
        output("c1"),
        *answer(12_000, said("assistant", "Both are fine.")),
        said("user", "And now?"),
        *answer(15_000, call("c2")),
        output("c2"),
        *answer(21_000, said("assistant", "Now, too.")),
    ]
