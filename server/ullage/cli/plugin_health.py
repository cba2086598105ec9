"""The checks of `ullage doctor` for agents that have Ullage as a plugin: whether its hooks can run, and whether they
did."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from ullage.agents.wiring import Plugin, Wiring
from ullage.app.agent_wiring import all_known, has_plugin, project_with_plugin
from ullage.cli.provider_health import Check
from ullage.cli.wiring_health import last_arrival, read_arrivals
from ullage.model.errors import InputError
from ullage.store.store_place import StorePlace, local_path
from ullage.system.wired_files import Receipt, read_receipt

# The program that the hooks run, and where they look for it besides PATH.
_PROGRAM, _ELSEWHERE = "ullage", "~/.local/bin"


def plugin_checks(store: StorePlace | None) -> Iterator[Check]:
    """Yields one check for each agent that has Ullage's plugin, if only in the project of this folder. `store` is the
    session store's place, or None for the user's, which alone the hooks of a plugin use."""
    path = local_path(store)
    for agent, wiring in all_known():
        try:
            if wiring.plugin is not None and has_plugin(wiring):
                yield _check(f"{agent.name}: Ullage's plugin is on", wiring, wiring.plugin, path)
            elif wiring.plugin is not None and (project := project_with_plugin(wiring)):
                found = f"{agent.name}: Ullage's plugin is on in this project alone, by {project}"
                yield _check(found, wiring, wiring.plugin, path)
        except InputError as error:
            yield Check(what="plugin", found=f"{agent.name}: {error}", remedy="correct the file")


def _check(found: str, wiring: Wiring, plugin: Plugin, store: Path) -> Check:
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
