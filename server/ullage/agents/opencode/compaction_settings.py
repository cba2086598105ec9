"""The settings of opencode and of Kilo Code's CLI about compaction: `compaction.auto`, `compaction.reserved`, and the
limits of a model of the user's own."""

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch
from ullage.model.json_values import as_object

# Tokens. What is kept free of a model's largest prompt, if the settings name that.
RESERVED = 20_000


def _files(name: str, machine: Machine) -> tuple[str, ...]:
    folder = f"{machine.folder('XDG_CONFIG_HOME', '.config')}/{name}"
    named = machine.variables.get(f"{name.upper()}_CONFIG", "").replace("\\", "/")
    folders = (folder, *((machine.cwd, f"{machine.cwd}/.{name}") if machine.cwd else ()))
    own, *project = (f"{place}/{name}.{ending}" for place in folders for ending in ("json", "jsonc"))
    first, *rest = project
    return (own, first, *((named,) if named else ()), *rest)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        if switch(inner(file, "compaction", "auto")) is False:
            reading.take("automatic", "compaction.auto", False)
        reading.take("reserve", "compaction.reserved", number(inner(file, "compaction", "reserved")))
        for provider in as_object(file.get("provider")).values():
            limit = as_object(inner(as_object(provider), "models", texts.model, "limit"))
            reading.take("window", "limit.input", number(limit.get("input")) or None)
            reading.take("max_output", "limit.output", number(limit.get("output")) or None)
    return reading.given()


SETTINGS = OwnSettings(files=lambda machine: _files("opencode", machine), read=_read)
KILO_SETTINGS = OwnSettings(files=lambda machine: _files("kilo", machine), read=_read)
