"""OpenAI's Embeddings API (https://platform.openai.com/docs/api-reference/embeddings), which most servers speak:
Ollama, LM Studio, vLLM, llama.cpp."""

from collections.abc import Sequence
from math import isfinite

from ullage.model.errors import AnswerBroken, NoModelConfigured
from ullage.model.settings import ProviderSettings, SearchSettings
from ullage.providers.prerequisites import find_key, key_remedy, require_sdk

_NAME = "the embeddings server"
# Seconds without an answer after which a request is given up. A server at home may have to load its model first.
_TIMEOUT = 60.0
# Numbers of a vector. Today's longest have 4,096.
_LONGEST = 16_384


async def embed(settings: SearchSettings, texts: Sequence[str], /) -> list[Sequence[float]]:
    """Returns a vector for each text; see `Embeds`. Raises `NoModelConfigured` if the key is missing and `SdkMissing`
    if the package is."""
    server = ProviderSettings(
        kind="openai", base_url=settings.embeddings_url, key_env=settings.embeddings_key_env, timeout=_TIMEOUT
    )
    require_sdk(_NAME, server.kind)
    key = find_key(server)
    if key is None:
        raise NoModelConfigured(f"{_NAME} has no key: {key_remedy(server)}")
    # Imported on use: it needs the SDK, which takes half a second to import.
    from ullage.providers.openai_apis import make_client, translated  # noqa: PLC0415

    client = make_client(server, key)
    async with client:
        with translated(_NAME, client):
            answer = await client.embeddings.create(
                # Not all servers know the SDK's own format, base64.
                input=list(texts),
                model=settings.embeddings_model,
                encoding_format="float",
            )
            ordered = sorted(answer.data, key=lambda one: one.index)
            return _checked([one.embedding for one in ordered], len(texts))


def _checked(vectors: list[Sequence[float]], wanted: int) -> list[Sequence[float]]:
    """Returns the vectors if there are as many as wanted, of one usable length. Raises `AnswerBroken`."""
    if len(vectors) != wanted:
        raise AnswerBroken(f"it gave {len(vectors)} vectors for {wanted} texts")
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1 or not 0 < min(sizes, default=1) <= _LONGEST:
        raise AnswerBroken(f"its vectors have {', '.join(map(str, sorted(sizes)))} dimensions")
    if not all(isfinite(number) for vector in vectors for number in vector):
        raise AnswerBroken("its vectors have numbers that are not finite")
    return vectors
