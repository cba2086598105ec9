"""The checks of `ullage doctor` for what is added to agents, by `ullage wire` or as a plugin: whether it is still there
and starts Ullage, and when the agent last ran it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.agents.wiring import HookInFile, Plugin, Wiring
from ullage.app.agent_wiring import (
    Receipt,
    all_known,
    gives_fill_notes,
    has_plugin,
    own_words,
    path_here,
    plan_removing,
    project_with_plugin,
    read_receipt,
    read_settings,
    started_by,
)
from ullage.cli.draw.text import ago
from ullage.cli.health_checks import Check
from ullage.cli.hooks.hook_output import arrivals_path
from ullage.model.errors import InputError
from ullage.store.sqlite.database import default_path
from ullage.store.store_place import StorePlace, local_path
from ullage.wire.json_files import find_handlers

_WORDS = {
    "given": "gave back {characters:,} characters",
    "begun": "began to read the conversation",
    "kept": "kept a summary",
    "nothing": "had nothing to give back",
    "no summary": "was not given the summary before, so it looks again at the next prompt",
    "late": "was too slow; the next prompt gives it back",
    "failed": "could not read the conversation",
}
# The program that the hooks run, and where they look for it besides PATH.
_PROGRAM, _ELSEWHERE = "ullage", "~/.local/bin"
# Seconds. Ullage says its version in a fifth of one.
_PATIENCE = 20
# How an agent's settings started Ullage before modules of the agent's folder were kept out.
_UNSAFE = ("-m", "ullage")


class Arrival(Struct, frozen=True, kw_only=True):
    """A hook that arrived, `at` a time in Unix milliseconds. `outcome` is `begun`, `kept`, `given`, `nothing`,
    `no summary`, `late` or `failed`."""

    at: int
    agent: str
    event: str
    outcome: str
    characters: int


def wiring_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields one check for each agent that something was added to. `store` is the session store's place, or None for
    the user's."""
    path = local_path(store)
    arrivals = read_arrivals(path)
    for agent, wiring in all_known():
        try:
            receipt = read_receipt(path, wiring.word)
        except InputError as error:
            yield Check(what="hooks", found=str(error), remedy=f"run `ullage wire {wiring.word}` after removing it")
            continue
        if receipt is not None:
            own = [arrival for arrival in arrivals if arrival.agent == wiring.word]
            yield _check(agent.name, wiring, receipt, own, store)


def read_arrivals(store: Path) -> list[Arrival]:
    """Returns the hooks that arrived, the newest last. Lines that can't be read are left out."""
    try:
        lines = Path(arrivals_path(str(store))).read_bytes().splitlines()
    except OSError:
        return []
    found = list[Arrival]()
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Arrival))
        except msgspec.MsgspecError:
            continue
    return found


def _check(name: str, wiring: Wiring, receipt: Receipt, arrivals: list[Arrival], store: StorePlace | None) -> Check:
    again = f"add it again: {wire_command(receipt, wiring.word, store)}"
    gone = [folder for file in receipt.files[:1] if not (folder := Path(file.path).parent).is_dir()]
    if gone:
        found = f"{name}: its settings in {gone[0]} are gone, and with them what was added"
        return Check(what="hooks", found=found, remedy=f"if {name} is no longer here: ullage unwire {wiring.word}")
    try:
        missing = [file.path for file in receipt.files if plan_removing(file).is_empty]
        approved = bool(missing) or _is_approved(wiring, receipt)
    except InputError as error:
        return Check(what="hooks", found=f"{name}: {error}", remedy="correct the file")
    if missing:
        found = f"{name}: {' and '.join(missing)} no longer has what was added"
        return Check(what="hooks", found=found, remedy=again)
    added = f"{name}: added to {' and '.join(file.path for file in receipt.files)}"
    if trouble := _trouble_of_programs(receipt):
        return Check(what="hooks", found=f"{added}; {trouble}", remedy=again)
    if wiring.approval is not None and not approved:
        return Check(what="hooks", found=f"{added}; the hooks are not allowed yet", remedy=wiring.approval.remedy)
    return Check(what="hooks", found=f"{added}; {last_arrival(arrivals)}")


def _trouble_of_programs(receipt: Receipt) -> str:
    """Returns what is wrong with the programs that were added, empty if nothing is."""
    if gone := [*gone_programs(receipt)]:
        return f"{' and '.join(gone)}, so nothing is given back"
    return " and ".join(unsafe_programs(receipt))


def _is_approved(wiring: Wiring, receipt: Receipt) -> bool:
    """Says whether the user has allowed the hooks, if the agent asks for that. Raises `InvalidRequest`."""
    if wiring.approval is None:
        return True
    config = read_settings(path_here(wiring.approval.path)) or b""
    return wiring.approval.is_given(config.decode(errors="replace"), [*_hooks_in(receipt)])


def _hooks_in(receipt: Receipt) -> Iterator[HookInFile]:
    for file in receipt.files:
        paths = tuple(dict.fromkeys((file.path, os.path.realpath(file.path))))
        text = (read_settings(Path(file.path)) or b"").decode(errors="replace")
        for place in find_handlers(text, file.added):
            yield HookInFile(paths=paths, event=place.event, group=place.group, number=place.handler)


def last_arrival(arrivals: Sequence[Arrival]) -> str:
    """Returns in words when the last of these hooks arrived, and what it did."""
    if not arrivals:
        return "no hook has arrived yet; the first comes with a compaction"
    last = arrivals[-1]
    now = time.time_ns() // 1_000_000
    told = _WORDS.get(last.outcome, last.outcome).format(characters=last.characters)
    return f"the last hook arrived {ago(last.at, now)} ({last.event}) and {told}"


def plugin_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields one check for each agent that has Ullage's plugin, if only in the project of this folder. `store` is the
    session store's place, or None for the user's, which alone the hooks of a plugin use."""
    path = local_path(store)
    for agent, wiring in all_known():
        try:
            if wiring.plugin is not None and has_plugin(wiring):
                yield _check_plugin(f"{agent.name}: Ullage's plugin is on", wiring, wiring.plugin, path)
            elif wiring.plugin is not None and (project := project_with_plugin(wiring)):
                found = f"{agent.name}: Ullage's plugin is on in this project alone, by {project}"
                yield _check_plugin(found, wiring, wiring.plugin, path)
        except InputError as error:
            yield Check(what="plugin", found=f"{agent.name}: {error}", remedy="correct the file")


def _check_plugin(found: str, wiring: Wiring, plugin: Plugin, store: Path) -> Check:
    receipt = read_receipt(store, wiring.word)
    if receipt is not None:
        return _beside_wired(f"{found}; its hooks give way to those that `ullage wire` added", receipt, wiring, plugin)
    arrivals = [arrival for arrival in read_arrivals(store) if arrival.agent == wiring.word]
    if not arrivals and not _is_found():
        found = f"{found}, but the program `{_PROGRAM}` that it runs is not found"
        return Check(what="plugin", found=found, remedy=f"put its folder on PATH, or a link to it into {_ELSEWHERE}")
    return Check(what="plugin", found=f"{found}; {last_arrival(arrivals)}")


def _beside_wired(found: str, receipt: Receipt, wiring: Wiring, plugin: Plugin) -> Check:
    if any(file.added.mcp for file in receipt.files):
        remedy = f"take one of them out: {plugin.remedy}, or ullage wire {wiring.word}"
        return Check(what="plugin", found=f"{found}; the MCP server is there twice", remedy=remedy)
    return Check(what="plugin", found=found)


def _is_found() -> bool:
    folders = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(_ELSEWHERE).expanduser())))
    return shutil.which(_PROGRAM, path=folders) is not None


def gone_programs(receipt: Receipt) -> Iterator[str]:
    """Yields, in words, what is wrong with each program that was added to an agent and no longer starts Ullage. None is
    run that would run a module of this folder."""
    for words in _programs(receipt):
        if not os.access(words[0], os.X_OK):
            yield f"{words[0]} is no longer there"
        elif words[1:] != _UNSAFE and words != own_words() and not _starts(words):
            yield f"`{' '.join(words)}` no longer starts Ullage"


def unsafe_programs(receipt: Receipt) -> Iterator[str]:
    """Yields, in words, what is wrong with each program that was added to an agent and would run a module of the folder
    in which the agent works."""
    for words in _programs(receipt):
        if words[1:] == _UNSAFE:
            yield f"`{' '.join(words)}` would run a module `ullage` of a project"


def wire_command(receipt: Receipt, word: str, store: StorePlace | None) -> str:
    """Returns the command that adds the same to an agent once more."""
    added = [file.added for file in receipt.files]
    options = {
        "--statusline": any(one.status_line for one in added),
        "--fill-notes": any(map(gives_fill_notes, added)),
        "--no-mcp": not any(one.mcp for one in added),
        f"--store {store}": local_path(store) != default_path(),
    }
    return " ".join(["ullage wire", word, *(option for option, is_given in options.items() if is_given)])


def _programs(receipt: Receipt) -> Iterable[tuple[str, ...]]:
    return dict.fromkeys(words for file in receipt.files for words in started_by(file.added))


def _starts(words: tuple[str, ...]) -> bool:
    command = [*words, "--version"]
    try:
        ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return ran.returncode == 0
