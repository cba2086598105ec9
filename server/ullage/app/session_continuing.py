"""What only editors ask of a workspace: new sessions of agents, made from its conversations in a thread of their own
and written to their files; and opening such a workspace."""

import asyncio
from asyncio import AbstractEventLoop, Task
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Generic, TypeVar

from msgspec.structs import replace

from ullage.agents.agent import Agent
from ullage.agents.table import AGENTS, agent_called, agent_of_format, word_of
from ullage.app.agent_wiring import AgentWiring, missing_folder
from ullage.app.compose import build_workspace, examples_of, make_following, reading_settings, throwaway_workspace
from ullage.app.serving_mcp import ConversationTools
from ullage.lsp.server import Announcer
from ullage.model.errors import InvalidRequest, MessageNotFound, PreviewExpired
from ullage.model.events import Event, MessageAppended
from ullage.model.settings import Settings
from ullage.policy.evidence import Compacted
from ullage.service.archive.search import indexing
from ullage.service.continuing import BUDGET, Prepared, WantedContext, choose_context, prepare_continuation
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Follower, Workspace
from ullage.service.ports.models import (
    AgentChoice,
    ContinuingChoicesResult,
    ContinuingPreviewParams,
    ContinuingResult,
)
from ullage.service.sessions import copied_session
from ullage.store.sqlite.catalogue import Receipts
from ullage.store.store_place import StorePlace, local_path
from ullage.system.shared_files import create_file
from ullage.watch.candidates import machine_of_paths

# Planned sessions that are kept until they are written: more than a picker offers at once. Each has its file's content.
_MOST = 12
T = TypeVar("T")


def open_for_editor(
    closing: AsyncExitStack, place: StorePlace | None, settings: Settings, announcer: Announcer
) -> Workspace:
    """Opens the workspace of the Language Server, which lasts until `closing` ends. Raises `StoreError`."""
    workspace = build_workspace(closing, place, settings)
    workspace.bus.listen(announcer)
    workspace.indexing_listeners.append(announcer)
    closing.enter_context(Follower(workspace).running())
    closing.enter_context(indexing(workspace))
    workspace.following = make_following(workspace, place, announcer)
    closing.push_async_callback(workspace.following.stop)
    workspace.wiring = AgentWiring(place)
    workspace.receipts = Receipts(local_path(place))
    workspace.continuing = SessionContinuing(workspace)
    workspace.looks_up = ConversationTools(workspace)
    return workspace


class SessionContinuing:
    """New sessions of agents, from the conversations of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._planned: OrderedDict[str, Prepared] = OrderedDict()

    async def choices(self, session_id: str) -> ContinuingChoicesResult:
        conversation = self._workspace.open(session_id)
        own = _agent_of(conversation)
        agents = [agent for agent in AGENTS if agent.writer and missing_folder(agent) is None]
        found = [AgentChoice(agent=agent.name, word=word_of(agent), own=agent is own) for agent in agents]
        edits = [record.event for record in self._workspace.ports.store.read_edits(conversation.id)]
        return ContinuingChoicesResult(
            agents=tuple(sorted(found, key=lambda one: not one.own)), before_compaction=_can_go_back(edits)
        )

    async def plan(self, wanted: ContinuingPreviewParams) -> ContinuingResult:
        conversation = self._workspace.open(wanted.session_id)
        agent = agent_called(wanted.agent) if wanted.agent else _agent_of(conversation)
        if agent is not None and agent.writer and (folder := missing_folder(agent)) is not None:
            raise InvalidRequest(
                f"{agent.name} is not on this machine: there is no folder {folder}; start {agent.name} once"
            )
        origin = conversation.transcript.origin
        learned = (origin.format, self._workspace.compactions(origin.format)) if origin else None
        # Reading and counting a long conversation takes seconds, and other requests don't wait for it.
        prepared = await run_in_thread(partial(self._prepare, conversation, wanted, learned))
        self._planned[prepared.shown.preview_id] = prepared
        while len(self._planned) > _MOST:
            self._planned.popitem(last=False)
        return prepared.shown

    async def write(self, preview_id: str) -> ContinuingResult:
        prepared = self._planned.get(preview_id)
        if prepared is None:
            raise PreviewExpired("this new session is written already, or was planned too long ago; preview it again")
        await asyncio.to_thread(create_file, prepared.continuation.path, prepared.continuation.data)
        self._planned.pop(preview_id, None)
        return replace(prepared.shown, written=True)

    async def _prepare(
        self,
        conversation: Conversation,
        wanted: ContinuingPreviewParams,
        learned: tuple[str, Sequence[Compacted]] | None,
    ) -> Prepared:
        """Returns a new session. Runs in another thread than all else of the workspace."""
        transcript = copied_session(conversation, self._workspace.ports.store.read_apart(conversation.id))
        context = _context(wanted, transcript.events)
        settings = replace(reading_settings(transcript.model, None), models=self._workspace.settings.models)
        with throwaway_workspace(settings) as scratch:
            if learned is not None:
                scratch.keep_compactions(*learned)
            cwd = str(Path.cwd())
            examples = examples_of(context.agent, transcript.cwd or cwd)
            return await prepare_continuation(scratch, transcript, context, machine_of_paths(), cwd, examples=examples)


def _context(wanted: ContinuingPreviewParams, events: Sequence[Event]) -> WantedContext:
    return WantedContext(
        agent=wanted.agent or "",
        before_compaction=wanted.before_compaction,
        from_message=_number_of(wanted.message_id, events) if wanted.message_id is not None else None,
        compacted=wanted.compacted,
        budget=wanted.budget or BUDGET,
        focus=wanted.focus,
    )


def _number_of(message_id: str, events: Sequence[Event]) -> int:
    ids = [event.message.id for event in events if isinstance(event, MessageAppended)]
    if message_id not in ids:
        raise MessageNotFound(f"no message {message_id!r} in this session")
    return ids.index(message_id) + 1


def _can_go_back(events: Sequence[Event]) -> bool:
    try:
        choose_context(events, WantedContext(before_compaction=True))
    except InvalidRequest:
        return False
    return True


def _agent_of(conversation: Conversation) -> Agent | None:
    origin = conversation.transcript.origin
    return agent_of_format(origin.format) if origin else None


async def run_in_thread(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Runs the coroutine that `make` returns in a thread, on an event loop of its own, and returns its result.

    If the awaiting task is cancelled, so is the coroutine: it ends where it next waits, in that thread.
    """
    work = _Work(make)
    try:
        return await asyncio.to_thread(work.run)
    except asyncio.CancelledError:
        work.give_up()
        raise


class _Work(Generic[T]):
    """A coroutine that one thread runs and another one may cancel."""

    def __init__(self, make: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._make = make
        self._lock = Lock()
        self._running: tuple[AbstractEventLoop, Task[Any]] | None = None
        self._is_given_up = False

    def run(self) -> T:
        """Runs the coroutine to its end. Raises `CancelledError` if it was given up."""
        return asyncio.run(self._main())

    def give_up(self) -> None:
        """Cancels the coroutine, now or when it begins. May be called from any thread."""
        with self._lock:
            self._is_given_up = True
            if self._running is not None:
                loop, task = self._running
                # A loop that has ended is closed.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(task.cancel)

    async def _main(self) -> T:
        task = asyncio.current_task()
        with self._lock:
            if self._is_given_up or task is None:
                raise asyncio.CancelledError
            self._running = asyncio.get_running_loop(), task
        return await self._make()
