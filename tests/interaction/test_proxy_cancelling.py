"""A prompt behind the proxy that is cancelled, in every state and in every way: what the client gets and what is
recorded is what the table in the documents says, and the next prompt reaches the agent's session."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from msgspec import Struct

from support.acp_end import Json
from support.documents import BY_REQUEST, BY_SESSION, RECORDED, CancelTable, column
from support.lsp_client import RpcFailure
from support.proxy_play import ID, Play, playing
from support.systems import needs_unix_sockets
from ullage.model.message import TextBlock

_CANCELLED = -32800
_PROMPTS = ("Hello", "/compact")
_OWN_COMMAND = {"name": "compact", "description": "Compacts"}
_ANSWER = "In the cellar. " * 10
_FULL = 7_900
pytestmark = needs_unix_sockets
COLUMNS = [column(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)]


class Proxied:
    """A client and an agent in one version of the protocol, with the proxy between them and a conversation of one turn.
    The agent lets a cancelled turn end as the protocol says."""

    def __init__(self, play: Play, version: int) -> None:
        self.play, self.client, self.agent = play, play.client, play.agent
        self.version = self.client.version = self.agent.version = version
        self._asked = 0

    async def open(self, *, compacts: bool, used: int) -> None:
        """Opens the session and runs a turn, after which the context has `used` tokens of 8,000. With `compacts` the
        agent has a compacting command of its own."""
        await self._greet()
        opening = self.client.start("session/new", cwd="/work", mcpServers=[])
        self.agent.answers(await self.agent.gets("session/new"), sessionId=ID)
        await self.client.answer(opening)
        if compacts:
            kind = {} if self.version == 1 else {"type": "command"}
            commands = [{**kind, **_OWN_COMMAND}]
            self.agent.updates(ID, sessionUpdate="available_commands_update", availableCommands=commands)
        asked = self.play.prompts("Where is the cask?")
        request = await self.begun()
        self.says(_ANSWER)
        self.agent.reports(ID, used)
        self.ends(request)
        await self.answer(asked)
        await self.client.until(lambda _: self.version == 1 or bool(self.client.ends()))
        await self.client.record()

    async def reopen(self) -> None:
        """Opens the session again, in a proxy and an agent that have not had it open."""
        await self._greet()
        if self.version == 1:
            opening = self.play.loads()
        else:
            opening = self.client.start("session/resume", sessionId=ID, cwd="/work", mcpServers=[])
        self.agent.answers(await self.agent.gets_next())
        await self.client.answer(opening)
        # Otherwise a full context would be compacted before the next prompt.
        self.agent.reports(ID, 500)
        await self.client.until(lambda message: "usage_update" in str(message))

    async def begun(self) -> Json:
        """Returns the next prompt that the agent gets, which it has begun to work on."""
        request = await self.agent.gets("session/prompt")
        if self.version != 1:
            self._asked += 1
            message_id, session_id = f"u{self._asked}", request["params"]["sessionId"]
            shown = {"messageId": message_id, "content": request["params"]["prompt"]}
            self.agent.updates(session_id, sessionUpdate="user_message", **shown)
            self.agent.answers(request, messageId=message_id)
            self.agent.updates(session_id, sessionUpdate="state_update", state="running")
        return request

    def says(self, text: str, session_id: str = ID) -> None:
        self._asked += 1
        chunk = {"messageId": f"a{self._asked}", "content": {"type": "text", "text": text}}
        self.agent.updates(session_id, sessionUpdate="agent_message_chunk", **chunk)

    def ends(self, request: Json, reason: str = "end_turn") -> None:
        """Lets the turn of a prompt end."""
        if self.version == 1:
            self.agent.answers(request, stopReason=reason)
        else:
            session_id = request["params"]["sessionId"]
            self.agent.updates(session_id, sessionUpdate="state_update", state="idle", stopReason=reason)

    def cancel(self, way: str, asked: int) -> None:
        """Cancels the prompt of this request in one of the ways of the table."""
        if way == BY_SESSION:
            self.client.send({"method": "session/cancel", "params": {"sessionId": ID}})
        else:
            self.client.send({"method": "$/cancel_request", "params": {"requestId": asked}})

    async def answer(self, asked: int) -> str:
        """Returns the answer to a prompt: the stop reason, the code of an error, or "" if it is in the transcript."""
        try:
            result = await self.client.answer(asked)
        except RpcFailure as failure:
            return f"`{failure.code}`"
        return f"`{result['stopReason']}`" if "stopReason" in result else ""

    async def outcome(self, way: str, reached: "Reached") -> str:
        """Returns what the client gets after a prompt was cancelled: the answer, and in version 2 the end of the turn.
        In the end the agent has no prompt."""
        known = len(self.client.ends())
        self.cancel(way, reached.asked)
        if reached.is_forwarded and way == BY_REQUEST:
            await self.agent.gets("$/cancel_request")
            if self.version == 1:
                self.agent.refuses(reached.work, _CANCELLED)
        elif reached.is_first or way == BY_SESSION:
            await self._end_work(reached)
        answered = await self.answer(reached.asked)
        continues = way == BY_REQUEST and (not reached.is_first or (reached.is_forwarded and self.version > 1))
        if continues:
            self.cancel(BY_SESSION, reached.asked)
            await self._end_work(reached)
        ended = f"idle, `{await self._ended(known)}`" if self.version > 1 else ""
        return (answered or "continues") if continues else ", ".join(filter(None, (answered, ended)))

    async def recorded(self) -> str:
        """Returns what is recorded of the prompt, in words, and asserts that nothing was compacted."""
        transcript = (await self.client.record()).open(ID).transcript
        assert len(transcript.view) == len(transcript.items)
        texts = ["".join(b.text for b in item.message.content if isinstance(b, TextBlock)) for item in transcript.items]
        return ", ".join("the prompt" if text in _PROMPTS else "what was answered" for text in texts[2:]) or "nothing"

    async def runs_next(self, *, is_lost: bool = False) -> None:
        """Runs the next prompt in the agent's session. `is_lost` says that the agent must open the session before."""
        known, asked = len(self.client.ends()), self.play.prompts("next")
        if is_lost:
            self.agent.answers(await self.agent.gets_next())
        request = await self.begun()
        assert request["params"]["sessionId"] == ID
        assert request["params"]["prompt"][-1]["text"] == "next"
        self.says("Next.")
        self.ends(request)
        await self.answer(asked)
        if self.version > 1:
            assert await self._ended(known) == "end_turn"

    async def _end_work(self, reached: "Reached") -> None:
        if reached.is_turn:
            await self.agent.gets("session/cancel")
            self.ends(reached.work, "cancelled")

    async def _ended(self, known: int) -> str:
        await self.client.until(lambda _: len(self.client.ends()) > known)
        return self.client.ends()[-1]["stopReason"]

    async def _greet(self) -> None:
        if self.version == 1:
            self.agent.abilities = {"loadSession": True, "sessionCapabilities": {}}
            greeting = self.client.start("initialize", protocolVersion=1, clientCapabilities={})
        else:
            self.agent.abilities = {"prompt": {}, "mcp": {"stdio": {}}}
            greeting = self.client.start("initialize", protocolVersion=2, info={"name": "c", "version": "1"})
        self.client.start("_test/early")
        await self.agent.gets("_test/early")
        await self.client.answer(greeting)


class Reached(Struct, frozen=True, kw_only=True):
    """A prompt in one of the states.

    - `asked`: the id of the client's request.
    - `work`: the last request that the agent got.
    - `is_turn`: whether that is a prompt, which the agent ends if it is cancelled.
    - `is_forwarded`: whether it is the client's prompt.
    - `is_first`: whether no other prompt of the client's is at work.
    """

    asked: int
    work: Json
    is_turn: bool = True
    is_forwarded: bool = False
    is_first: bool = True


class ProxiedState(Struct, frozen=True, kw_only=True):
    """A state of a prompt. `reach` sends the prompt and returns once it is in that state. `compacts` and `used` are
    those of `Proxied.open`. `is_lost` says that the agent has not opened the session."""

    reach: Callable[[Proxied], Awaitable[Reached]]
    compacts: bool = False
    used: int = 2_000
    is_lost: bool = False


async def _at_work(proxied: Proxied) -> Reached:
    asked = proxied.play.prompts("Hello")
    work = await proxied.begun()
    proxied.says("One.")
    await proxied.client.until(lambda message: "One." in str(message))
    return Reached(asked=asked, work=work, is_forwarded=True)


async def _handing_over(proxied: Proxied) -> Reached:
    asked = proxied.play.prompts("/compact")
    return Reached(asked=asked, work=await proxied.begun())


async def _moving(proxied: Proxied) -> Reached:
    asked = proxied.play.prompts("/compact")
    proxied.ends(await _summarized(proxied))
    return Reached(asked=asked, work=await proxied.agent.gets("session/new"), is_turn=False)


async def _summarized(proxied: Proxied) -> Json:
    request = await proxied.begun()
    proxied.says("SUMMARY: the cask is in the cellar.")
    return request


async def _queued(proxied: Proxied) -> Reached:
    before = await _handing_over(proxied)
    return Reached(asked=proxied.play.prompts("Hello"), work=before.work, is_first=False)


async def _waiting(proxied: Proxied) -> Reached:
    asked = proxied.play.prompts("Hello")
    return Reached(asked=asked, work=await proxied.begun())


async def _own_command(proxied: Proxied) -> Reached:
    asked = proxied.play.prompts("/compact")
    return Reached(asked=asked, work=await proxied.begun(), is_forwarded=True)


async def _reopening(proxied: Proxied) -> Reached:
    await proxied.play.lose()
    asked = proxied.play.prompts("Hello")
    return Reached(asked=asked, work=await proxied.agent.gets_next(), is_turn=False)


PROXIED_STATES = {
    "at work in the agent": ProxiedState(reach=_at_work),
    "`/compact`, by the agent's own command": ProxiedState(reach=_own_command, compacts=True),
    "`/compact`, while the summary is written": ProxiedState(reach=_handing_over),
    "`/compact`, while the fresh session is opened": ProxiedState(reach=_moving),
    "queued behind a handover": ProxiedState(reach=_queued),
    "waiting for a handover": ProxiedState(reach=_waiting, used=_FULL),
    "waiting for the agent's own compaction": ProxiedState(reach=_waiting, used=_FULL, compacts=True),
    "waiting until the session is open again": ProxiedState(reach=_reopening, is_lost=True),
}


@asynccontextmanager
async def proxied(
    folder: Path, monkeypatch: pytest.MonkeyPatch, version: int, state: ProxiedState
) -> AsyncGenerator[tuple[Proxied, Reached]]:
    """Yields a proxied conversation with a prompt in this state."""
    async with playing(folder, monkeypatch) as play:
        found = Proxied(play, version)
        await found.open(compacts=state.compacts, used=state.used)
        yield found, await state.reach(found)


TABLE = CancelTable(mark="cancelled behind the proxy", states=tuple(PROXIED_STATES), columns=(*COLUMNS, RECORDED))

Opens = Callable[[int, ProxiedState], AbstractAsyncContextManager[tuple[Proxied, Reached]]]


@pytest.fixture
def opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opens:
    return partial(proxied, tmp_path, monkeypatch)


@pytest.mark.parametrize(("way", "version"), [(way, version) for version in (1, 2) for way in (BY_SESSION, BY_REQUEST)])
@pytest.mark.parametrize("name", PROXIED_STATES)
async def test_a_cancelled_prompt_ends_as_the_table_says_and_the_next_reaches_the_agent(
    name: str, way: str, version: int, opens: Opens, request: pytest.FixtureRequest
) -> None:
    state = PROXIED_STATES[name]
    async with opens(version, state) as (found, reached):
        cells = {column(way, version): await found.outcome(way, reached), RECORDED: await found.recorded()}
        if not reached.is_turn:
            # The agent's answer comes too late.
            found.agent.answers(reached.work, sessionId="late")
        await found.runs_next(is_lost=state.is_lost)
    if request.config.getoption("--update-golden"):
        TABLE.write(name, cells)
    assert cells.items() <= TABLE.read()[name].items()


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("name", PROXIED_STATES)
async def test_a_client_that_leaves_finds_the_same_recorded_and_can_continue(
    name: str, version: int, opens: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In most states the agent never ends the prompt, and the proxy waits for it in vain.
    monkeypatch.setattr("ullage.proxy.session._PATIENCE", 1.0)
    async with opens(version, PROXIED_STATES[name]):
        pass
    async with playing(tmp_path, monkeypatch) as play:
        again = Proxied(play, version)
        await again.reopen()
        assert await again.recorded() == TABLE.read()[name][RECORDED]
        await again.runs_next()
