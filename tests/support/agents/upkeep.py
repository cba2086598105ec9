"""Measures what compactions through the proxy leave in the agent, and what the record has of them. Each column
of the table is a conversation and a look at the agent's processes, its list or the store."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from support.acp_end import PATIENCE, Json
from support.agents.program import ProgramEnd
from support.agents.runs import SUMMARY_WORDS
from support.agents.scenario import FIRST, NO, YES, Place, is_the_agents
from support.lsp_client import RpcFailure
from support.wire.replies import Call
from ullage.app.compose import open_workspace
from ullage.model.message import ToolResultBlock, text_and_resources

# How an editor introduces itself that draws the terminals of agents' commands and takes no updates of compactions.
_DRAWS_TERMINALS: Json = {"terminal": True, "_meta": {"terminal_output": True, "terminal-auth": True}}
_COMPACTIONS = 3
# The share of the memory before that the agent may have more after three compactions: what a few turns leave.
_MORE = 0.1
# Seconds after which an agent counts as one that does not stop when it is cancelled.
_STOPS_WITHIN = 30.0
_WORD = "Jeroboam"
_COMMAND = f"echo {_WORD.lower()} | tr j J"
# The tool by which an agent runs a command, and its arguments: what the agent's requests offer.
_RUNS = {
    "Bash": {"command": _COMMAND, "description": "Name the cask"},
    "exec_command": {"cmd": _COMMAND},
    "bash": {"command": _COMMAND, "description": "Name the cask"},
    "run_shell_command": {"command": _COMMAND, "description": "Name the cask", "is_background": False},
}


async def list_kept(place: Place) -> str:
    """Returns whether the agent's list has one entry of a conversation that was compacted and undone, by the client's
    id."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        for options in ("/compact", "/undo", "/compact"):
            await _try(end, session_id, options)
            await end.prompt(session_id, "Go on with the second cask")
        try:
            listed = (await end.ask("session/list", cwd=str(place.launch.cwd)))["sessions"]
        except RpcFailure:
            return "has no list"
    return YES if [entry["sessionId"] for entry in listed] == [session_id] else NO


async def nothing_left(place: Place) -> str:
    """Returns whether the agent has as many processes as before three compactions, and hardly more memory."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        await end.prompt(session_id, "Go on with the second cask")
        before = await _settled(end.process.pid)
        for _ in range(_COMPACTIONS):
            await end.prompt(session_id, "/compact")
            await end.prompt(session_id, "Go on with the third cask")
        after = await _settled(end.process.pid, at_most=before)
        closes = _closes_sessions(end)
    if _fits(after, before):
        return YES
    return NO if closes else "cannot close sessions"


async def command_recorded(place: Place) -> str:
    """Returns whether the record has a command's output that the client is only shown as a terminal."""
    async with place.proxy() as end:
        end.allows = None
        # An agent's own text next to the prompt may speak of summaries.
        place.model.summary_words = SUMMARY_WORDS
        session_id = await end.open(_DRAWS_TERMINALS, str(place.launch.cwd))
        for name, arguments in _RUNS.items():
            place.model.scripted[f"{FIRST} {name}"] = Call("call_1", name, json.dumps(arguments))
        text = " ".join(f"{FIRST} {name}" for name in _RUNS)
        asked = end.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])
        allowing = asyncio.ensure_future(_allow(end))
        await end.answer(asked)
        allowing.cancel()
    with open_workspace(place.store) as workspace:
        blocks = [block for message in workspace.open(session_id).transcript.view for block in message.content]
    results = [block for block in blocks if isinstance(block, ToolResultBlock)]
    if not results:
        return "not measured"
    if not any(_WORD.encode() in line for line in end.lines):
        return "sends no output"
    return YES if any(_WORD in text_and_resources(result.content) for result in results) else NO


async def recorded_unshown(place: Place) -> str:
    """Returns whether a compaction is recorded once although the client takes no updates of compactions."""
    async with place.proxy() as end:
        session_id = await end.open({}, str(place.launch.cwd))
        await end.prompt(session_id, FIRST)
        await end.until(lambda _: bool(end.updates("available_commands_update")))
        await end.prompt(session_id, "/compact")
        await end.prompt(session_id, "Go on with the second cask")
        shown = end.updates("compaction_update")
    with open_workspace(place.store) as workspace:
        recorded = workspace.open(session_id).transcript.compactions
    return YES if recorded == 1 and not shown else NO


async def figures_right(place: Place) -> str:
    """Returns whether the sizes that an undo names are those that the client was shown last, and before the
    compaction."""
    async with place.proxy() as end:
        session_id = await place.begin(end)
        before = _shown(end)
        await end.prompt(session_id, "/compact")
        try:
            await end.prompt(session_id, "/undo")
        except RpcFailure as failure:
            if "keeps no copy" in str(failure):
                return "cannot be undone"
            raise
        await end.prompt(session_id, "Go on with the second cask")
        after = _shown(end)
    return YES if abs(after - before) <= before * _MORE else NO


async def cancelled(place: Place) -> str:
    """Returns whether a compaction can be cancelled: the prompt is answered as cancelled, nothing is recorded, and the
    next prompt reaches the model with all that was said. If not every way can, returns those that can."""
    ways = {"handover": ("--hand-over",), "its own": ()}
    found = {name: await _cancel(place, options) for name, options in ways.items()}
    tried = {name: holds for name, holds in found.items() if holds is not None}
    return YES if all(tried.values()) else " and ".join(name for name, holds in tried.items() if holds) or NO


async def _cancel(place: Place, options: tuple[str, ...]) -> bool | None:
    """Returns whether one way of compacting can be cancelled while the model writes the summary, or None if the agent
    has no command of its own although no handover was asked for."""
    async with place.proxy(*options) as end:
        session_id = await place.begin(end)
        place.model.free.clear()
        asked = end.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "/compact"}])
        await place.model.until_summarizing()
        own = all(map(is_the_agents, end.updates("compaction_update")))
        end.send({"method": "session/cancel", "params": {"sessionId": session_id}})
        # An agent that does not stop for it answers once it has the summary.
        with suppress(TimeoutError):
            await asyncio.wait_for(end.answer(asked), _STOPS_WITHIN)
        place.model.free.set()
        reason = (await end.answer(asked))["stopReason"]
        request = await place.sent(end, session_id, "Go on with the fourth cask")
    if not options and not own:
        return None
    with open_workspace(place.store) as workspace:
        recorded = workspace.open(session_id).transcript.compactions
    return reason == "cancelled" and not recorded and FIRST in request


COLUMNS = {
    "one entry in the list": list_kept,
    "no process or memory left behind": nothing_left,
    "commands in drawn terminals recorded": command_recorded,
    "compaction recorded that the client cannot show": recorded_unshown,
    "sizes right after an undo": figures_right,
    "compactions that can be cancelled": cancelled,
}


def _closes_sessions(end: ProgramEnd) -> bool:
    """Returns whether the agent has said that its sessions can be closed."""
    greeted = next(message["result"] for message in end.messages if "agentCapabilities" in message.get("result", ()))
    return greeted["agentCapabilities"].get("sessionCapabilities", {}).get("close") is not None


def _shown(end: ProgramEnd) -> int:
    return end.updates("usage_update")[-1]["used"]


async def _try(end: ProgramEnd, session_id: str, text: str) -> None:
    """Sends a prompt that the agent or the proxy may refuse."""
    try:
        await end.prompt(session_id, text)
    except RpcFailure:
        return


async def _allow(end: ProgramEnd) -> None:
    """Allows, once each, every tool call that the agent asks for."""
    done: set[object] = set()
    while True:
        request = await end.until(
            lambda message: message.get("method") == "session/request_permission" and message["id"] not in done
        )
        done.add(request["id"])
        options = request["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"] == "allow_once")
        end.send({"id": request["id"], "result": {"outcome": {"outcome": "selected", "optionId": chosen}}})


# A number of processes, and their memory in KiB.
_Size = tuple[int, int]


def _fits(size: _Size, before: _Size) -> bool:
    return size[0] <= before[0] and size[1] <= before[1] * (1 + _MORE)


async def _settled(pid: int, at_most: _Size | None = None) -> _Size:
    """Returns the size of all processes below a process once two looks agree, or at the latest after `PATIENCE`. With
    `at_most`, returns as soon as it fits that: an agent may take a while to end a process."""
    last = _size(pid)
    for _ in range(int(PATIENCE)):
        await asyncio.sleep(1)
        now = _size(pid)
        if _fits(now, at_most) if at_most else (now[0] == last[0] and abs(now[1] - last[1]) < last[1] * _MORE / 5):
            return now
        last = now
    return last


def _size(pid: int) -> _Size:
    below = list(_below(pid))
    return len(below), sum(map(_memory, below))


def _below(pid: int) -> Iterator[int]:
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = thread.read_text("utf-8").split()
        except OSError:
            continue
        for child in map(int, children):
            yield child
            yield from _below(child)


def _memory(pid: int) -> int:
    """Returns the memory of a process in KiB, its part of what it shares with others; 0 if it has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
