"""Adds Ullage to the settings of agents on this machine and takes it out again, as `ullage wire` and the editors do."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.wiring import Plugin, SettingsFile, Wiring
from ullage.app.own_command import OwnCommand, added_to, gives_fill_notes, own_words
from ullage.app.wired_agents import all_known, called, file_here, folder_here, has_plugin, is_here, on_this_machine
from ullage.model.errors import InvalidRequest
from ullage.service.ports.wiring import AgentChange, FileChange, OptionState
from ullage.store.store_place import StorePlace, local_path
from ullage.system.wired_files import (
    Change,
    Receipt,
    WiredFile,
    apply,
    keep_receipt,
    plan_adding,
    plan_removing,
    read_receipt,
    receipt_path,
    remove_folder,
    settings_without,
)
from ullage.wire.entries import Added
from ullage.wire.json_added import old_line


class PlannedChange(AgentChange, frozen=True, kw_only=True):
    """A change of an agent's settings, and the receipt that is kept when it is made; None if there is to be none."""

    receipt: Receipt | None


class _Wanted(Struct, frozen=True, kw_only=True):
    """What agents are to get: the status line, notes of the context's fill, and the MCP server. None leaves it as it
    is."""

    line: bool | None
    notes: bool | None
    mcp: bool

    def of(self, known: Receipt | None) -> "_Wanted":
        """Returns what an agent with this receipt is to get, without None."""
        added = [file.added for file in known.files] if known else []
        line = any(one.status_line for one in added) if self.line is None else self.line
        notes = any(map(gives_fill_notes, added)) if self.notes is None else self.notes
        return replace(self, line=line, notes=notes)


class AgentWiring:
    """The wiring of agents to a session store; see `WiresAgents`. `store` is where it is, if it is not the user's
    usual one."""

    def __init__(self, store: StorePlace | None) -> None:
        self._own = OwnCommand(words=own_words(), store=store)
        self._receipts = local_path(store)

    def add(
        self, words: Sequence[str], *, status_line: bool | None, fill_notes: bool | None, mcp_server: bool = True
    ) -> Sequence[PlannedChange]:
        """Returns what adds Ullage to agents; see `WiresAgents.add`. Without `mcp_server` its MCP server is not added,
        or is taken out again."""
        wanted = _Wanted(line=status_line, notes=fill_notes, mcp=mcp_server)

        def plan(agent: Agent, wiring: Wiring) -> PlannedChange:
            return self._adding(agent, wiring, wanted)

        if words:
            return [plan(agent, wiring) for agent, wiring in called(words)]
        return [self._each(agent, wiring, plan) for agent, wiring in on_this_machine()]

    def take_out(self, words: Sequence[str]) -> Sequence[PlannedChange]:
        """Returns what takes Ullage out of agents; see `WiresAgents.take_out`. An agent that it was not added to has no
        change."""
        if words:
            return [self._taking_out(agent, wiring) for agent, wiring in called(words)]
        return [self._each(agent, wiring, self._taking_out) for agent, wiring in all_known()]

    def make(self, change: AgentChange) -> None:
        """Makes a change that `add` or `take_out` has returned; see `WiresAgents.make`."""
        if change.failed:
            raise InvalidRequest(" ".join(change.notes))
        receipt = change.receipt if isinstance(change, PlannedChange) else None
        # The receipt first: what was added can always be taken out.
        if receipt is not None:
            keep_receipt(self._receipts, change.word, receipt)
        for file in change.files:
            apply(Change(path=Path(file.path), before=file.before, after=file.after))
        if receipt is None:
            known = read_receipt(self._receipts, change.word)
            for file in known.files if known else ():
                remove_folder(file)
            keep_receipt(self._receipts, change.word, None)

    def _adding(self, agent: Agent, wiring: Wiring, asked: _Wanted) -> PlannedChange:
        known = read_receipt(self._receipts, wiring.word)
        wanted = asked.of(known)
        path = file_here(wiring.files[0])
        if not is_here(wiring):
            raise InvalidRequest(f"{agent.name}: there is no folder {folder_here(wiring)}; start {agent.name} once")
        # A plugin brings the server; its hooks give way to those that are added here.
        plugin = wiring.plugin if has_plugin(wiring) else None
        server = wanted.mcp and plugin is None
        files = {file_here(file): replace(file, mcp_server=file.mcp_server and server) for file in wiring.files}
        wired = {path: known.file(path) if known else None for path in files}
        planned = [
            plan_adding(path, self._added(path, file, wiring.word, wired[path], wanted), wired[path])
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
            notes=tuple(_notes(agent.name, wiring, plugin)),
            options=tuple(_options(wiring, wanted)),
            receipt=Receipt(agent=agent.name, files=(*done, *elsewhere)),
        )

    def _each(self, agent: Agent, wiring: Wiring, plan: Callable[[Agent, Wiring], PlannedChange]) -> PlannedChange:
        """Returns the change of one of several agents. If its settings can't be changed, it has failed."""
        try:
            return plan(agent, wiring)
        except InvalidRequest as error:
            return PlannedChange(
                agent=agent.name,
                word=wiring.word,
                path=str(file_here(wiring.files[0])),
                files=(),
                is_wired=receipt_path(self._receipts, wiring.word).exists(),
                notes=(str(error),),
                failed=True,
                receipt=None,
            )

    def _added(self, path: Path, file: SettingsFile, word: str, wired: WiredFile | None, wanted: _Wanted) -> Added:
        old = None
        if wanted.line and file.status_line:
            old = old_line((settings_without(path, wired) or b"").decode(errors="replace"))
        return added_to(file, word, replace(self._own, fill_notes=bool(wanted.notes)), old)

    def _taking_out(self, agent: Agent, wiring: Wiring) -> PlannedChange:
        receipt = read_receipt(self._receipts, wiring.word)
        planned = [(file, plan_removing(file)) for file in (receipt.files if receipt else ())]
        return PlannedChange(
            agent=agent.name,
            word=wiring.word,
            path=receipt.files[0].path if receipt and receipt.files else str(file_here(wiring.files[0])),
            files=tuple(_files(change for _, change in planned)),
            is_wired=receipt is not None,
            notes=tuple(f"{file.path} is as it was before." for file, change in planned if change.after == file.before),
            receipt=None,
        )


def _options(wiring: Wiring, wanted: _Wanted) -> Iterator[OptionState]:
    if any(file.status_line for file in wiring.files):
        yield OptionState(name="statusLine", is_on=bool(wanted.line))
    if any(file.plugin or any(place.for_notes for place in file.hooks) for file in wiring.files):
        yield OptionState(name="fillNotes", is_on=bool(wanted.notes))


def _files(changes: Iterable[Change]) -> Iterator[FileChange]:
    for change in changes:
        if not change.is_empty:
            yield FileChange(path=str(change.path), before=change.before, after=change.after)


def _notes(agent: str, wiring: Wiring, plugin: Plugin | None) -> Iterator[str]:
    yield "It takes effect in its next session."
    if plugin is not None:
        yield (
            f"{agent} has Ullage's plugin, too: its hooks give way to these, and its MCP server is the one that stays. "
            f"`{plugin.remedy}` removes it; add Ullage once more after that."
        )
    if wiring.approval is not None:
        yield f"{agent} runs no hook that its user has not allowed: {wiring.approval.remedy}."
