"""Chooses the provider for a model: the one named in the settings, else the one that serves the model and has a key.
And asks the settings' embeddings server.

That server speaks OpenAI's Embeddings API (https://platform.openai.com/docs/api-reference/embeddings), as most do:
Ollama, LM Studio, vLLM, llama.cpp.
"""

from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from importlib import import_module
from math import isfinite

from ullage.model import words
from ullage.model.answer import EDITOR
from ullage.model.errors import AnswerBroken, NoModelConfigured
from ullage.model.settings import ProviderSettings, SearchSettings, Settings
from ullage.providers.prerequisites import find_key, key_remedy, require_sdk
from ullage.providers.tools_in_text import EditorProvider, ToolsInText
from ullage.service.ports.models import EditorModels, Provider

# By kind: a module, and its function of a name, settings and a key. A module with an SDK takes half a second to import,
# so it is imported when a provider of its kind is first used.
_MAKERS = {
    "anthropic": ("anthropic_messages", "make_anthropic_provider"),
    "openai": ("openai_apis", "make_responses_provider"),
    "openai_chat": ("openai_apis", "make_chat_provider"),
    "scripted": ("played", "make_scripted_provider"),
    "replay": ("played", "make_replay_provider"),
}
# Providers that need no settings, only a key.
KNOWN = {
    "anthropic": ProviderSettings(kind="anthropic", models=("claude-*", "*/claude-*")),
    "openai": ProviderSettings(kind="openai", models=("gpt-*", "o1*", "o3*", "o4*", "codex-*", "chatgpt-*")),
}


class ProviderRegistry:
    """Makes the provider for a model by the settings. Each provider is made once, and again when its settings or its
    key change. `editor` returns the editor that offers models of its own, None if the client offers none."""

    def __init__(self, editor: Callable[[], EditorModels | None] = lambda: None) -> None:
        self._editor = editor
        self._made: dict[str, tuple[ProviderSettings, str, Provider]] = {}

    def __call__(self, model: str, settings: Settings, /) -> Provider:
        if model.startswith(EDITOR):
            return self._of_editor(model, settings)
        name, provider, key = _choose(model, settings)
        made = self._get(name, provider, key)
        syntax = settings.models[model].tool_syntax if model in settings.models else None
        syntax = syntax or ("native" if provider.native_tools else "xml")
        return made if syntax == "native" else ToolsInText(made, syntax)

    def name(self, model: str, settings: Settings, /) -> str:
        return self._require_editor(model).editor if model.startswith(EDITOR) else _choose(model, settings)[0]

    async def close(self) -> None:
        for _, _, provider in self._made.values():
            await provider.close()
        self._made.clear()

    def _of_editor(self, model: str, settings: Settings) -> Provider:
        syntax = settings.models[model].tool_syntax if model in settings.models else None
        # Not every editor can pass tools on, so they are described in the text.
        in_text = syntax if syntax and syntax != "native" else "xml"
        return ToolsInText(EditorProvider(self._require_editor(model)), in_text)

    def _require_editor(self, model: str) -> EditorModels:
        editor = self._editor()
        if editor is None:
            raise NoModelConfigured(words.no_editor(model))
        return editor

    def _get(self, name: str, settings: ProviderSettings, key: str) -> Provider:
        made = self._made.get(name)
        if made is None or made[:2] != (settings, key):
            self._made[name] = (settings, key, make_provider(name, settings, key))
        return self._made[name][2]


def make_provider(name: str, settings: ProviderSettings, key: str) -> Provider:
    """Returns a new provider that sends this key. Raises `SdkMissing` if the package that it needs is not installed."""
    require_sdk(name, settings.kind)
    module, function = _MAKERS[settings.kind]
    return getattr(import_module(f"ullage.providers.{module}"), function)(name, settings, key)


def _choose(model: str, settings: Settings) -> tuple[str, ProviderSettings, str]:
    """Returns the name of the provider for a model, its settings and its key. Raises `NoModelConfigured` if no provider
    serves the model or the chosen one has no key, and `SdkMissing` if the package that the provider needs is not
    installed."""
    name, provider, key = _find(model, settings)
    require_sdk(name, provider.kind)
    return name, provider, key


def _find(model: str, settings: Settings) -> tuple[str, ProviderSettings, str]:
    providers = {**KNOWN, **settings.providers}
    if settings.provider:
        if settings.provider not in providers:
            raise NoModelConfigured(
                f"no provider is called {settings.provider!r}; there are {', '.join(providers)}. "
                "Correct ullage.provider or add it to ullage.providers."
            )
        named = providers[settings.provider]
        if (key := find_key(named)) is None:
            raise NoModelConfigured(f"{settings.provider} has no key: {key_remedy(named)}", lacks_key=True)
        return settings.provider, named, key
    # The user's own providers come first, because they may serve a model of the same name.
    for name, known in (*settings.providers.items(), *KNOWN.items()):
        if serves(known, model) and (key := find_key(known)) is not None:
            return name, known, key
    if not model and any(find_key(known) is not None for known in providers.values()):
        raise NoModelConfigured(words.no_model_chosen())
    # Without a model's name, any key is the first step.
    lacks_key = not model or any(serves(known, model) for known in providers.values())
    raise NoModelConfigured(words.no_model(), lacks_key=lacks_key)


def serves(settings: ProviderSettings, model: str) -> bool:
    """Returns whether the model's name matches one of the provider's `models`; these may contain `*`."""
    return any(fnmatch(model, pattern) for pattern in settings.models)


_EMBEDDINGS = "the embeddings server"
# Seconds without an answer after which a request is given up. A server at home may have to load its model first.
_TIMEOUT = 60.0
# Numbers of a vector. Today's longest have 4,096.
_LONGEST = 16_384


async def embed(settings: SearchSettings, texts: Sequence[str], /) -> list[Sequence[float]]:
    """Returns a vector for each text; see `Embeds`. Raises `NoModelConfigured` without a key, and `SdkMissing`."""
    server = ProviderSettings(
        kind="openai", base_url=settings.embeddings_url, key_env=settings.embeddings_key_env, timeout=_TIMEOUT
    )
    require_sdk(_EMBEDDINGS, server.kind)
    key = find_key(server)
    if key is None:
        raise NoModelConfigured(f"{_EMBEDDINGS} has no key: {key_remedy(server)}")
    # Imported on use: it needs the SDK, which takes half a second to import.
    from ullage.providers.openai_apis import make_client, translated  # noqa: PLC0415

    client = make_client(server, key)
    async with client:
        with translated(_EMBEDDINGS, client):
            answer = await client.embeddings.create(
                # Not all servers know the SDK's own format, base64.
                input=list(texts),
                model=settings.embeddings_model,
                encoding_format="float",
            )
            ordered = sorted(answer.data, key=lambda one: one.index)
            return _checked_vectors([one.embedding for one in ordered], len(texts))


def _checked_vectors(vectors: list[Sequence[float]], wanted: int) -> list[Sequence[float]]:
    """Returns the vectors if there are as many as wanted, of one usable length. Raises `AnswerBroken`."""
    if len(vectors) != wanted:
        raise AnswerBroken(f"it gave {len(vectors)} vectors for {wanted} texts")
    sizes = {len(vector) for vector in vectors}
    if len(sizes) > 1 or not 0 < min(sizes, default=1) <= _LONGEST:
        raise AnswerBroken(f"its vectors have {', '.join(map(str, sorted(sizes)))} dimensions")
    if not all(isfinite(number) for vector in vectors for number in vector):
        raise AnswerBroken("its vectors have numbers that are not finite")
    return vectors
