"""The states in which a prompt to Ullage's own agent can be cancelled, each reached by a script of the model's."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from support.cancel_table import BY_REQUEST, BY_SESSION
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
