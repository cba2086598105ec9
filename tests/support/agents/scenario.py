"""Measures which of the proxy's functions work for an agent. Each column of the table is a conversation and a check
of what the model was sent."""

import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from support.acp_end import SHOWS_ALL, Json, is_ours
from support.agents.launch import Known, Launch
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.program import ProgramEnd, program, proxied
from support.lsp_client import RpcFailure
from support.traces import Trace, play
from ullage.app.compose import open_workspace

YES, NO = "yes", "no"
_TEE = Path(__file__).with_name("tee.py")
# The user's first message. If a request has this sentence, it has not been compacted away.
FIRST = "The cask in the corner is called Methuselah."
# The share of its window that an agent takes for used: enough for a warning, too little for a compaction.
_FULL = 0.85


class Place(Struct, frozen=True, kw_only=True):
    """Where an agent is tried: its provider, its environment, the folder of this try, and the version of the protocol
    that the client asks for."""

    model: ModelServer
    launch: Launch
    folder: Path
    version: int = 1

    @property
    def store(self) -> Path:
        return self.folder / "sessions.db"

    @asynccontextmanager
    async def proxy(self, *options: str) -> AsyncGenerator[ProgramEnd]:
        """Runs the proxy with the agent, on this place's store."""
        async with self.program(proxied(self.launch, self.store, *options)) as end:
            yield end

    @asynccontextmanager
    async def program(self, command: Sequence[str]) -> AsyncGenerator[ProgramEnd]:
        """Runs a program with a client of this place's version."""
        async with program(command, self.launch, self.folder / "errors") as end:
            end.version = self.version
            yield end

    async def begin(self, end: ProgramEnd) -> str:
        """Starts a session, sends the first message and returns the session's id."""
        session_id = await end.open(SHOWS_ALL, str(self.launch.cwd))
        await end.prompt(session_id, FIRST)
        # Some agents send their commands only now.
        await end.until(
            lambda message: (
                any(map(is_the_agents, end.updates("available_commands_update")))
                or "availableCommands" in message.get("result", ())
            )
        )
        return session_id

    async def sent(self, end: ProgramEnd, session_id: str, text: str) -> str:
        """Returns what the model is sent with a prompt."""
        known = len(self.model.asked)
        await end.prompt(session_id, text)
        asked = [request for request in self.model.asked[known:] if text in request]
        return max(asked, key=len, default="")


async def pass_through(place: Place) -> str:
    """Compares every byte of both sides, in a live session and in one that was recorded without the proxy."""
    tee = (sys.executable, str(_TEE), str(place.folder))
    launch = Launch(
        title="", command=(*tee, *place.launch.command), environment=place.launch.environment, cwd=place.launch.cwd
    )
    async with place.program(proxied(launch, place.store, "--no-mcp")) as end:
        await _talk(end, str(launch.cwd))
    heard = b"".join(line for line in end.lines if not is_ours(line))
    said = b"".join(line for mark, line in end.trace if mark == "<")
    live = (heard, said) == tuple((place.folder / name).read_bytes() for name in ("from_agent", "to_agent"))
    recorded = await record(place)
    replayed = await play(recorded, place.folder) == [line for mark, line in recorded if mark == ">"]
    return YES if live and replayed else NO


async def record(place: Place) -> Trace:
    """Records a session with the agent alone."""
    async with place.program(place.launch.command) as end:
        await _talk(end, str(place.launch.cwd))
    return end.trace


async def usage_shown(place: Place) -> str:
    """Returns whether the client gets the usage, and whether the agent or Ullage sends it."""
    async with place.proxy() as end:
        await place.begin(end)
        told = end.updates("usage_update")
    if not told or not 0 < told[-1]["used"] < told[-1]["size"]:
        return NO
    ours = told[-1].get("_meta", {}).get("ullage")
    return f"by Ullage, {ours['source']}" if ours else "by the agent"


async def warned(place: Place) -> str:
    """Returns whether the user is warned once the agent takes its context for 85 % full."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        place.model.inflated = int(end.updates("usage_update")[-1]["size"] * _FULL)
        await end.prompt(session_id, "And the one beside it?")
    return YES if any("full" in notice["title"] for notice in end.updates("notice")) else NO


async def compacted_natively(place: Place) -> str:
    """Returns whether the agent's own command makes its context smaller, and the log records it."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        await end.prompt(session_id, "/compact")
        handed_over = _is_handed_over(end)
        request = await place.sent(end, session_id, "Go on with the second cask")
    if handed_over:
        return "has no command"
    with open_workspace(place.store) as workspace:
        recorded = workspace.open(session_id).transcript.compactions
    return YES if SUMMARY in request and recorded == 1 else NO


async def compacted_by_hand_over(place: Place) -> str:
    """Returns whether a fresh session continues with the agent's own summary in place of the earlier messages."""
    async with place.proxy("--hand-over") as end:
        session_id = await place.begin(end)
        await end.prompt(session_id, "/compact")
        request = await place.sent(end, session_id, "Go on with the second cask")
    return YES if SUMMARY in request and "Compaction 1" in request else NO


async def undone(place: Place) -> str:
    """Returns which compactions can be undone, so that the model is sent the earlier messages again."""
    ways = {"handover": ("--hand-over",), "its own": ()}
    return " and ".join([name for name, options in ways.items() if await _is_undone(place, options)]) or NO


async def _is_undone(place: Place, options: tuple[str, ...]) -> bool:
    async with place.proxy(*options) as end:
        session_id = await place.begin(end)
        await end.prompt(session_id, "/compact")
        if not options and _is_handed_over(end):
            return False
        try:
            await end.prompt(session_id, "/undo")
        except RpcFailure:
            return False
        request = await place.sent(end, session_id, "Go on with the third cask")
    return FIRST in request and "Compaction 1" not in request


async def resumed(place: Place) -> str:
    """Returns whether the conversation continues after the agent was killed, and after the proxy has ended."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        refused = await _is_refused_at_death(place, end, session_id)
        after_death = FIRST in await place.sent(end, session_id, "Go on after the fall")
    async with place.proxy() as end:
        await end.greet(SHOWS_ALL)
        await end.load(session_id, str(place.launch.cwd))
        after_end = FIRST in await place.sent(end, session_id, "Go on the next day")
    return YES if refused and after_death and after_end else NO


def is_the_agents(update: Json) -> bool:
    """Whether the agent sent an update, and not Ullage."""
    return "ullage" not in update.get("_meta", {})


def _is_handed_over(end: ProgramEnd) -> bool:
    """Whether a compaction was the proxy's own."""
    return not all(map(is_the_agents, end.updates("compaction_update")))


async def _is_refused_at_death(place: Place, end: ProgramEnd, session_id: str) -> bool:
    """Kills the agent while the model writes. Returns whether the prompt ends with an error that says so."""
    known = len(place.model.asked)
    place.model.free.clear()
    asked = end.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Are you there?"}])
    await place.model.until_asked(known + 1)
    os.killpg(_child(end.process.pid), signal.SIGKILL)
    try:
        await end.answer(asked)
        # Version 2 answers when the prompt is in.
        failed = await end.until(lambda message: '"stopReason": "error"' in json.dumps(message))
        return "killed by signal 9" in json.dumps(failed)
    except RpcFailure as failure:
        return "killed by signal 9" in str(failure)
    finally:
        place.model.free.set()


def _child(process: int) -> int:
    """Returns the process id of a proxy's agent, which has a guard next to it."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="utf-8").split()
    (child,) = (one for one in children if b"ullage-guard" not in Path(f"/proc/{one}/cmdline").read_bytes())
    return int(child)


async def _talk(end: ProgramEnd, cwd: str) -> None:
    session_id = await end.open(SHOWS_ALL, cwd)
    for text in (FIRST, "Grüße aus dem Keller 🍷\n\tund \\u00fcber allem"):
        await end.prompt(session_id, text)


Column = Callable[[Place], Awaitable[str]]
COLUMNS: dict[str, Column] = {
    "pass-through": pass_through,
    "usage shown": usage_shown,
    "warned": warned,
    "compacted natively": compacted_natively,
    "compacted by handover": compacted_by_hand_over,
    "undone": undone,
    "resumed": resumed,
}


async def measure(agent: Known, column: str, folder: Path, version: int = 1) -> str:
    """Measures one cell of the table."""
    folder.mkdir(parents=True)
    async with ModelServer().serving() as model:
        place = Place(model=model, launch=agent.launch(folder / "home", model.url), folder=folder, version=version)
        return await COLUMNS[column](place)
