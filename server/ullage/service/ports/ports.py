"""All ports together."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ullage.model.settings import SearchSettings
from ullage.service.ports.models import Catalog, Prices, Providers, Summarizer, SummaryPrompts, Toolbox
from ullage.service.ports.store import SessionStore, TakesNews, no_news
from ullage.service.ports.world import (
    AgentSettings,
    Chance,
    Clock,
    CommandRunner,
    Ids,
    NoAgentSettings,
    ProjectFiles,
    TranscriptFinder,
)


class Embeds(Protocol):
    """Asks the embeddings server that the settings name: vectors are near each other for texts of like meaning."""

    async def __call__(self, settings: SearchSettings, texts: Sequence[str], /) -> list[Sequence[float]]:
        """Returns a vector for each text, all of one length. Raises `ProviderError` if the server can't be asked,
        refuses, or answers with anything else."""
        ...


class Ports(Struct, frozen=True, kw_only=True):
    """The ports of one workspace, filled by the composition root (`app`). Without `embed`, searches go by words alone,
    whatever the settings say."""

    store: SessionStore
    catalog: Catalog
    clock: Clock
    chance: Chance
    ids: Ids
    summarizer: Summarizer
    providers: Providers
    toolbox: Toolbox
    prices: Prices
    prompts: SummaryPrompts
    commands: CommandRunner
    project_files: ProjectFiles
    transcripts: TranscriptFinder
    embed: Embeds | None = None
    agent_settings: AgentSettings = NoAgentSettings()
    store_news: TakesNews = no_news
