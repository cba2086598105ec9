"""Settings files of other programs: read, changed under the lock that Claude Code takes, and what stands in the way.

Claude Code 2.1.318 changes `~/.claude.json` while it holds `~/.claude.json.lock`, a folder that it makes and removes
(the npm package `proper-lockfile`). It renews the folder's time every 5 seconds, and takes over a lock that is older
than 10 seconds. What agents' settings and the environment say of compaction is read here, too.
"""

import glob
import json
import os
import platform
import re
import stat
import time
import tomllib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from xml.parsers.expat import ExpatError

from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.own_context import Given, Instructions, Texts
from ullage.agents.wiring import HooksOff
from ullage.bounds import SETTINGS, read_plain, read_text
from ullage.host import this_system, write_whole
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject, as_object, as_text
from ullage.watch.candidates import this_machine
from ullage.wire.plan import FileChange

_ESCAPED = re.compile(r"\[([*?[])\]")
_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NAME = re.compile(r"\w[\w-]*")
_FRONT_MATTER = re.compile(r"---\s*\n(.*?)\n---", re.DOTALL)
# Files of one folder that are looked at.
_MOST_FILES = 200
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_KEY_LINE = re.compile(r"""^( *)([A-Za-z_][\w-]*):(?:[ \t]+["']?([^"'#\n]*?)["']?)?[ \t\r]*(?:#.*)?$""", re.MULTILINE)


class LocalAgentSettings:
    """What agents' settings say, for the port `ReadAgentSettings`, and the files that agents add to requests, for
    `ReadInstructions`. A file with settings is read again when its time or size changes; missing and unreadable files
    say nothing."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[tuple[int, int], JsonObject]] = {}
        # The paths by agent and folder, as they are with these variables of the environment.
        self._paths: dict[tuple[str, str], list[str]] = {}
        self._variables: dict[str, str] = {}
        self._given: dict[tuple[str, str, str], tuple[Texts, Given]] = {}

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
            paths = [_plain(pattern) for pattern in own.files(this_machine(cwd))]
            self._paths[agent.name, cwd] = paths
        files = [self._file(path) for path in paths]
        named = [self._file(str(Path(path).expanduser())) for path in own.named(files)]
        # A name with other characters could lead out of the folder.
        defining = own.definitions(this_machine(cwd), definition) if _NAME.fullmatch(definition) else ()
        defined = [self._file(_plain(path)) for path in defining]
        found = next((file for file in reversed(defined) if file), JsonObject())
        texts = Texts(files=[*named, *files], variables=self._variables, model=model, definition=found)
        # Most folders have no settings of their own.
        key = agent.name, model, definition
        known = self._given.get(key)
        if known is None or known[0] != texts:
            known = self._given[key] = (texts, own.given(texts))
        return known[1]

    def instructions(self, agent: Agent, cwd: str) -> tuple[Instructions, ...]:
        """Returns the user's files that an agent adds to each request in a folder, besides what its log contains."""
        own, machine = agent.own_prompt, this_machine(cwd)
        places = agent.own_settings.files(machine) if agent.own_settings else ()
        files = own.files(machine, [self._file(_plain(path)) for path in places], _exists)
        found = [*map(_instructions, _found(files)), *map(_skill, _found(own.skills(machine, _exists)))]
        return tuple(one for one in found if one is not None)

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


def _found(patterns: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(path for pattern in patterns for path in sorted(glob.glob(pattern))[:_MOST_FILES])  # noqa: PTH207


def _plain(pattern: str) -> str:
    """Returns the path that is part of a glob pattern, which has no wildcard."""
    return _ESCAPED.sub(r"\1", pattern)


def _exists(pattern: str) -> bool:
    return Path(_plain(pattern)).exists()


def _instructions(path: str) -> Instructions | None:
    try:
        changed_at = int(Path(path).stat().st_mtime * 1_000)
    except OSError:
        return None
    text = _text(path)
    return Instructions(path=path, text=text, changed_at=changed_at) if text.strip() else None


def _skill(path: str) -> Instructions | None:
    found = _instructions(path)
    head = parse_settings(path, found.text) if found else {}
    told = ": ".join(filter(None, (as_text(head.get(key)) for key in ("name", "description"))))
    return replace(found, text=told, is_skill=True) if found and told else None


def _text(path: str) -> str:
    """Returns the text of a settings file, empty if it is no plain file or too large."""
    try:
        return read_text(path, SETTINGS, "replace")
    except OSError:
        return ""


def parse_settings(path: str, text: str) -> JsonObject:
    """Returns the contents of a settings file as an object: TOML or YAML by the ending of its name, else JSON, which
    may have comments and trailing commas. Of YAML, also before the text of a Markdown file, only the lines
    `key: value` are read, and what is indented below a key. Returns an empty object if the text can't be understood."""
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        if path.endswith((".yaml", ".yml")):
            return _objects_of(text)
        if path.endswith(".md"):
            front = _FRONT_MATTER.match(text)
            return _objects_of(front[1] if front else "")
        bare = _STRING_OR_COMMENT.sub(lambda found: found[1] or " ", text)
        return as_object(json.loads(_TRAILING_COMMA.sub(lambda found: found[1] or "", bare)))
    except (ValueError, RecursionError):
        return {}


def _objects_of(text: str) -> JsonObject:
    """Returns the lines `key: value` of a YAML file as objects with texts and switches. Lists are left out."""
    found: JsonObject = {}
    # The keys that the next line may be below: the indent of each, the object that has it, and the key.
    above: list[tuple[int, JsonObject, str]] = []
    for indent, key, value in _KEY_LINE.findall(text):
        while above and above[-1][0] >= len(indent):
            above.pop()
        inside = found
        if above:
            _, outer, name = above[-1]
            if outer[name] and not isinstance(outer[name], dict):
                continue
            inside = outer[name] = as_object(outer[name])
        inside[key] = {"true": True, "false": False}.get(value.strip(), value.strip())
        above.append((len(indent), inside, key))
    return found


# Seconds after which a lock that nobody renews is that of a program that has ended, and that a held one is waited for:
# longer, so that the lock of a program that was killed a moment ago does no harm.
_STALE, _PATIENCE = 10.0, 15.0
# Bytes of what a run notes beside its lock.
_LONGEST_NOTE = 1_000
# Seconds between two tries.
_PAUSE = 0.05
# What a file's name has between a dot and some characters of chance while it is being written.
_UNFINISHED = ".ullage-"


def read_settings(path: Path, most: int = SETTINGS) -> bytes | None:
    """Returns the bytes of a settings file, or None if there is none. Raises `InvalidRequest`."""
    try:
        return read_plain(path, most)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidRequest(f"cannot read {path}: {error.strerror or error}") from error


def apply(change: FileChange, most: int = SETTINGS) -> None:
    """Replaces a settings file as a whole, or removes it if that is the change, while no other program changes it. A
    symbolic link stays one, the file keeps its mode, and its folder is made. What a run that was killed has left is
    removed. Raises `InvalidRequest` if the file is not as it was before, is locked, or can't be written."""
    path, target = Path(change.path), Path(os.path.realpath(change.path))
    try:
        target.parent.mkdir(exist_ok=True)
        with _locked(target):
            if read_settings(path, most) != change.before:
                raise InvalidRequest(f"{path} has changed in the meantime; run the command again")
            for left in target.parent.glob(f".{glob.escape(target.name)}{_UNFINISHED}*"):
                left.unlink(missing_ok=True)
            if change.after is None:
                target.unlink(missing_ok=True)
            elif not change.is_empty:
                mode = 0o600 if change.before is None else stat.S_IMODE(target.stat().st_mode)
                write_whole(str(target), change.after, mode, _UNFINISHED, flush=True)
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error.strerror or error}") from error


def cautions(path: Path) -> Iterator[str]:
    """Yields in sentences why a user may not want a settings file to be replaced."""
    try:
        found = path.stat()
    except OSError:
        return
    if not found.st_mode & stat.S_IWUSR:
        yield f"{path} is read-only; it is changed all the same, and stays read-only."
    if found.st_nlink > 1:
        yield f"{path} has another name (a hard link), under which it stays as it is."


def switched_off(off: HooksOff | None) -> str:
    """Returns the setting that keeps an agent from running its user's hooks in this folder, with its file, or "" if
    none does. A file that can't be read says nothing."""
    if off is None:
        return ""
    machine = this_machine(Path.cwd().as_posix())
    managed = (_settings_of(source) for source in off.managed(machine))
    layers = [*_settings_of(off.layers(machine)), *next(filter(None, managed), ())]
    said = [(setting, path) for path, settings in layers if (setting := off.off_by(path, settings)) is not None]
    setting, path = said[-1] if said else ("", "")
    return f"{setting} in {path}" if setting else ""


def _settings_of(patterns: Iterable[str]) -> list[tuple[str, JsonObject]]:
    """Returns the settings in these places, with the place, the overriding ones first, if there are any."""
    paths = (one for each in patterns for one in ([each] if each.startswith("HK") else sorted(glob.glob(each))))  # noqa: PTH207
    return [(path, settings) for path in paths if (settings := _settings_at(path))]


def _settings_at(place: str) -> JsonObject:
    """Returns the settings in a file, in a profile of macOS, or in Windows' registry; none if they can't be read."""
    try:
        if place.endswith(".plist"):
            import plistlib  # noqa: PLC0415  (only macOS has profiles)

            return as_object(plistlib.loads(read_plain(place, SETTINGS)))
        text = this_system.policy(place) if place.startswith("HK") else read_text(place, SETTINGS, "replace")
    except (OSError, ValueError, RecursionError, ExpatError):
        return {}
    return parse_settings(place, text)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    lock, note, until = Path(f"{path}.lock"), Path(f"{path}.lock.ullage"), time.monotonic() + _PATIENCE
    while True:
        try:
            lock.mkdir()
            break
        except FileExistsError:
            with suppress(OSError, ValueError):
                if time.time() - lock.stat().st_mtime > _STALE or _is_of_killed_run(lock, note):
                    lock.rmdir()
            if time.monotonic() > until:
                raise InvalidRequest(f"{path} is locked by another program ({lock}); try again") from None
            time.sleep(_PAUSE)
    try:
        # Without it, the next run waits for the lock of one that was killed.
        with suppress(OSError):
            note.write_text(f"{os.getpid()} {_identity(lock)}", encoding="utf-8")
        yield
    finally:
        with suppress(OSError):
            note.unlink(missing_ok=True)
            lock.rmdir()


def _identity(lock: Path) -> str:
    """Returns what tells this lock from others of its name: its place on the disk, when it was made, and the machine.
    A container has a name of its own, and processes of its own."""
    found = lock.stat()
    return f"{found.st_ino} {found.st_ctime_ns} {platform.node()}"


def _is_of_killed_run(lock: Path, note: Path) -> bool:
    """Returns whether a run of Ullage that has ended has left the lock. Raises `OSError` or `ValueError` if none has
    noted that it holds a lock."""
    process_id, _, identity = read_text(note, _LONGEST_NOTE).partition(" ")
    return identity == _identity(lock) and not this_system.runs(int(process_id))
