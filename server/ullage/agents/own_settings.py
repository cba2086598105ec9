"""What the user's settings of an agent say about its compaction and its MCP servers: where the settings are, and how
they are read.

The files are read elsewhere; here are their patterns, and functions from their contents to `Given`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject, as_object

# Words in the names of settings about compaction.
_ABOUT = re.compile("compact|compress|summari[sz]|token_budget", re.IGNORECASE)


class Given(Struct, frozen=True, kw_only=True):
    """What settings say about compaction and MCP servers; None where they say nothing.

    - `model`: the model that settings name; empty if they name none, None if they were not read.
    - `automatic`: False if automatic compaction is switched off.
    - `model_window`: the window in tokens that the settings, or the agent's own list of models, give the model.
    - `window`: the window in tokens that the agent shall compact within.
    - `share`: the share of the window at which it shall compact, from 0 to 1.
    - `tokens`: the size of the context at which it shall compact.
    - `reserve`: the tokens that it shall keep free.
    - `max_output`: the most tokens of one answer.
    - `idle`: False if the compaction of a conversation that idles is switched off.
    - `idle_least`: the size of the context from which on a conversation that idles is compacted.
    - `unknown`: a setting about compaction whose effect is not known, so that the threshold is not known either; empty
      if there is none.
    - `servers`: the names of the MCP servers whose tools the agent adds to each request.
    - `names`: for each of these the setting as the user wrote it, such as `CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=50`.
    """

    model: str | None = None
    automatic: bool | None = None
    model_window: int | None = None
    window: int | None = None
    share: float | None = None
    tokens: int | None = None
    reserve: int | None = None
    max_output: int | None = None
    idle: bool | None = None
    idle_least: int | None = None
    unknown: str = ""
    servers: tuple[str, ...] = ()
    names: Mapping[str, str] = {}

    def name(self, field: str) -> str:
        """Returns the setting that gives a field its value, as the user wrote it; empty if none does."""
        return self.names.get(field, "")


class Texts(Struct, frozen=True, kw_only=True):
    """The settings of one agent. `files` are the contents of its files as objects, later ones override earlier ones,
    and `variables` are environment variables. `model` is the conversation's, and `definition` is the head of the user's
    file that defines the conversation's sub-agent."""

    files: Sequence[JsonObject] = ()
    variables: Mapping[str, str] = {}
    model: str = ""
    definition: JsonObject = {}


class OwnSettings(Struct, frozen=True, kw_only=True):
    """Where an agent keeps its settings, and what they say of compaction.

    - `files`: returns paths of its settings files on a machine, those that others override first. `machine.cwd` is the
      folder of the conversation.
    - `named`: returns paths of files that its settings files name, such as a list of models. Their contents come before
      those of the settings.
    - `definitions`: returns paths of files that may define the sub-agent of this name, those that others override
      first.
    - `read`: returns what the settings say.
    - `known`: settings about compaction that Ullage knows, by their names without what is around them: those that
      `read` reads, and those that do not change when the agent compacts.
    - `servers`: the key under which the settings have MCP servers by name; empty if it is not known.
    - `prefix`: how the names of the agent's environment variables begin; empty if it has none about compaction.
    - `programs_own`: how many of the first files are the program's own state, in which no settings are looked for that
      are not known.
    """

    files: Callable[[Machine], tuple[str, ...]]
    read: Callable[[Texts], Given]
    named: Callable[[Sequence[JsonObject]], tuple[str, ...]] = lambda _: ()
    definitions: Callable[[Machine, str], tuple[str, ...]] = lambda _machine, _name: ()
    known: frozenset[str] = frozenset()
    servers: str = ""
    prefix: str = ""
    programs_own: int = 0

    def given(self, texts: Texts) -> Given:
        """Returns what the settings say. If one of them is about compaction and not known, it is named."""
        given = self.read(texts)
        unknown = given.unknown or next(self._unknown(texts), "")
        return replace(given, unknown=unknown, servers=tuple(self._servers(texts)))

    def _servers(self, texts: Texts) -> list[str]:
        found: dict[str, bool] = {}
        for file in texts.files:
            for name, value in as_object(file.get(self.servers)).items():
                server = as_object(value)
                found[name] = server.get("enabled") is not False and server.get("disabled") is not True
        return [name for name, is_on in found.items() if is_on]

    def _unknown(self, texts: Texts) -> Iterator[str]:
        variables = (as_object(file.get("env")) for file in texts.files)
        own = (name for name in texts.variables if self.prefix and name.startswith(self.prefix))
        for values in (*variables, {name: texts.variables[name] for name in own}, *texts.files[self.programs_own :]):
            for name, value in values.items():
                about = _ABOUT.search(name)
                if about and isinstance(value, dict):
                    for inside, set_to in as_object(cast("object", value)).items():
                        if self._is_unknown(inside, set_to):
                            yield f"{name}.{inside}{_shown(set_to)}"
                elif about and self._is_unknown(name, value):
                    yield f"{name}{_shown(value)}"

    def _is_unknown(self, name: str, value: object) -> bool:
        return name not in self.known and value not in (None, False, "", 0)


# Fields that are no whole numbers.
_KINDS: Mapping[str, type[bool | float]] = {"automatic": bool, "idle": bool, "share": float}


class Reading:
    """Collects the fields of `Given` from settings, each with the setting's name. A later `take` overrides."""

    def __init__(self) -> None:
        self._values: dict[str, bool | int | float] = {}
        self._names: dict[str, str] = {}
        self.model: str | None = None
        self.unknown = ""

    def take(self, field: str, name: str, value: bool | float | None) -> None:
        """Notes that the setting `name` gives the field this value. None and numbers below 0 are no values."""
        if value is None or (not isinstance(value, bool) and (not isfinite(value) or value < 0)):
            return
        self._values[field] = value
        self._names[field] = f"{name}={_written(value)}"

    def drop(self, field: str) -> None:
        """Forgets the value of a field, because a later setting says that there is none."""
        self._values.pop(field, None)
        self._names.pop(field, None)

    def given(self) -> Given:
        """Returns what was noted."""
        made = {field: _KINDS.get(field, int)(value) for field, value in self._values.items()}
        return msgspec.convert({**made, "names": self._names, "model": self.model, "unknown": self.unknown}, Given)

    def rename(self, field: str, name: str) -> None:
        """Gives the setting of a field the name under which the user knows it, if the field has a value."""
        if field in self._names:
            self._names[field] = name


def number(value: object) -> float | None:
    """Returns a setting's value as a number; a text may contain one. Returns None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def switch(value: object) -> bool | None:
    """Returns a setting's value as a switch: true for `1`, `true`, `yes` and `on`, in any case, and false for any other
    text that is not empty. Returns None if there is no value."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value)
    text = value.strip().lower() if isinstance(value, str) else ""
    return text in ("1", "true", "yes", "on") if text else None


def inner(record: JsonObject, *keys: str) -> object:
    """Returns the value at a path of keys in nested objects, or None if there is none."""
    for key in keys[:-1]:
        record = as_object(record.get(key))
    return record.get(keys[-1])


def _shown(value: object) -> str:
    return f"={str(value).lower() if isinstance(value, bool) else value}" if isinstance(value, int | float) else ""


def _written(value: bool | float) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if value != int(value) else str(int(value))
