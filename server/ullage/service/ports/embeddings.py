"""Port to a server that makes embeddings: vectors that are near each other for texts of like meaning."""

from collections.abc import Sequence
from typing import Protocol

from ullage.model.settings import SearchSettings


class Embeds(Protocol):
    """Asks the embeddings server that the settings name."""

    async def __call__(self, settings: SearchSettings, texts: Sequence[str], /) -> list[Sequence[float]]:
        """Returns a vector for each text, all of one length. Raises `ProviderError` if the server can't be asked,
        refuses, or answers with anything else."""
        ...
