"""What an agent does with its own context: the window that it gives a model, where it compacts, and what the user's
settings say about that and about its MCP servers.

The settings' files are read elsewhere; here are their patterns, and functions from their contents to `Given`. Rules are
functions from an agent's `Setup` to tokens. The common shapes are made here; an agent's own rules are in its file.

`OwnPrompt` says which of the user's files an agent adds to each request and its log does not contain: files with
instructions, and skills, of which it adds the name and the description. Seen in requests of Gemini CLI 0.61.0, Qwen
Code 0.24.4, opencode 1.18.33 and Claude Code 2.1.332 to a model that was played. Read in the programs of Cline 3.0.65
and Kilo Code 7.7.9, and in the sources of Crush and goose. Droid 0.225.2 adds both in a message of the user's role,
which its log has.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.machine import Machine
from ullage.model.json_values import JsonObject, as_list, as_object, as_text
from ullage.model.message import Message

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
    - `read`: takes what the settings say.
    - `known`: settings about compaction that Ullage knows, by their names without what is around them: those that
      `read` reads, and those that do not change when the agent compacts.
    - `servers`: the key under which the settings have MCP servers by name; empty if it is not known.
    - `prefix`: how the names of the agent's environment variables begin; empty if it has none about compaction.
    - `programs_own`: how many of the first files are the program's own state, in which no settings are looked for that
      are not known.
    """

    files: Callable[[Machine], tuple[str, ...]]
    read: Callable[["Reading"], None]
    named: Callable[[Sequence[JsonObject]], tuple[str, ...]] = lambda _: ()
    definitions: Callable[[Machine, str], tuple[str, ...]] = lambda _machine, _name: ()
    known: frozenset[str] = frozenset()
    servers: str = ""
    prefix: str = ""
    programs_own: int = 0

    def given(self, texts: Texts) -> Given:
        """Returns what the settings say. If one of them is about compaction and not known, it is named."""
        reading = Reading(texts)
        self.read(reading)
        given = reading.given()
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
    """Settings (`Texts`), and the fields of `Given` that are read of them, each with the setting's name. A later `take`
    overrides. `named` is the model that the settings name."""

    def __init__(self, texts: Texts) -> None:
        self.files, self.variables = texts.files, texts.variables
        self.model, self.definition = texts.model, texts.definition
        self._values: dict[str, bool | int | float] = {}
        self._names: dict[str, str] = {}
        self.named: str | None = None
        self.unknown = ""

    def take(self, field: str, name: str, value: bool | float | None, written: str = "") -> None:
        """Notes that the setting `name` gives the field this value. None and numbers below 0 are no values. `written`
        is the setting as the user knows it, if its value is not the field's."""
        if value is None or value < 0:
            return
        self._values[field] = value
        self._names[field] = written or f"{name}={_written(value)}"

    def number(self, field: str, name: str, value: object) -> None:
        """Notes a setting that is a number."""
        self.take(field, name, number(value))

    def size(self, field: str, name: str, value: object) -> None:
        """Notes a setting that is a number above 0. 0 is no value."""
        self.take(field, name, number(value) or None)

    def switch(self, field: str, name: str, value: object) -> None:
        """Notes a setting that is a switch."""
        self.take(field, name, switch(value))

    def drop(self, field: str) -> None:
        """Forgets the value of a field, because a later setting says that there is none."""
        self._values.pop(field, None)
        self._names.pop(field, None)

    def given(self) -> Given:
        made = {field: _KINDS.get(field, int)(value) for field, value in self._values.items()}
        return msgspec.convert({**made, "names": self._names, "model": self.named, "unknown": self.unknown}, Given)


def number(value: object) -> float | None:
    """Returns a setting's value as a number; a text may contain one. Returns None for anything else, and for infinity
    and what is no number, which TOML and YAML have."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        read = float(value)
    except (ValueError, OverflowError):
        return None
    return read if isfinite(read) else None


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


class Setup(Struct, frozen=True, kw_only=True):
    """The facts that decide where an agent compacts: its version and the model as its files name them (empty if
    unknown), the window in tokens (0 if it is not known yet), the most tokens of one answer (None if unknown), what the
    user's settings of the agent say (`given`), and how the agent was started (`started_by`, empty if unknown)."""

    version: str = ""
    model: str = ""
    window: int = 0
    max_output: int | None = None
    given: Given = Given()
    started_by: str = ""


class Rule(Struct, frozen=True, kw_only=True):
    """A window or threshold in tokens (`tokens`), and the rule that it follows from, in words for the user (`basis`).

    `setting` is the agent's setting that decides it, such as `model_auto_compact_token_limit=50000`; empty if none
    does. `ignored` is the setting that asks for something else and has no effect by the rule.
    """

    tokens: int
    basis: str
    setting: str = ""
    ignored: str = ""


class Without(Struct, frozen=True, kw_only=True):
    """The agent does not compact by itself. `basis` says why, as one sentence for the user. `setting` and `ignored` are
    as in `Rule`."""

    basis: str
    setting: str = ""
    ignored: str = ""


Threshold = Rule | Without | None


class FileAgain(Struct, frozen=True, kw_only=True):
    """A file that may come back after a compaction: the most that is known of its text, as the agent shows it (`shown`)
    and without the numbers of its lines (`plain`), how many times as large the part of the file is that is known to be
    there (`times`), and how many times as large as that the whole is likely to be (`more`)."""

    shown: str = ""
    plain: str = ""
    times: float = 1.0
    more: float = 1.0


class Reattached(Struct, frozen=True, kw_only=True):
    """The files that an agent adds to the context again after a compaction. One whose plain text has more than `most`
    tokens is only named."""

    files: tuple[FileAgain, ...]
    most: int


class Idle(Struct, frozen=True, kw_only=True):
    """The agent compacts a conversation that idles, while the provider's cache of its prompt lasts: `after`
    milliseconds after the last answer, from `least` tokens on. `setting` is the setting that stops it."""

    after: int
    least: int
    setting: str


class OwnContext(Struct, frozen=True, kw_only=True):
    """What an agent does with its own context.

    - `window`: returns the window that the agent gives a model if its user chooses none; it is called with a `Setup`
      whose `window` is 0. None means the model's own window.
    - `wider`: the larger windows that a user can choose, in tokens, smallest first.
    - `threshold`: returns the size of the context at which the agent compacts by itself, or that it does not; None if
      neither is known.
    - `is_exact`: whether it compacts before each call, so that no call is made with more than the threshold.
    - `idle`: returns when the agent compacts a conversation that idles and whose prompt the provider keeps in its cache
      for an hour; None if it does not.
    - `reattached`: returns what the agent adds to the context after a compaction in addition to the summary, from the
      messages before the compaction; None if that is not known.
    """

    window: Callable[[Setup], Rule | None] = lambda _: None
    wider: tuple[int, ...] = ()
    threshold: Callable[[Setup], Threshold] = lambda _: None
    is_exact: bool = False
    idle: Callable[[Setup], Idle | None] = lambda _: None
    reattached: Callable[[Setup, Sequence[Message]], Reattached | None] = lambda _setup, _context: None


def share(part: float) -> Callable[[Setup], Threshold]:
    """Returns the threshold rule of an agent that compacts at a share of the window (`part`, from 0 to 1). Settings of
    the agent may name another share, or switch compaction off."""

    def rule(setup: Setup) -> Threshold:
        given = setup.given
        if given.automatic is False:
            return switched_off(given)
        used = part if given.share is None else given.share
        basis = f"{used:.0%} of the window"
        return Rule(tokens=int(setup.window * used), basis=basis, setting=given.name("share"))

    return rule


def before_end(tokens: int) -> Callable[[Setup], Threshold]:
    """Returns the threshold rule of an agent that compacts `tokens` before the end of the window. Settings of the agent
    may name another number, or switch compaction off. The rule returns None if the window is smaller."""

    def rule(setup: Setup) -> Threshold:
        given = setup.given
        if given.automatic is False:
            return switched_off(given)
        kept = tokens if given.reserve is None else given.reserve
        return positive(setup.window - kept, f"{kept:,} tokens before the end of the window", given.name("reserve"))

    return rule


def switched_off(given: Given) -> Without:
    """Returns that the user's settings switch the agent's own compaction off."""
    return Without(basis=f"{given.name('automatic')} switches compaction off", setting=given.name("automatic"))


def positive(tokens: int, basis: str, setting: str = "") -> Rule | None:
    """Returns a threshold, or None if it is not above 0."""
    return Rule(tokens=tokens, basis=basis, setting=setting) if tokens > 0 else None


def version_of(text: str) -> tuple[int, ...]:
    """Returns the numbers of a version for comparing: `1.2.3-beta` gives `(1, 2)`, because it ends before the first
    part that is not a number."""
    numbers: list[int] = []
    for part in text.split("."):
        if not part.isdecimal():
            break
        numbers.append(int(part))
    return tuple(numbers)


Exists = Callable[[str], bool]
# How the path of a file begins that no folder is named before.
ABSOLUTE = re.compile("/|[A-Za-z]:/")


class Instructions(Struct, frozen=True, kw_only=True):
    """A file of the user's that an agent adds to each request: its path, the text that is added, and when the file was
    changed, in Unix milliseconds."""

    path: str
    text: str
    changed_at: int
    is_skill: bool = False


class OwnPrompt(Struct, frozen=True, kw_only=True):
    """Which of the user's files an agent adds to each request.

    - `files`: returns glob patterns for the files with instructions, for `machine.cwd`, the folder of a conversation,
      and the contents of the agent's settings files. Its last argument says whether a file or folder is there. Not all
      of the files need to be.
    - `skills`: returns glob patterns for the files of skills.
    """

    files: Callable[[Machine, Sequence[JsonObject], Exists], Iterable[str]] = lambda _machine, _settings, _exists: ()
    skills: Callable[[Machine, Exists], Iterable[str]] = lambda _machine, _exists: ()


def folders_up(folder: str) -> Iterator[str]:
    """Yields a folder and those above it, the nearest first. The root is left out."""
    while folder.strip("/"):
        yield folder
        folder = folder.rpartition("/")[0]


def in_repository(machine: Machine, exists: Exists) -> list[str]:
    """Returns the folder of a conversation and those above it in its repository, the nearest first. Without a
    repository, returns the folder alone."""
    folders = [*folders_up(machine.cwd)]
    root = next((at for at, folder in enumerate(folders) if exists(f"{folder}/.git")), 0)
    return folders[: root + 1]


def chosen_paths(machine: Machine, folders: Sequence[str], listed: Iterable[Any]) -> Iterator[str]:
    """Yields the paths of the files that settings list: whole ones, those in the home folder (`~/`), and others in each
    of the folders. Addresses on the web are left out."""
    for path in filter(None, map(as_text, listed)):
        if path.startswith("~/"):
            yield machine.folder("", path.removeprefix("~/"))
        elif ABSOLUTE.match(path):
            yield path
        elif "://" not in path:
            yield from (f"{folder}/{path}" for folder in folders)


def chosen_names(settings: Sequence[JsonObject], usual: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the names of the files with instructions that the setting `context.fileName` chooses, a text or a list
    of them, or the usual ones."""
    values = (as_object(file.get("context")).get("fileName") for file in reversed(settings))
    named = next((value for value in values if value), None)
    return tuple(filter(None, map(as_text, as_list(named) or [named]))) or usual
