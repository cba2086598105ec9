"""The methods `agents/*`: Ullage added to agents' settings and taken out again. Params, results and handlers."""

import asyncio
import difflib
import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.model.errors import Conflict, PreviewExpired
from ullage.service.conversation.workspace import Workspace
from ullage.wire.plan import AgentChange, FileChange, WiresAgents


class UnwireParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Takes Ullage out of the agent `agent`, or without it out of all agents. `agent` is a name as in commands, such as
    `claude-code`. `dryRun` previews the change. With `previewId`, the change of that preview is made to what the
    settings say now, or nothing."""

    agent: str | None = None
    dry_run: bool = False
    preview_id: str | None = None


class WireParams(UnwireParams, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Adds Ullage to the agent `agent`, or without it to all agents on this machine. `agent` is a name as in commands,
    such as `claude-code`. With `statusLine` it also becomes the agent's status line, and with `fillNotes` the agent's
    model gets notes of how full the context is. Without them both stay as they are; false takes them out. `dryRun`
    previews the change. With `previewId`, exactly the change of that preview is made, or nothing."""

    status_line: bool | None = None
    fill_notes: bool | None = None


class WiringOption(Struct, frozen=True, kw_only=True):
    """A param of `agents/wire` that an agent knows, and whether the agent has it after the change (`on`)."""

    name: Literal["statusLine", "fillNotes"]
    on: bool


class FileDifference(Struct, frozen=True, kw_only=True):
    """A change of a file. `before` and `after` are its texts, null where there is no file. `difference` has the changed
    lines with two lines around them, as `diff -u` writes them, without the files' names."""

    path: str
    before: str | None
    after: str | None
    difference: str


class WiredAgent(Struct, frozen=True, kw_only=True):
    """An agent whose settings change. `word` is its name in commands and `path` the file with its settings. `wired`
    says whether Ullage was added to it before this change. `files` are the changes; there are none if everything is as
    wanted already. `notes` are sentences about what the user has to know or do. `failed` says that settings of this
    agent, which was not named in the params, can't be changed; its note says why. `options` are what else the agent can
    get; taking out has none."""

    agent: str
    word: str
    path: str
    wired: bool
    files: tuple[FileDifference, ...]
    notes: tuple[str, ...]
    failed: bool
    options: tuple[WiringOption, ...]


class WiringResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A change of agents' settings. `done` is false for a preview, which has a `previewId`. Without an agent in the
    params, `agents` is empty if none is on this machine."""

    agents: tuple[WiredAgent, ...]
    done: bool
    preview_id: str | None = None


async def wire(workspace: Workspace, params: WireParams) -> WiringResult:
    wiring = _wiring(workspace)
    changes = await asyncio.to_thread(
        wiring.add, _words(params), status_line=params.status_line, fill_notes=params.fill_notes
    )
    return await _settle(wiring, changes, params)


async def unwire(workspace: Workspace, params: UnwireParams) -> WiringResult:
    wiring = _wiring(workspace)
    changes = await asyncio.to_thread(wiring.take_out, _words(params))
    return await _settle(wiring, changes, params)


def _words(params: UnwireParams) -> Sequence[str]:
    return (params.agent,) if params.agent else ()


async def _settle(wiring: WiresAgents, changes: Sequence[AgentChange], params: UnwireParams) -> WiringResult:
    """Makes the changes, unless they are to be previewed."""
    shown = await asyncio.to_thread(_id_of, changes)
    if params.dry_run:
        return WiringResult(agents=tuple(map(_agent, changes)), done=False, preview_id=shown)
    if params.preview_id not in (None, shown):
        raise PreviewExpired(
            "the settings have changed since the preview, so that another change would be made; look at that one"
        )
    await asyncio.to_thread(_make, wiring, changes)
    return WiringResult(agents=tuple(map(_agent, changes)), done=True)


def _make(wiring: WiresAgents, changes: Iterable[AgentChange]) -> None:
    for change in changes:
        if not change.failed and (change.files or change.is_wired):
            wiring.make(change)


def _id_of(changes: Sequence[AgentChange]) -> str:
    """Returns an id that is the same for changes that do the same only."""
    return hashlib.sha256(msgspec.json.encode([change.meaning for change in changes])).hexdigest()[:32]


def _agent(change: AgentChange) -> WiredAgent:
    return WiredAgent(
        agent=change.agent,
        word=change.word,
        path=change.path,
        wired=change.is_wired,
        files=tuple(map(_file, change.files)),
        notes=change.notes,
        failed=change.failed,
        options=tuple(WiringOption(name=option.name, on=option.is_on) for option in change.options),
    )


def _file(change: FileChange) -> FileDifference:
    before, after = _text(change.before), _text(change.after)
    lines = difflib.unified_diff((before or "").splitlines(), (after or "").splitlines(), lineterm="", n=2)
    # The first two lines name the files.
    return FileDifference(path=change.path, before=before, after=after, difference="\n".join([*lines][2:]))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode(errors="replace")


def _wiring(workspace: Workspace) -> WiresAgents:
    if workspace.wiring is None:
        raise Conflict("agents' settings can't be changed through this connection; use `ullage wire`")
    return workspace.wiring
