"""Claude Code's settings about compaction: its settings files, the variables that they set, and the environment."""

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

from ullage.agents.claude_code.windows import USUAL
from ullage.agents.machine import Machine
from ullage.agents.own_settings import Given, OwnSettings, Reading, Texts, number, switch
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.tokens.model_names import bare_name

_OFF = ("DISABLE_AUTO_COMPACT", "DISABLE_COMPACT")
_PERCENT = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_WINDOW = "CLAUDE_CODE_AUTO_COMPACT_WINDOW"
_IDLE = "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS"
_OUTPUT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"
# The window of a model that the program does not know; without compaction, that of every model.
_CONTEXT, _NO_MILLION = "CLAUDE_CODE_MAX_CONTEXT_TOKENS", "CLAUDE_CODE_DISABLE_1M_CONTEXT"
_OWN_MODEL = re.compile("claude|opus|sonnet|haiku|fable")
# Windows that the program's server sets, by model, as they are cached in the program's state (2.1.332).
_CACHED = "cachedGrowthBookFeatures"
_SERVED = {
    "claude-opus-4-8": ("tengu_amber_redwood2", "tengu_amber_redwood3"),
    "claude-opus-5-5": ("tengu_jaunty_breeze",),
}
_THOUSANDS = re.compile(r"(\d+)k", re.IGNORECASE)
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
        reading.take("idle", "idleCompaction", switch(file.get("idleCompaction")))
        _take_window(reading, file, model)
        _take_variables(reading, as_object(file.get("env")))
    # The variable comes before all files, wherever it is set (2.1.318).
    all_variables = (texts.variables, *(as_object(file.get("env")) for file in texts.files))
    for variables in all_variables:
        reading.take("window", _WINDOW, number(variables.get(_WINDOW)))
        reading.take("idle_least", _IDLE, number(variables.get(_IDLE)))
    for file in texts.files:
        _take_served(reading, file, model)
    _take_model_window(reading, dict(chain.from_iterable(each.items() for each in all_variables)), model)
    return reading.given()


def _take_model_window(reading: Reading, variables: Mapping[str, Any], model: str) -> None:
    if switch(variables.get(_NO_MILLION)):
        reading.take("model_window", _NO_MILLION, USUAL)
        reading.rename("model_window", f"{_NO_MILLION}={variables[_NO_MILLION]}")
    if not _OWN_MODEL.search(model) or switch(variables.get("DISABLE_COMPACT")):
        reading.take("model_window", _CONTEXT, number(variables.get(_CONTEXT)) or None)


def _take_served(reading: Reading, state: JsonObject, model: str) -> None:
    """Takes the window that the server sets for a model, which comes after all settings."""
    cached = as_object(state.get(_CACHED))
    for name in _SERVED.get(model, ()):
        said = cached.get(name)
        thousands = _THOUSANDS.fullmatch(as_text(said))
        tokens = int(thousands[1]) * 1_000 if thousands else number(said)
        if tokens and reading.given().window is None:
            reading.take("window", f"{_CACHED}.{name}", tokens)


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


_KNOWN = frozenset(
    {
        *(*_OFF, _PERCENT, _WINDOW, _SIZE, "autoCompactEnabled"),
        # How the user answered an offer, and compactions for other causes than the threshold.
        *("autoCompactOfferAnswer", "idleCompaction", "precomputeCompactionEnabled"),
        _IDLE,
    }
)
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="CLAUDE", programs_own=1)
