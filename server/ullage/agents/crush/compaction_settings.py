"""Crush's setting that switches its summaries off, `options.disable_auto_summarize`, and the windows of models that
the user added."""

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, inner, number, switch
from ullage.model.json_values import as_object, as_objects

_NAME = "disable_auto_summarize"


def _files(machine: Machine) -> tuple[str, ...]:
    windows = machine.system == "win32"
    own = machine.folder("LOCALAPPDATA", "AppData/Local") if windows else machine.folder("XDG_CONFIG_HOME", ".config")
    project = (f"{machine.cwd}/crush.json", f"{machine.cwd}/.crush.json") if machine.cwd else ()
    return (f"{own}/crush/crush.json", *project)


def _read(texts: Texts) -> Given:
    reading = Reading()
    for file in texts.files:
        off = switch(inner(file, "options", _NAME))
        if off is not None:
            reading.take("automatic", _NAME, not off)
            reading.rename("automatic", f"{_NAME}={str(off).lower()}")
        for provider in as_object(file.get("providers")).values():
            for model in as_objects(as_object(provider).get("models")):
                if texts.model and model.get("id") == texts.model:
                    reading.take("model_window", "context_window", number(model.get("context_window")) or None)
    return reading.given()


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({_NAME}), prefix="CRUSH")
