"""pi's settings about compaction: `compaction.enabled` and `compaction.reserveTokens`, for a single model also
`compaction.modelOverrides`. An override of the user's own file counts more than the reserve of a project's.
`models.json` has the windows of models that the user added or changed."""

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch
from ullage.model.json_values import as_object, as_objects


def _files(machine: Machine) -> tuple[str, ...]:
    project = (f"{machine.cwd}/.pi/settings.json",) if machine.cwd else ()
    own = machine.folder("PI_CODING_AGENT_DIR", ".pi/agent")
    return (f"{own}/models.json", f"{own}/settings.json", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        reading.take("automatic", "compaction.enabled", switch(inner(file, "compaction", "enabled")))
        reading.take("reserve", "compaction.reserveTokens", number(inner(file, "compaction", "reserveTokens")))
    for provider in as_objects([*as_object(inner(texts.files[0], "providers")).values()] if texts.files else []):
        listed = [one for one in as_objects(provider.get("models")) if one.get("id") == texts.model]
        for one in (*listed, as_object(inner(provider, "modelOverrides", texts.model))):
            reading.take("model_window", "models.json: contextWindow", number(one.get("contextWindow")) or None)
    for file in texts.files:
        for name, override in as_object(inner(file, "compaction", "modelOverrides")).items():
            # A model's name has the provider before it, which conversations are not counted by.
            if texts.model and name.partition("/")[2] == texts.model:
                setting = f"compaction.modelOverrides.{name}.reserveTokens"
                reading.take("reserve", setting, number(as_object(override).get("reserveTokens")))
    return reading.given()


_KNOWN = frozenset({"enabled", "reserveTokens", "keepRecentTokens", "modelOverrides"})
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="PI_")
