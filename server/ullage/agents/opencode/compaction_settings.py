"""The settings of opencode and of Kilo Code's CLI about compaction: `compaction.auto`, `compaction.reserved`
(`compaction.buffer` in opencode 2), the limits of a model of the user's own, and those in the list of models that the
program keeps."""

from collections.abc import Iterator

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch
from ullage.model.json_values import JsonObject, as_object

# Tokens. What is kept free of a model's largest prompt, if the settings name that.
RESERVED = 20_000


def _files(name: str, machine: Machine) -> tuple[str, ...]:
    folder = f"{machine.folder('XDG_CONFIG_HOME', '.config')}/{name}"
    named = machine.variables.get(f"{name.upper()}_CONFIG", "").replace("\\", "/")
    folders = (folder, *((machine.cwd, f"{machine.cwd}/.{name}") if machine.cwd else ()))
    own, *project = (f"{place}/{name}.{ending}" for place in folders for ending in ("json", "jsonc"))
    first, *rest = project
    listed = f"{machine.folder('XDG_CACHE_HOME', '.cache')}/{name}/models.json"
    return (listed, own, first, *((named,) if named else ()), *rest)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        if switch(inner(file, "compaction", "auto")) is False:
            reading.take("automatic", "compaction.auto", False)
        for name in ("reserved", "buffer"):
            reading.take("reserve", f"compaction.{name}", number(inner(file, "compaction", name)))
        limits = [*_limits(as_object(file.get("provider")), texts.model)]
        # Several providers of the list may offer a model. Which one answers is not known.
        listed = [] if limits else [*_limits(file, texts.model)]
        for limit in limits or (listed[:1] if all(one == listed[0] for one in listed) else []):
            reading.take("model_window", "limit.context", number(limit.get("context")) or None)
            reading.take("window", "limit.input", number(limit.get("input")) or None)
            reading.take("max_output", "limit.output", number(limit.get("output")) or None)
    return reading.given()


def _limits(providers: JsonObject, model: str) -> Iterator[JsonObject]:
    """Yields the limits that providers give the model with this id."""
    for provider in providers.values():
        if limit := as_object(inner(as_object(provider), "models", model, "limit")):
            yield limit


# Those besides the ones above do not change when a context is compacted.
_KNOWN = frozenset({"auto", "reserved", "buffer", "prune", "keep", "tail_turns", "model", "preserve_recent_tokens"})
SETTINGS = OwnSettings(files=lambda machine: _files("opencode", machine), read=_read, known=_KNOWN, prefix="OPENCODE")
KILO_SETTINGS = OwnSettings(files=lambda machine: _files("kilo", machine), read=_read, known=_KNOWN, prefix="KILO")
