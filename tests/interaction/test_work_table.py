"""Every cell of the work table, through the service: a job runs, something else is requested, and the outcome is
checked."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from support.fill import EXCHANGES_BELOW_WARNING, fill
from support.summaries import GOOD, Listening, say, says, script
from support.workspace import PATIENCE, EndlessTool, Live, OneProvider, TestClient, build_test_client
from ullage.model.errors import NothingToUndo, SessionBusy
from ullage.model.events import SessionRenamed
from ullage.model.settings import ContextSettings, Settings, SummarySettings
from ullage.service.archive.undo import undo
from ullage.service.conversation.work import Ask, Job, Work
from ullage.service.sessions import change_system_prompt

# Nothing is prepared or compacted automatically in the seven exchanges of a session until the settings change.
IDLE = Settings(summary=SummarySettings(prepare_at=0.95))
PREPARING = Settings(summary=SummarySettings(prepare_at=0.1), context=ContextSettings(clear_at=0.79))
SHRINKING = replace(IDLE, context=ContextSettings(clear_at=0.2, warn_at=0.25, compact_at=0.3))
SUMMARIES = (says("wait: 60", say(GOOD)),) * 4
# Steps of the event loop after which all work that need not wait has begun.
STEPS = 30

EXPECTED = {
    Job.TURN: "wait run run refuse refuse run run cancel run",
    Job.ANSWERING: "wait run run refuse refuse wait wait cancel wait",
    Job.COMPACTING: "run run run refuse refuse wait wait cancel wait",
    Job.SHRINKING: "run wait run wait run refuse run cancel wait",
    Job.PREPARING: "run run run run run run cancel cancel run",
    Job.APPENDING: "run run wait run run run run run run",
}
CELLS = [(job, ask, rule) for job, row in EXPECTED.items() for ask, rule in zip(Ask, row.split(), strict=True)]


class Scene:
    """One session in which a job runs."""

    def __init__(self, client: TestClient, session_id: str, tool: EndlessTool) -> None:
        self.client = client
        self.conversation = client.workspace.open(session_id)
        self.tool = tool
        self.calls: list[asyncio.Task[Any]] = []
        self.counted = asyncio.Event()

    @property
    def work(self) -> Work:
        return self.conversation.work

    async def count_for_long(self) -> None:
        """Appends a message whose counting ends only when the test sets `counted`."""
        async with self.work.appending():
            await self.counted.wait()

    def call(self, name: str, **params: Any) -> "asyncio.Task[Any]":
        call = asyncio.create_task(self.client.call(name, sessionId=self.conversation.id, **params))
        self.calls.append(call)
        return call

    def prompt(self, text: str) -> "asyncio.Task[Any]":
        return self.call("session/prompt", prompt=[{"type": "text", "text": text}])

    def append(self, text: str) -> "asyncio.Task[Any]":
        return self.call("session/append", messages=[{"role": "user", "content": text}])

    def shrink(self, settings: Settings) -> None:
        """Makes a run due by settings. The change of settings starts none; the next change of the log does."""
        self.client.workspace.configure(settings)
        self.conversation.record(SessionRenamed(title="Renamed"))

    async def begin(self, job: Job) -> None:
        """Starts a job and waits until it runs."""
        match job:
            case Job.TURN:
                self.prompt("Use the tool.")
                await asyncio.wait_for(self.tool.called.wait(), PATIENCE)
                await self.conversation.settled()
            case Job.ANSWERING:
                self.prompt("Write on.")
            case Job.COMPACTING:
                self.call("context/compact")
            case Job.SHRINKING:
                self.shrink(SHRINKING)
            case Job.PREPARING:
                self.client.workspace.configure(PREPARING)
            case Job.APPENDING:
                self.calls.append(asyncio.create_task(self.count_for_long()))
        await until(lambda: self.work.is_running(job))

    async def end(self, job: Job) -> None:
        """Ends the job."""
        if job is Job.APPENDING:
            self.counted.set()
        else:
            self.client.workspace.cancel(self.conversation.id)

    async def close(self) -> None:
        self.counted.set()
        await self.client.workspace.end(self.conversation.id)
        await asyncio.wait_for(asyncio.gather(*self.calls, return_exceptions=True), PATIENCE)


async def until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not happened():
            await asyncio.sleep(0)


async def scene(job: Job) -> Scene:
    turn = "say: One\nwait: 60\nsay: two" if job is Job.ANSWERING else "tool: slow {}"
    tool, provider = EndlessTool(), Listening(script(*SUMMARIES, turn, "say: Done."))
    client = build_test_client(settings=IDLE, live=Live(providers=OneProvider(provider), toolbox=tool))
    made = Scene(client, await fill(client, EXCHANGES_BELOW_WARNING), tool)
    # A look for something to clear, which the last append began, is no job of the scene.
    await made.conversation.settled()
    await made.begin(job)
    return made


def ask(scene: Scene, job: Job, asked: Ask) -> Callable[[], bool]:  # noqa: C901, PLR0911
    """Makes the request. The returned function says whether the requested work has begun. Raises `SessionBusy`."""
    conversation, work = scene.conversation, scene.work
    match asked:
        case Ask.PROMPT:
            known = conversation.transcript.messages
            turn = scene.prompt("And then?")
            if job is Job.APPENDING:
                return lambda: work.is_running(Job.TURN) and not turn.done()
            return lambda: any(one.text == "And then?" for one in conversation.transcript.view[known:])
        case Ask.READ:
            return finished(scene.call("context/messages"))
        case Ask.APPEND:
            return finished(scene.append("And then?"))
        case Ask.COMPACT:
            compacting = scene.call("context/compact")
            others = {Job.COMPACTING, Job.SHRINKING} & {job}
            return lambda: (
                finished(compacting)()
                or (work.is_running(Job.COMPACTING) and not any(work.is_running(other) for other in others))
            )
        case Ask.EDIT:
            with pytest.raises(NothingToUndo):
                undo(conversation, None)
            return lambda: True
        case Ask.SHRINK:
            before = work.is_running(Job.SHRINKING)
            scene.shrink(replace(SHRINKING, model="another"))
            return lambda: not before and work.is_running(Job.SHRINKING)
        case Ask.PREPARE:
            known_preparation = work.preparation
            if job is Job.PREPARING:
                change_system_prompt(conversation, "Another system prompt overtakes the summary.")
            else:
                scene.client.workspace.configure(PREPARING)
            return lambda: work.preparation is not None and work.preparation is not known_preparation
        case Ask.CLOSE:
            return finished(scene.call("session/close"))
        case Ask.ANSWER:
            waiting = asyncio.create_task(work.wait(Ask.ANSWER))
            scene.calls.append(waiting)
            return waiting.done


def finished(call: "asyncio.Task[Any]") -> Callable[[], bool]:
    def done() -> bool:
        return call.done() and call.result() is not None

    return done


async def outcome(scene: Scene, job: Job, asked: Ask) -> str:
    """Returns what happens to a request that is made while a job runs."""
    preparation = scene.work.preparation
    try:
        begun = ask(scene, job, asked)
        # A shrinking session is compacting as well once its run has begun. The request is made before that.
        for _ in range(STEPS):
            if begun():
                break
            await asyncio.sleep(0)
        if begun():
            # What is cancelled by a close ends a few steps later.
            for _ in range(STEPS if asked is Ask.CLOSE else 0):
                await asyncio.sleep(0)
            cancelled = preparation is not None and preparation.task.cancelling() > 0
            return "cancel" if cancelled or not scene.work.is_running(job) else "run"
    except SessionBusy:
        return "refuse"
    assert scene.work.is_running(job)
    await scene.end(job)
    try:
        async with asyncio.timeout(0.5 if asked is Ask.SHRINK and job is Job.SHRINKING else PATIENCE):
            while not begun():
                await asyncio.sleep(0)
    except TimeoutError:
        return "refuse"
    return "wait"


@pytest.mark.parametrize(("job", "asked", "rule"), CELLS, ids=lambda one: getattr(one, "name", one))
async def test_a_request_while_a_job_runs(job: Job, asked: Ask, rule: str) -> None:
    made = await scene(job)
    assert await outcome(made, job, asked) == rule
    await made.close()


async def test_a_turn_sends_its_request_after_a_compaction_by_hand() -> None:
    made = await scene(Job.COMPACTING)
    turn = made.prompt("And then?")
    for _ in range(STEPS):
        await asyncio.sleep(0)
    assert made.conversation.transcript.view[-1].text == "And then?"
    assert made.work.is_running(Job.TURN)
    assert not made.work.is_running(Job.ANSWERING)
    made.client.workspace.cancel(made.conversation.id)
    assert await asyncio.wait_for(turn, PATIENCE) == {"stopReason": "cancelled"}
    await made.close()
