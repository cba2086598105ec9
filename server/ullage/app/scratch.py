"""Workspaces on temporary stores, for conversations that are only read, and such conversations of an agent."""

import tempfile
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ullage.agents.discovery import Wanted
from ullage.agents.table import agent_called
from ullage.agents.transcripts import read_document
from ullage.app.compose import open_workspace
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.errors import UllageError
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.agent_files import NoOwnFiles
from ullage.system.transcript_files import read_transcript_file
from ullage.watch.finder import find, this_machine

# Conversations of an agent of which one shows what the agent adds to each request, and the most bytes of each, which
# are read within a second.
_EXAMPLES, _LARGEST = 5, 8 << 20


@contextmanager
def throwaway_workspace(settings: Settings) -> Generator[Workspace]:
    """Opens a workspace for the block, on a temporary store, which is deleted afterwards. Its sessions are copies, also
    of what an agent keeps, and may be edited."""
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_workspace(Path(folder) / "sessions.db", settings) as workspace,
    ):
        workspace.own_files = NoOwnFiles()
        yield workspace


def reading_settings(model: str, window: int | None) -> Settings:
    """Returns settings for a workspace that only reads a transcript of the model `model`. `window` replaces the model's
    window, in tokens.

    Nothing is compacted automatically, no file but the transcript is read, and no model writes summaries.
    """
    models = {model: ModelSettings(window=window)} if window else {}
    context = ContextSettings(enabled=False, bring_back="off")
    return Settings(model=model, models=models, context=context, summary=SummarySettings(writer="offline"))


def examples_of(word: str, folder: str) -> Iterator[ImportedTranscript]:
    """Yields the newest conversations on this machine of the agent that commands call `word`, a few, those of a folder
    first. Files that are large or can't be read are left out; if `word` means no agent, there are none."""
    agent = agent_called(word) if word else None
    if agent is None:
        return
    wanted = Wanted(limit=_EXAMPLES, folder=folder)
    for found in find(this_machine(folder), wanted, (agent,)).conversations:
        if found.size <= _LARGEST:
            with suppress(UllageError):
                yield read_document(read_transcript_file(Path(found.path), found.run))
