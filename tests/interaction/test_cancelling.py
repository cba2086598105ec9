"""A prompt to Ullage's own agent that is cancelled, in every state and in every way: what the client gets and what is
recorded is what the table in the documents says, and the next prompt is answered."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from support.documents import BY_REQUEST, BY_SESSION, RECORDED, CancelTable, column
from support.lsp_client import PATIENCE, RpcFailure
from support.playing_rig import ALLOW, PlayingRig
from support.ready_servers import command_of
from ullage.service.conversation.work import Job

NEXT = "---\nwhen: next\nsay: Next.\n"
NEVER = "wait: 600\n"
# The messages of a long conversation.
_SAID = 12
# Tokens: 360. Twelve of them leave a small window room for two, and are too few to prepare a compaction.
_LONG = "Look at src/login.py again, please. " * 40
_SMALL = 8_000
# The prompt that another one waits for.
_OTHER = "Good morning"


_FORMS: dict[str, Any] = {"elicitation": {"form": {}}}


class CancelRig(PlayingRig):
    """A rig in a project's folder, whose session has had no prompt, or a long conversation."""

    def __init__(self, folder: Path, state: "PromptState", version: int) -> None:
        script = state.script.replace("FOLDER", str(folder)) + NEXT
        super().__init__(folder, script, window=_SMALL if state.is_long else None)
        self.asks = version
        self.folder = folder
        self.state = state
        self.session_id = ""

    async def open(self) -> None:
        """Starts a session as the state needs it."""
        await self._greet()
        servers: list[Any] = []
        if "mcp__small" in self.state.script:
            command, arguments = command_of("small_mcp_server")
            servers.append({"name": "small", "command": command, "args": arguments, "env": []})
        opened = await self.ask("session/new", cwd=str(self.folder), mcpServers=servers)
        self.session_id = opened["sessionId"]
        if self.state.is_long:
            await self.say(self.session_id, *[_LONG] * _SAID)

    async def resume(self) -> None:
        """Opens the session again, in an agent that has not had it open."""
        await self._greet()
        await self.ask("session/resume", sessionId=self.session_id, cwd=str(self.folder), mcpServers=[])

    def begins(self, text: str) -> int:
        """Sends a prompt and returns the request's id."""
        return self.start("session/prompt", sessionId=self.session_id, prompt=[{"type": "text", "text": text}])

    def cancel(self, way: str, asked: int) -> None:
        """Cancels the prompt of this request in one of the ways of the table."""
        if way == BY_SESSION:
            self.notify("session/cancel", sessionId=self.session_id)
        else:
            self.notify("$/cancel_request", requestId=asked)

    async def outcome(self, way: str, asked: int) -> str:
        """Returns what the client gets after the prompt `asked` was cancelled: the answer, and in version 2 the end of
        the turn. In the end no prompt is at work."""
        answered = await self._answered(asked)
        if self.asks == 1 or way == BY_SESSION:
            ended = "" if self.asks == 1 else f"idle, `{await self._ends()}`"
            if way == BY_REQUEST:
                self.notify("session/cancel", sessionId=self.session_id)
            return ", ".join(filter(None, (answered, ended)))
        await self.ask("session/list")
        assert self.updates("state_update")[-1]["state"] != "idle"
        self.notify("session/cancel", sessionId=self.session_id)
        await self._ends()
        return answered or "continues"

    async def recorded(self) -> str:
        """Returns what is recorded of the prompt, in words."""
        given = await self.ask("_ullage/context/messages", sessionId=self.session_id, scope="transcript")
        entries = [entry["message"] for entry in given["entries"] if entry["message"]["role"] != "system"]
        blocks = [block for entry in entries for block in entry["content"]][_SAID if self.state.is_long else 0 :]
        return ", ".join(map(_said, blocks)) or "nothing"

    async def is_whole(self) -> bool:
        """Returns whether the context has every message, so that nothing was compacted."""
        scopes = ("transcript", "context")
        found = [await self.ask("_ullage/context/messages", sessionId=self.session_id, scope=name) for name in scopes]
        return found[0]["entries"] == found[1]["entries"]

    async def runs(self, job: Job) -> None:
        """Returns once this job runs in the session."""
        async with asyncio.timeout(PATIENCE):
            while not self.agent.workspace().open(self.session_id).work.is_running(job):
                await asyncio.sleep(0)

    async def is_asked(self, method: str) -> None:
        """Returns once the client was sent this request."""
        await self.until(lambda message: message.get("method") == method)

    async def _greet(self) -> None:
        if self.asks == 1:
            await self.initialize({**_FORMS, "session": {"compaction": {}}})
        else:
            await self.initialize_version_2(_FORMS)

    async def _answered(self, asked: int) -> str:
        """Returns the answer to a prompt: the stop reason, the code of an error, or "" if it is in the transcript."""
        try:
            result = await self.answer(asked)
        except RpcFailure as failure:
            return f"`{failure.code}`"
        return f"`{result['stopReason']}`" if "stopReason" in result else ""

    async def _ends(self) -> str:
        idle = await self.until(lambda message: "stopReason" in message.get("params", {}).get("update", {}))
        return idle["params"]["update"]["stopReason"]


class PromptState(Struct, frozen=True, kw_only=True):
    """A state of a prompt.

    - `script`: the model's answers, without the one to the next prompt.
    - `reach`: sends the prompt and returns once it is in that state, with the request's id.
    - `is_long`: whether the conversation before it nearly fills the window.
    """

    script: str
    reach: Callable[[CancelRig], Awaitable[int]]
    is_long: bool = False


async def _waiting(rig: CancelRig, text: str = "Hello") -> int:
    asked = rig.begins(text)
    await rig.runs(Job.ANSWERING)
    return asked


async def _queued(rig: CancelRig) -> int:
    await _waiting(rig, _OTHER)
    asked = rig.begins("Hello")
    # Requests begin in the order in which they come.
    await rig.ask("session/list")
    return asked


async def _streaming(rig: CancelRig) -> int:
    asked = rig.begins("Hello")
    await rig.update(rig.session_id, "agent_message_chunk")
    return asked


async def _in_a_tool(rig: CancelRig) -> int:
    rig.answers["session/request_permission"] = lambda _: ALLOW
    asked = rig.begins("Hello")
    async with asyncio.timeout(PATIENCE):
        while not (rig.folder / "begun").exists():
            await asyncio.sleep(0.01)
    return asked


async def _at_a_question(rig: CancelRig) -> int:
    asked = rig.begins("Hello")
    await rig.is_asked("session/request_permission")
    return asked


async def _at_a_form(rig: CancelRig) -> int:
    asked = rig.begins("Hello")
    await rig.is_asked("elicitation/create")
    return asked


async def _compacting(rig: CancelRig) -> int:
    asked = rig.begins("/compact")
    await rig.update(rig.session_id, "compaction_summary_chunk")
    return asked


async def _compacting_before(rig: CancelRig) -> int:
    asked = rig.begins(f"Hello. {_LONG * 2}")
    await rig.update(rig.session_id, "compaction_summary_chunk")
    return asked


_SUMMARY = f"for: summary\nsay: ## Task\n  - Mend it.\n  - Test it.\n{NEVER}say: Never."
AGENT_STATES = {
    "queued behind another": PromptState(script=f"{NEVER}say: Never.\n", reach=_queued),
    "waiting for the model": PromptState(script=f"{NEVER}say: Never.\n", reach=_waiting),
    "being answered": PromptState(script=f"say: One.\n{NEVER}say: Two.\n", reach=_streaming),
    "in a tool": PromptState(
        script=f"tool: mcp__small__wait {json.dumps({'path': 'FOLDER/begun'})}\n", reach=_in_a_tool
    ),
    "at a permission question": PromptState(
        script=f"tool: read_file {json.dumps({'path': '/etc/hostname'})}\n", reach=_at_a_question
    ),
    "at a form": PromptState(script='tool: ask_user {"question": "Which one?"}\n', reach=_at_a_form),
    "waiting for a compaction": PromptState(script=f"{_SUMMARY}\n", reach=_compacting_before, is_long=True),
    "`/compact`": PromptState(script=f"{_SUMMARY}\n", reach=_compacting, is_long=True),
}


def next_rig(folder: Path, rig: CancelRig) -> CancelRig:
    """Returns a rig with the store and the session of another that has hung up. Its model answers the next prompt."""
    again = CancelRig(folder, replace(rig.state, script="for: summary\nsay: Nothing.\n"), rig.asks)
    again.session_id = rig.session_id
    return again


def _said(block: Any) -> str:
    match block["type"]:
        case "text":
            other = "the other" if block["text"] == _OTHER else "what was answered"
            return "the prompt" if block["text"].startswith("Hello") else other
        case "tool_use":
            return "the call"
        case "tool_result":
            return f"its result: {block['content'][0]['text']}"
        case kind:
            return f"a {kind}"


COLUMNS = [column(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)]
TABLE = CancelTable(mark="cancelled in the agent", states=tuple(AGENT_STATES), columns=(*COLUMNS, RECORDED))


@asynccontextmanager
async def reached(folder: Path, state: PromptState, version: int) -> AsyncGenerator[tuple[CancelRig, int]]:
    """Yields a rig with a prompt in this state, and the id of the request. In the end nothing is at work."""
    rig = CancelRig(folder, state, version)
    await rig.open()
    yield rig, await state.reach(rig)
    await rig.hang_up()
    assert rig.faults == []


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("way", [BY_SESSION, BY_REQUEST])
@pytest.mark.parametrize("name", AGENT_STATES)
async def test_a_cancelled_prompt_ends_as_the_table_says_and_the_next_is_answered(
    name: str, way: str, version: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    async with reached(tmp_path, AGENT_STATES[name], version) as (rig, asked):
        rig.cancel(way, asked)
        cells = {column(way, version): await rig.outcome(way, asked), RECORDED: await rig.recorded()}
        assert await rig.is_whole()
        told = rig.updates("tool_call", "tool_call_update")
        calls = {update["toolCallId"]: update["status"] for update in told if "status" in update}
        assert set(calls.values()) <= {"failed"}
        rig.sent.clear()
        await rig.prompt(rig.session_id, "next")
        await rig.until(lambda _: rig.text().endswith("Next."))
    if request.config.getoption("--update-golden"):
        TABLE.write(name, cells)
    assert cells.items() <= TABLE.read()[name].items()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", AGENT_STATES)
async def test_a_client_that_leaves_finds_the_same_recorded_and_can_continue(
    name: str, version: int, tmp_path: Path
) -> None:
    async with reached(tmp_path, AGENT_STATES[name], version) as (rig, _):
        await rig.connection.drain(1)
        assert rig.connection.unfinished() == 0
    again = next_rig(tmp_path, rig)
    await again.resume()
    assert await again.recorded() == TABLE.read()[name][RECORDED]
    await again.prompt(rig.session_id, "next")
    await again.until(lambda _: again.text().endswith("Next."))
    await again.hang_up()


@pytest.mark.parametrize("version", [1, 2])
async def test_cancelling_stops_a_compaction_after_the_answer(version: int, tmp_path: Path) -> None:
    state = AGENT_STATES["waiting for a compaction"]
    after = PromptState(script=f"say: One. {'more ' * 500}\n---\n{state.script}", reach=_answered, is_long=True)
    async with reached(tmp_path, after, version) as (rig, _):
        await rig.update(rig.session_id, "compaction_update")
        rig.notify("session/cancel", sessionId=rig.session_id)
        await rig.until(lambda _: rig.updates("compaction_update")[-1]["status"] == "cancelled")
        assert await rig.recorded() == "the prompt, what was answered"
        assert await rig.is_whole()


async def _answered(rig: CancelRig) -> int:
    asked = rig.begins("Hello")
    await rig.answer(asked)
    return asked
