"""Workspaces on temporary stores, for conversations that are only read."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ullage.app.compose import open_workspace
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings
from ullage.service.conversation.workspace import Workspace


@contextmanager
def throwaway_workspace(settings: Settings) -> Generator[Workspace]:
    """Opens a workspace for the block, on a temporary store, which is deleted afterwards."""
    with (
        tempfile.TemporaryDirectory(prefix="ullage-") as folder,
        open_workspace(Path(folder) / "sessions.db", settings) as workspace,
    ):
        yield workspace


def reading_settings(model: str, window: int | None) -> Settings:
    """Returns settings for a workspace that only reads a transcript of the model `model`. `window` replaces the model's
    window, in tokens.

    Nothing is compacted automatically, no file but the transcript is read, and no model writes summaries.
    """
    models = {model: ModelSettings(window=window)} if window else {}
    context = ContextSettings(enabled=False, bring_back="off")
    return Settings(model=model, models=models, context=context, summary=SummarySettings(writer="offline"))
