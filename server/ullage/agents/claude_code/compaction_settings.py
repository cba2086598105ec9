"""Claude Code's settings about compaction: its settings files, the variables that they set, and the environment."""

from collections.abc import Mapping
from typing import Any

from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, number, switch
from ullage.model.json_values import JsonObject, as_object
from ullage.tokens.model_names import bare_name

_OFF = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
_SIZE, _OWN_SIZE = "autoCompactWindow", "modelSettings.{}.autoCompactWindow"


def _files(machine: Machine) -> tuple[str, ...]:
    own = machine.folder("CLAUDE_CONFIG_DIR", ".claude")
    # The program's own state, which `/config` writes, is next to the folder unless that is named.
    state = f"{own}/.claude.json" if machine.variables.get("CLAUDE_CONFIG_DIR") else f"{machine.home}/.claude.json"
    project = (f"{machine.cwd}/.claude/settings.json", f"{machine.cwd}/.claude/settings.local.json")
    return (state, f"{own}/settings.json", *(project if machine.cwd else ()))


def _read(texts: Texts) -> Given:
    reading = Reading()
    _take_variables(reading, texts.variables)
    model = bare_name(texts.model)
    for file in texts.files:
        if isinstance(enabled := file.get("autoCompactEnabled"), bool):
            reading.take("automatic", "autoCompactEnabled", enabled)
        _take_window(reading, file, model)
        _take_variables(reading, as_object(file.get("env")))
    # The variable comes before all files, wherever it is set (2.1.318).
    for variables in (texts.variables, *(as_object(file.get("env")) for file in texts.files)):
        reading.take("window", _WINDOW, number(variables.get(_WINDOW)))
    return reading.given()


def _take_window(reading: Reading, file: JsonObject, model: str) -> None:
    """Takes the window of a settings file. Within one file, that of the model comes before that of all models, and a
    later file comes before an earlier one (2.1.318). `/autocompact` writes that of the model; `"auto"` means none."""
    by_model = as_object(file.get("modelSettings"))
    own = {bare_name(name): as_object(said).get(_SIZE) for name, said in by_model.items()}
    said, name = file.get(_SIZE), _SIZE
    if own.get(model) is not None:
        said, name = own[model], _OWN_SIZE.format(model)
    if said == "auto":
        reading.drop("window")
    reading.take("window", name, number(said))


def _take_variables(reading: Reading, variables: Mapping[str, Any]) -> None:
    for name in _OFF:
        if switch(variables.get(name)):
            reading.take("automatic", name, False)
            reading.rename("automatic", f"{name}={variables[name]}")
    percent = number(variables.get(_PERCENT))
    if percent:
        reading.take("share", _PERCENT, percent / 100)
        reading.rename("share", f"{_PERCENT}={percent:g}")
    reading.take("max_output", _OUTPUT, number(variables.get(_OUTPUT)) or None)


SETTINGS = OwnSettings(files=_files, read=_read)
