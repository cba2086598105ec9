"""Reads the settings files of coding agents on this machine, and the environment. Nothing is ever written."""

import json
import os
import re
import tomllib
from pathlib import Path

from ullage.agents.agent import Agent
from ullage.agents.own_settings import Given, Texts
from ullage.limits import SETTINGS, read_text
from ullage.model.json_values import JsonObject, as_object
from ullage.watch.finder import this_machine

_ESCAPED = re.compile(r"\[([*?[])\]")
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAME = re.compile(r"\w[\w-]*")
_FRONT_MATTER = re.compile(r"---\s*\n(.*?)\n---", re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_FLAT_LINE = re.compile(r"""^([A-Za-z_]\w*):\s*["']?([^"'#\n]*?)["']?\s*(?:#.*)?$""", re.MULTILINE)


class LocalAgentSettings:
    """What agents' settings say, for the port `ReadAgentSettings`. A file is read again when its time or size changes;
    missing and unreadable files say nothing."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[tuple[int, int], JsonObject]] = {}
        # The paths by agent and folder, as they are with these variables of the environment.
        self._paths: dict[tuple[str, str], list[str]] = {}
        self._variables: dict[str, str] = {}
        self._given: dict[tuple[str, str, str, str], tuple[Texts, Given]] = {}

    def read(self, agent: Agent, cwd: str, model: str, definition: str = "") -> Given:
        own = agent.own_settings
        if own is None:
            return Given()
        variables = dict(os.environ)
        if variables != self._variables:
            self._variables = variables
            self._paths.clear()
        paths = self._paths.get((agent.name, cwd))
        if paths is None:
            # The paths are parts of glob patterns; none of them has a wildcard.
            paths = [_ESCAPED.sub(r"\1", pattern) for pattern in own.files(this_machine(cwd))]
            self._paths[agent.name, cwd] = paths
        files = [self._file(path) for path in paths]
        named = [self._file(str(Path(path).expanduser())) for path in own.named(files)]
        # A name with other characters could lead out of the folder.
        defining = own.definitions(this_machine(cwd), definition) if _NAME.fullmatch(definition) else ()
        defined = [self._file(_ESCAPED.sub(r"\1", path)) for path in defining]
        found = next((file for file in reversed(defined) if file), JsonObject())
        texts = Texts(files=[*named, *files], variables=variables, model=model, definition=found)
        key = agent.name, cwd, model, definition
        known = self._given.get(key)
        if known is None or known[0] != texts:
            known = self._given[key] = (texts, own.given(texts))
        return known[1]

    def _file(self, path: str) -> JsonObject:
        try:
            stat = Path(path).stat()
            mark = stat.st_mtime_ns, stat.st_size
            known = self._files.get(path)
            if known is None or known[0] != mark:
                known = self._files[path] = (mark, parse_settings(path, _text(path)))
        except OSError:
            return {}
        return known[1]


def _text(path: str) -> str:
    """Returns the text of a settings file, empty if it is no plain file or too large."""
    try:
        return read_text(path, SETTINGS, "replace")
    except OSError:
        return ""


def parse_settings(path: str, text: str) -> JsonObject:
    """Returns the contents of a settings file as an object: TOML or YAML by the ending of its name, else JSON, which
    may have comments and trailing commas. Of YAML, also before the text of a Markdown file,
    only the lines `key: value` at the top are read. Returns an empty
    object if the text can't be understood."""
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith((".yaml", ".yml")):
            return {key: value.strip() for key, value in _FLAT_LINE.findall(text)}
        if path.endswith(".md"):
            front = _FRONT_MATTER.match(text)
            return {key: value.strip() for key, value in _FLAT_LINE.findall(front[1] if front else "")}
        bare = _STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text)
        return as_object(json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", bare)))
    except (ValueError, RecursionError):
        return {}
