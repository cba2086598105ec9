"""Adds Ullage to the settings of agents on this machine and takes it out again, as `ullage wire` and the editors do."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.wiring import SettingsFile, Wiring
from ullage.app.own_command import OwnCommand, added_to, own_words
from ullage.app.wired_agents import all_known, called, is_here, on_this_machine, path_here
from ullage.model.errors import InvalidRequest
from ullage.service.ports.wiring import AgentChange, FileChange
from ullage.store.database import default_path
from ullage.system.wired_files import (
    Change,
    Receipt,
    WiredFile,
    apply,
    keep_receipt,
    plan_adding,
    plan_removing,
    read_receipt,
    settings_without,
)
from ullage.wire.entries import Added
from ullage.wire.json_added import old_line


class PlannedChange(AgentChange, frozen=True, kw_only=True):
    """A change of an agent's settings, and the receipt that is kept when it is made; None if there is to be none."""

    receipt: Receipt | None


class AgentWiring:
    """The wiring of agents to a session store; see `WiresAgents`. `store` is the store's file if it is not the user's
    usual one. With `fill_notes`, agents get notes of how full their context is."""

    def __init__(self, store: Path | None, *, fill_notes: bool = False) -> None:
        self._own = OwnCommand(words=own_words(), store=store, fill_notes=fill_notes)
        self._receipts = store or default_path()

    def add(self, words: Sequence[str], *, status_line: bool, mcp_server: bool = True) -> Sequence[PlannedChange]:
        """Returns what adds Ullage to agents; see `WiresAgents.add`. Without `mcp_server` its MCP server is not added,
        or is taken out again."""
        named = called(words) if words else on_this_machine()
        return [self._adding(agent, wiring, line=status_line, mcp=mcp_server) for agent, wiring in named]

    def take_out(self, words: Sequence[str]) -> Sequence[PlannedChange]:
        """Returns what takes Ullage out of agents; see `WiresAgents.take_out`. An agent that it was not added to has no
        change."""
        return [self._taking_out(agent, wiring) for agent, wiring in (called(words) if words else all_known())]

    def make(self, change: AgentChange) -> None:
        """Makes a change that `add` or `take_out` has returned; see `WiresAgents.make`."""
        receipt = change.receipt if isinstance(change, PlannedChange) else None
        # The receipt first: what was added can always be taken out.
        if receipt is not None:
            keep_receipt(self._receipts, change.word, receipt)
        for file in change.files:
            apply(Change(path=Path(file.path), before=file.before, after=file.after))
        if receipt is None:
            keep_receipt(self._receipts, change.word, None)

    def _adding(self, agent: Agent, wiring: Wiring, *, line: bool, mcp: bool) -> PlannedChange:
        known = read_receipt(self._receipts, wiring.word)
        path = path_here(wiring.files[0].path)
        if not is_here(wiring):
            raise InvalidRequest(f"{agent.name}: there is no folder {path.parent}; start {agent.name} once")
        files = {path_here(file.path): replace(file, mcp_server=file.mcp_server and mcp) for file in wiring.files}
        wired = {path: known.file(path) if known else None for path in files}
        planned = [
            plan_adding(path, self._added(path, file, wiring.word, wired[path], line=line), wired[path])
            for path, file in files.items()
        ]
        # Files of another folder, which the agent had for its settings before, stay in the receipt.
        elsewhere = [file for file in (known.files if known else ()) if Path(file.path) not in files]
        done = [file for _, file in planned if file is not None]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=str(path),
            files=tuple(_files(change for change, _ in planned)),
            is_wired=any(wired.values()),
            notes=tuple(_notes(agent.name, wiring)),
            receipt=Receipt(agent=agent.name, files=(*done, *elsewhere)),
        )

    def _added(self, path: Path, file: SettingsFile, word: str, wired: WiredFile | None, *, line: bool) -> Added:
        old = None
        if line and file.status_line:
            old = old_line((settings_without(path, wired) or b"").decode(errors="replace"))
        return added_to(file, word, self._own, old)

    def _taking_out(self, agent: Agent, wiring: Wiring) -> PlannedChange:
        receipt = read_receipt(self._receipts, wiring.word)
        planned = [(file, plan_removing(file)) for file in (receipt.files if receipt else ())]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=receipt.files[0].path if receipt and receipt.files else str(path_here(wiring.files[0].path)),
            files=tuple(_files(change for _, change in planned)),
            is_wired=receipt is not None,
            notes=tuple(f"{file.path} is as it was before." for file, change in planned if change.after == file.before),
            receipt=None,
        )


def _files(changes: Iterable[Change]) -> Iterator[FileChange]:
    for change in changes:
        if not change.is_empty:
            yield FileChange(path=str(change.path), before=change.before, after=change.after)


def _notes(agent: str, wiring: Wiring) -> Iterator[str]:
    yield "It takes effect in its next session."
    if wiring.approval is not None:
        yield f"{agent} runs no hook that its user has not allowed: {wiring.approval.remedy}."
