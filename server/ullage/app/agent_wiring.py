"""Adds Ullage to the settings of agents on this machine and takes it out again, as `ullage wire` and the editors do."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.wiring import Wiring
from ullage.app.own_command import added_by, own_words
from ullage.app.wired_agents import all_known, called, on_this_machine, settings_path
from ullage.model.errors import InvalidRequest
from ullage.service.ports.wiring import AgentChange, FileChange
from ullage.store.database import default_path
from ullage.system.wired_files import (
    Change,
    Receipt,
    apply,
    keep_receipt,
    plan_adding,
    plan_removing,
    read_receipt,
    settings_without,
)
from ullage.wire.added import old_line


class PlannedChange(AgentChange, frozen=True, kw_only=True):
    """A change of an agent's settings, and the receipt that is kept when it is made; None if there is to be none."""

    receipt: Receipt | None


class AgentWiring:
    """The wiring of agents to a session store; see `WiresAgents`. `store` is the store's file if it is not the user's
    usual one."""

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._receipts = store or default_path()

    def add(self, words: Sequence[str], *, status_line: bool) -> Sequence[PlannedChange]:
        """Returns what adds Ullage to agents; see `WiresAgents.add`."""
        named = called(words) if words else on_this_machine()
        return [self._adding(agent, wiring, status_line=status_line) for agent, wiring in named]

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

    def _adding(self, agent: Agent, wiring: Wiring, *, status_line: bool) -> PlannedChange:
        path, receipt = settings_path(wiring), read_receipt(self._receipts, wiring.word)
        if receipt is not None and receipt.path != str(path):
            # The settings of another folder: they are not these.
            receipt = None
        if not path.parent.is_dir():
            raise InvalidRequest(f"{agent.name}: there is no folder {path.parent}; start {agent.name} once")
        before = settings_without(path, receipt)
        line = old_line((before or b"").decode(errors="replace")) if status_line else None
        change, kept = plan_adding(path, added_by(wiring, self._store, own_words(), line), receipt)
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=str(path),
            files=tuple(_files(change)),
            is_wired=receipt is not None,
            notes=tuple(_notes(wiring)),
            receipt=replace(kept, agent=agent.name),
        )

    def _taking_out(self, agent: Agent, wiring: Wiring) -> PlannedChange:
        receipt = read_receipt(self._receipts, wiring.word)
        change = plan_removing(receipt) if receipt else None
        restored = receipt is not None and change is not None and change.after == receipt.before
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=receipt.path if receipt else str(settings_path(wiring)),
            files=tuple(_files(change)) if change else (),
            is_wired=receipt is not None,
            notes=("The file is as it was before.",) if restored else (),
            receipt=None,
        )


def _files(change: Change) -> Iterator[FileChange]:
    if not change.is_empty:
        yield FileChange(path=str(change.path), before=change.before, after=change.after)


def _notes(wiring: Wiring) -> Iterator[str]:
    yield "It takes effect in its next session."
    if wiring.mcp_command:
        yield f"For its searches in its own history: {wiring.mcp_command} {' '.join(own_words())} mcp"
