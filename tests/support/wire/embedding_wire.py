"""A server with OpenAI's `/embeddings` on the loopback. Its vectors are made of words: those that mean the same here
have the same place."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from support.wire.http import Exchange, Json, serve

# Each group of words has a place in the vectors; other words have none.
_MEANINGS = (("automobile", "car", "vehicle"), ("physician", "doctor", "medicine"), ("harbour", "port", "quay"))


class EmbeddingServer:
    """Keeps every request. `status` refuses them, `held` holds answers back until it is set, and `change` replaces an
    answer's vectors."""

    def __init__(self) -> None:
        self.received: list[Json] = []
        self.keys: list[str] = []
        self.status, self.message = 200, ""
        self.size = len(_MEANINGS) + 1
        self.ready = asyncio.Event()
        self.ready.set()
        self.spoiled: Any = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address for the settings."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [body["input"] for body in self.received]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator["EmbeddingServer"]:
        """Serves while the block runs."""
        async with serve(self._handle, self.port) as self.port:
            yield self

    async def _handle(self, exchange: Exchange) -> None:
        assert exchange.path == "/v1/embeddings", exchange.path
        self.received.append(exchange.body)
        self.keys.append(exchange.headers.get("authorization", ""))
        await self.ready.wait()
        if self.status != 200:
            error = {"message": self.message, "type": "error", "code": "insufficient_quota"}
            await exchange.answer(self.status, {"error": error})
            return
        vectors = [self._vector(text) for text in exchange.body["input"]]
        if self.spoiled is not None:
            vectors = self.spoiled
        # In reverse: only `index` says which text a vector is of.
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
        answer = {"object": "list", "model": exchange.body["model"], "data": data[::-1]}
        await exchange.answer(200, {**answer, "usage": {"prompt_tokens": 1, "total_tokens": 1}})

    def _vector(self, text: str) -> Sequence[float]:
        words = re.findall(r"\w+", text.lower())
        counts = [float(sum(word in group for word in words)) for group in _MEANINGS]
        return [*counts, 0.1, *[0.0] * self.size][: self.size]
