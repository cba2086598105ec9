"""The figure of a transcript that is only looked at is that of its import."""

import asyncio

import pytest

from support.claude_log import ClaudeLog
from support.workspace import build_test_client
from ullage.agents.transcripts import read
from ullage.api.protocol import usage_result
from ullage.app.compose import reading_settings, throwaway_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.service.sessions import import_transcript, project_transcript

pytestmark = pytest.mark.no_cover


def assert_same_figure(transcript: ImportedTranscript) -> None:
    with throwaway_workspace(reading_settings(transcript.model, None)) as workspace:
        seen = usage_result(asyncio.run(project_transcript(workspace, transcript)))
        imported = usage_result(asyncio.run(import_transcript(workspace, transcript, "")))
    assert (seen.used, seen.size) == (imported.used, imported.size)
    ours, theirs = seen.meta.ullage, imported.meta.ullage
    assert (ours.source, ours.percent, ours.window) == (theirs.source, theirs.percent, theirs.window)
    assert (ours.threshold, ours.compact_at, ours.as_of) == (theirs.threshold, theirs.compact_at, theirs.as_of)
    assert (ours.agent, ours.model) == (theirs.agent, theirs.model)


@pytest.mark.parametrize(
    "log",
    [
        ClaudeLog().ask().answer(90_000),
        ClaudeLog().ask().answer(90_000).ask("and " * 500),
        ClaudeLog().ask().answer(90_000).compact(90_050),
        ClaudeLog().ask().answer(90_000).compact(90_050).ask().answer(20_000),
        ClaudeLog().ask("no answer yet"),
    ],
    ids=["answered", "asked again", "compacted", "answered after a compaction", "asked"],
)
def test_a_figure_is_that_of_an_import_whatever_came_last(log: ClaudeLog) -> None:
    assert_same_figure(read(log.data))


async def test_looking_stores_and_publishes_nothing() -> None:
    client = build_test_client()
    await project_transcript(client.workspace, read(ClaudeLog().ask().answer(90_000).data))
    assert client.workspace.ports.store.list() == ()
    assert client.recorder.notifications == []
    assert client.workspace.conversations == ()
