"""The checks of `ullage doctor` for what `ullage wire` has added to agents: whether it is still there, and when the
agent last ran it."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from ullage.agents.wiring import HookInFile, Wiring
from ullage.app.agent_wiring import all_known, path_here
from ullage.cli.draw.text import ago
from ullage.cli.hooks.hook_output import arrivals_path
from ullage.cli.provider_health import Check
from ullage.cli.wired_programs import gone_programs, unsafe_programs, wire_command
from ullage.model.errors import InputError
from ullage.store.store_place import StorePlace, local_path
from ullage.system.wired_files import Receipt, plan_removing, read_receipt, read_settings
from ullage.wire.json_files import find_handlers


class Arrival(Struct, frozen=True, kw_only=True):
    """A hook that arrived, `at` a time in Unix milliseconds. `outcome` is `begun`, `kept`, `given`, `nothing`,
    `no summary`, `late` or `failed`."""

    at: int
    agent: str
    event: str
    outcome: str
    characters: int


_WORDS = {
    "given": "gave back {characters:,} characters",
    "begun": "began to read the conversation",
    "kept": "kept a summary",
    "nothing": "had nothing to give back",
    "no summary": "was not given the summary before, so it looks again at the next prompt",
    "late": "was too slow; the next prompt gives it back",
    "failed": "could not read the conversation",
}


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
