"""Whatever raises leaves the log and the context as they were: every method, with each of its steps made to fail.

A row plays one use of a method. Its steps are the calls of the store and of the token counter, the pieces of a summary
and of an answer, and the places where the request may be cancelled. After a failure the store holds what it held, but
for events that the row names with the reason, an open conversation is what its log says, and the request succeeds when
it comes again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from support.coding_session import SYSTEM, TOOLS, answer, first_turn, thinking_turn, user
from support.example_agents import KnownContinuing, KnownWiring
from support.example_following import KnownFollowing
from support.example_team import WHOLE, SharedPassages
from support.faults import Faults, FaultyCounter, FaultyStore, Held
from support.workspace import (
    LARGE_MODEL,
    PATIENCE,
    SMALL_MODEL,
    CountingIds,
    Live,
    OneFile,
    PacedSummarizer,
    ScriptedCommands,
    TestClient,
    build_test_client,
    play,
)
from ullage.api.methods import METHODS
from ullage.app.serving_mcp import ConversationTools
from ullage.model.errors import CompactionVetoed, ProviderUnavailable, StoreUnavailable, UllageError
from ullage.model.events import ContextEdited, Event, MessageAppended, SessionRenamed, ToolsDeclared, UsageReported
from ullage.model.settings import ContextSettings, HookSettings, Settings
from ullage.service.ports.models import CommandOutcome
from ullage.service.summaries.by_model import OfflineSummarizer

Prepare = Callable[[TestClient], Awaitable[dict[str, Any]]]
TRANSCRIPT = '[{"role":"user","content":"Rename the flag."},{"role":"assistant","content":"Done."}]'
# A turn that uses a tool, and answers for when it comes again.
_ANSWERS = (
    'think: Hm.\nsay: Let me see.\ntool: read_file {"path": "units.py"}\nusage: 900 40',
    "say: It rounds down.\nusage: 990 9",
    *["say: It does.\nusage: 995 9"] * 4,
)
_SAID = (MessageAppended, SessionRenamed, ToolsDeclared, UsageReported)
_OF_A_TURN = "what was said is said: the prompt was taken, and what the model wrote and the tools returned was shown"
_OWN = {"mode": "sliding_window", "strategies": [{"type": "sliding_window", "maxMessages": 40}]}
MORE = [answer("It is sound.", id="m1"), user("Thanks.", id="m2")]
USAGE = {"prompt_tokens": 400, "completion_tokens": 12}
# No row has more steps.
_MOST_STEPS = 400
# Turns of the event loop. A busy machine makes a thread last for many.
_MOST_TURNS = 1_000_000
# For a session that was compacted. A method that is not named here takes nothing that could be found wrong late.
_UNKNOWN = {"sessionId": "s_none"}


class Row(Struct, frozen=True, kw_only=True):
    """One use of a method. `prepare` makes what it needs and returns its params. `keeps` are events that stay although
    the request failed, and `why`."""

    method: str
    prepare: Prepare
    what: str = ""
    keeps: tuple[type[Event], ...] = ()
    why: str = ""
    live: Callable[[], Live] = Live

    @property
    def name(self) -> str:
        """What pytest calls the row."""
        return f"{self.method} {self.what}".strip()


async def talk(client: TestClient, model: str = LARGE_MODEL, turns: int = 4) -> str:
    """Makes a session with a system prompt, tools, some turns and a pin."""
    new = await client.call("session/new", cwd="/home/ada/weather", model=model, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    messages = [*first_turn(), *(one for number in range(1, turns) for one in thinking_turn(number))]
    added = await client.call("session/append", sessionId=session_id, messages=messages)
    await client.call("context/pin", sessionId=session_id, messageId=added["messageIds"][2])
    return session_id


async def compacted(client: TestClient) -> str:
    """Makes a session that was compacted."""
    session_id = await talk(client)
    await client.call("context/compact", sessionId=session_id)
    await client.say(session_id, "And now?", "Now the cache.")
    return session_id


async def beside_an_empty_one(client: TestClient) -> str:
    session_id = await compacted(client)
    await client.call("session/new", model=LARGE_MODEL)
    return session_id


def session(make: Callable[[TestClient], Awaitable[str]] = talk, **params: Any) -> Prepare:
    """Returns how a row that names one session is prepared."""

    async def prepare(client: TestClient) -> dict[str, Any]:
        return {"sessionId": await make(client), **params}

    return prepare


def plain(**params: Any) -> Prepare:
    """Returns how a row without a session is prepared. There is one nevertheless."""

    async def prepare(client: TestClient) -> dict[str, Any]:
        await talk(client)
        return params

    return prepare


async def _message(client: TestClient, session_id: str, at: int) -> str:
    return (await client.entries(session_id))[at]["message"]["id"]


async def _in_the_middle(client: TestClient) -> dict[str, Any]:
    session_id = await talk(client)
    return {"sessionId": session_id, "messageId": await _message(client, session_id, 4)}


async def _stretch(client: TestClient) -> dict[str, Any]:
    session_id = await talk(client)
    ends = {"from": await _message(client, session_id, 5), "upTo": await _message(client, session_id, 8)}
    return {"sessionId": session_id, **ends}


async def _previewed(client: TestClient) -> dict[str, Any]:
    session_id = await talk(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    return {"sessionId": session_id, "previewId": preview["previewId"]}


async def _undone(client: TestClient) -> dict[str, Any]:
    session_id = await compacted(client)
    edit = (await client.call("context/history", sessionId=session_id))["edits"][0]["id"]
    await client.call("context/undo", sessionId=session_id)
    return {"sessionId": session_id, "editId": edit}


async def _near_the_warning(client: TestClient) -> dict[str, Any]:
    session_id = await talk(client, SMALL_MODEL, 7)
    return {"sessionId": session_id, "messages": [user("Go on. " * 500, id="near")]}


async def overfull(client: TestClient) -> dict[str, Any]:
    return {"sessionId": await talk(client, SMALL_MODEL, 14), "prompt": says("Why?")}


async def _grown(client: TestClient) -> dict[str, Any]:
    text = '[{"role":"user","content":"Rename the flag.","id":"a"}]'
    await client.call("session/import", text=text)
    return {"text": TRANSCRIPT}


async def _wired(client: TestClient) -> dict[str, Any]:
    client.workspace.wiring = KnownWiring()
    await talk(client)
    return {}


async def _continuing(client: TestClient) -> dict[str, Any]:
    client.workspace.continuing = KnownContinuing()
    return {"sessionId": await talk(client)}


async def _planned(client: TestClient) -> dict[str, Any]:
    params = await _continuing(client)
    return {"previewId": (await client.call("continuing/preview", **params))["previewId"]}


async def _following(client: TestClient) -> dict[str, Any]:
    client.workspace.following = KnownFollowing()
    await talk(client)
    return {}


async def _keeping(client: TestClient) -> dict[str, Any]:
    return {**await _following(client), "keep": True}


async def _looking(client: TestClient) -> dict[str, Any]:
    client.workspace.looks_up = ConversationTools(client.workspace)
    return {"sessionId": await talk(client), "tool": "search", "arguments": {"query": "units.py"}}


def _team(**params: Any) -> Prepare:
    async def prepare(client: TestClient) -> dict[str, Any]:
        client.workspace.team = SharedPassages()
        await talk(client)
        return params

    return prepare


def _tools() -> Live:
    return play("\n---\n".join(_ANSWERS), OneFile("units.py", "def to_kelvin(celsius): ..."))


def says(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


ROWS = (
    Row(
        method="session/new",
        prepare=plain(cwd="/home/ada", model=LARGE_MODEL, system=SYSTEM, tools=TOOLS, context=_OWN, title="New"),
    ),
    Row(method="session/configure", prepare=session(context=_OWN)),
    Row(method="session/load", prepare=session()),
    Row(method="session/list", prepare=plain()),
    Row(method="session/fork", prepare=session(compacted)),
    Row(method="session/fork", what="in the middle", prepare=_in_the_middle),
    Row(method="session/close", prepare=session()),
    Row(method="session/rename", prepare=session(title="Frost")),
    Row(method="session/delete", prepare=session()),
    Row(method="session/prompt", prepare=session(prompt=says("Why?")), keeps=_SAID, why=_OF_A_TURN, live=_tools),
    Row(method="session/prompt", what="/compact", prepare=session(prompt=says("/compact"))),
    Row(method="session/prompt", what="/undo", prepare=session(compacted, prompt=says("/undo"))),
    Row(method="session/append", prepare=session(messages=MORE, usage=USAGE, model=SMALL_MODEL, tools=TOOLS[:1])),
    Row(method="session/append", what="over the warning", prepare=_near_the_warning),
    Row(method="session/import", prepare=plain(text=TRANSCRIPT)),
    Row(method="session/import", what="grown", prepare=_grown),
    Row(method="session/export", prepare=session()),
    Row(method="session/cancel", prepare=session()),
    Row(method="models/offer", prepare=plain(editor="Code", models=[])),
    Row(method="models/piece", prepare=plain(requestId="r", text="t")),
    Row(method="transcripts/list", prepare=plain()),
    Row(method="following/start", prepare=_following),
    Row(method="following/stop", prepare=_following),
    Row(method="following/list", prepare=_following),
    Row(method="following/keep", prepare=_keeping),
    Row(method="agents/wire", prepare=_wired),
    Row(method="agents/unwire", prepare=_wired),
    Row(method="continuing/choices", prepare=_continuing),
    Row(method="continuing/preview", prepare=_continuing),
    Row(method="continuing/write", prepare=_planned),
    Row(method="context/get", prepare=session()),
    Row(method="context/messages", prepare=session(compacted, provider="anthropic")),
    Row(method="context/compact", prepare=session(focus="the rounding")),
    Row(method="context/compact", what="a stretch", prepare=_stretch),
    Row(method="context/compact", what="again", prepare=session(compacted)),
    Row(method="context/compact", what="previewed", prepare=session(dryRun=True)),
    Row(method="context/commit", prepare=_previewed),
    Row(method="context/undo", prepare=session(compacted)),
    Row(method="context/undo", what="previewed", prepare=session(compacted, dryRun=True)),
    Row(method="context/restore", prepare=_undone),
    Row(method="context/pin", prepare=_in_the_middle),
    Row(method="context/search", prepare=session(query="units.py")),
    Row(method="context/history", prepare=session(compacted)),
    Row(method="context/lookUp", prepare=_looking),
    Row(method="context/lost", prepare=session(compacted)),
    Row(method="context/givenBack", prepare=session()),
    Row(method="team/search", prepare=_team(query="port")),
    Row(method="team/open", prepare=_team(sessionId=WHOLE.session_id, index=WHOLE.index)),
)


class World:
    """A client whose store and counter can be made to fail, with what a row needs."""

    def __init__(self, row: Row, **parts: Any) -> None:
        self.row = row
        self.in_store, self.in_counter = Faults(), Faults()
        self.store = FaultyStore(self.in_store)
        self.client = build_test_client(store=self.store.as_store, live=row.live(), **parts)
        self.client.workspace.own_counter = FaultyCounter(self.in_counter).as_counter
        self.params: dict[str, Any] = {}
        self.before = Held({})

    async def prepare(self) -> None:
        self.params = await self.row.prepare(self.client)
        await self._rest()
        self.before = Held.by(self.store.inner)

    async def prepare_offline(self) -> None:
        """Prepares with summaries composed by code, whatever writes them later."""
        ports = self.client.workspace.ports
        self.client.workspace.ports = replace(ports, summarizer=OfflineSummarizer())
        await self.prepare()
        self.client.workspace.ports = ports

    async def call(self) -> Any:
        return await self.client.call(self.row.method, **self.params)

    async def check(self, *, refused: bool) -> None:
        """Fails unless the store holds what it held before, if the call was refused, and what is open is what its log
        says."""
        self.in_store.disarm()
        self.in_counter.disarm()
        await self._rest()
        held = Held.by(self.store.inner)
        # What a deletion left in files is overwritten after it. A cancellation then comes too late: the server answers
        # that the session is deleted, but the client of these tests has gone.
        is_late = self.row.method == "session/delete" and self.params["sessionId"] not in held.logs
        if refused and not is_late:
            assert self._without_kept(held) == self.before, self.in_store.fired or self.in_counter.fired
        fresh = build_test_client(store=self.store.inner, ids=CountingIds())
        for conversation in self.client.workspace.conversations:
            again = fresh.workspace.open(conversation.id).transcript
            assert conversation.transcript.state == again.state

    def _without_kept(self, held: Held) -> Held:
        logs = {
            session_id: (
                *log[: len(self.before.logs.get(session_id, ()))],
                *(
                    record
                    for record in log[len(self.before.logs.get(session_id, ())) :]
                    if not isinstance(record.event, self.row.keeps)
                ),
            )
            for session_id, log in held.logs.items()
        }
        return Held(logs)

    async def _rest(self) -> None:
        for conversation in self.client.workspace.conversations:
            await conversation.settled()


async def built(row: Row, **parts: Any) -> World:
    world = World(row, **parts)
    await world.prepare()
    return world


rows = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def test_every_method_has_a_row() -> None:
    assert {row.method for row in ROWS} == {method.name for method in METHODS}
    assert all(bool(row.keeps) == bool(row.why) for row in ROWS)


@pytest.mark.no_cover
@rows
@pytest.mark.parametrize("stays", [False, True], ids=["once", "from then on"])
async def test_a_store_that_fails_at_any_call_leaves_all_as_it_was(row: Row, *, stays: bool) -> None:
    for step in range(1, _MOST_STEPS):
        world = await built(row)
        world.in_store.arm(step, stays=stays)
        try:
            await world.call()
        except StoreUnavailable:
            await world.check(refused=True)
            await world.call()
        else:
            await world.check(refused=False)
        if not world.in_store.fired:
            return
    pytest.fail("the row has more steps")


@pytest.mark.no_cover
@rows
async def test_a_counter_that_fails_at_any_call_leaves_all_as_it_was(row: Row) -> None:
    step = 1
    while True:
        world = await built(row)
        world.in_counter.arm(step)
        try:
            await world.call()
        except ArithmeticError:
            await world.check(refused=True)
            await world.call()
        else:
            await world.check(refused=False)
        if not world.in_counter.fired:
            return
        # Every call at first, and then ever fewer of what is counted again and again.
        step += 1 + step // 12


@pytest.mark.no_cover
@rows
async def test_a_request_that_is_cancelled_anywhere_leaves_all_as_it_was(row: Row) -> None:
    step = 0
    while step < _MOST_TURNS:
        world = await built(row)
        calling = asyncio.ensure_future(world.call())
        for _ in range(step):
            await asyncio.sleep(0)
        ended = calling.done()
        calling.cancel()
        refused = False
        async with asyncio.timeout(PATIENCE):
            try:
                await calling
            except asyncio.CancelledError:
                refused = True
        await world.check(refused=refused)
        if ended:
            return
        # Every turn of the loop at first, and then ever fewer of those in which a thread is waited for.
        step += 1 + step // 64
    pytest.fail("the row has more steps")


SUMMARIZED = [row for row in ROWS if row.method == "context/compact" or row.what == "/compact"]


@pytest.mark.parametrize("row", SUMMARIZED, ids=lambda row: row.name)
@pytest.mark.parametrize("written", range(4))
async def test_a_summary_that_fails_or_is_cancelled_after_any_piece_changes_nothing(row: Row, written: int) -> None:
    for fault in (ProviderUnavailable("overloaded"), None):
        writer = PacedSummarizer(["It rounds. "] * (written if fault else written + 1), fault)
        world = World(row, summarizer=writer)
        await world.prepare_offline()
        writer.started.clear()
        calling = asyncio.ensure_future(world.call())
        async with asyncio.timeout(PATIENCE):
            await writer.started.wait()
            writer.release(written)
            if fault is None:
                await asyncio.sleep(0)
                calling.cancel()
            with pytest.raises(asyncio.CancelledError if fault is None else ProviderUnavailable):
                await calling
        await world.check(refused=True)


@pytest.mark.parametrize("row", SUMMARIZED, ids=lambda row: row.name)
async def test_a_hook_that_refuses_changes_nothing(row: Row) -> None:
    commands = ScriptedCommands()
    world = await built(row, commands=commands)
    world.client.workspace.configure(Settings(hooks=HookSettings(pre_compact=("ask",))))
    commands.outcomes["ask"] = CommandOutcome(status=2, err="Not now.")
    with pytest.raises(CompactionVetoed):
        await world.call()
    await world.check(refused=True)


INVALID: dict[str, list[dict[str, Any]]] = {
    "session/new": [{"context": {"warnAt": 3}}, {"context": {"mode": "none"}, "system": "Be brief."}],
    "session/configure": [_UNKNOWN, {"context": {"warnAt": 3}}, {"context": {"strategies": [{"type": "none"}]}}],
    "session/fork": [_UNKNOWN, {"messageId": "m_none"}],
    "session/rename": [{**_UNKNOWN, "title": "T"}, {"title": " \n "}],
    "session/delete": [_UNKNOWN],
    "session/prompt": [
        {**_UNKNOWN, "prompt": says("Why?")},
        {"prompt": says("Why?")},
        {"prompt": []},
        {"prompt": [{"type": "none"}]},
        {"prompt": says("/undo e_none")},
    ],
    "session/append": [
        {**_UNKNOWN, "messages": MORE},
        {"model": SMALL_MODEL, "messages": [*MORE, {"role": "none", "content": "x"}]},
        {"model": SMALL_MODEL, "messages": [*MORE, user("Other.", id="m1")]},
        # No answer is there that the usage could belong to.
        {"sessionId": "s_2", "model": SMALL_MODEL, "tools": TOOLS[:1], "messages": MORE[1:], "usage": USAGE},
        {"tools": [{"name": 3}], "messages": MORE},
    ],
    "session/import": [
        {},
        {"text": ""},
        {"text": "no transcript"},
        {"text": TRANSCRIPT[:60]},
        {"text": TRANSCRIPT, "format": "none"},
        {"path": "/none/none.jsonl"},
    ],
    "context/compact": [
        _UNKNOWN,
        {"from": "m_none"},
        {"upTo": "m_none", "dryRun": True},
        {"from": "m_15", "upTo": "m_14"},
    ],
    "context/commit": [{**_UNKNOWN, "previewId": "e"}, {"previewId": "e_none"}],
    "context/undo": [_UNKNOWN, {"editId": "e_none"}, {"editId": "e_none", "dryRun": True}],
    "context/restore": [
        {**_UNKNOWN, "position": 1},
        {},
        {"editId": "e_none"},
        {"messageId": "m_none"},
        {"timestamp": "yesterday"},
        {"position": 1, "editId": "e_none"},
    ],
    "context/pin": [{**_UNKNOWN, "messageId": "m_1"}, {"messageId": "m_none"}],
}


@pytest.mark.parametrize(("method", "wrong"), [(method, wrong) for method in INVALID for wrong in INVALID[method]])
async def test_what_is_found_wrong_changes_nothing(method: str, wrong: dict[str, Any]) -> None:
    world = await built(Row(method=method, prepare=session(beside_an_empty_one)))
    params = wrong if method in ("session/new", "session/import") else {**world.params, **wrong}
    with pytest.raises(UllageError):
        await world.client.call(method, **params)
    await world.check(refused=True)


@pytest.mark.parametrize("fails", ["too_long", "authentication", "unavailable", "rate_limited 0"])
async def test_a_prompt_that_is_never_answered_adds_the_prompt_and_cuts_nothing(fails: str) -> None:
    row = Row(method="session/prompt", prepare=overfull, live=lambda: play("\n---\n".join([f"fail: {fails}"] * 40)))
    world = await built(row, settings=Settings(context=ContextSettings(enabled=False)))
    for _ in range(3):
        with pytest.raises(UllageError):
            await world.call()
    (conversation,) = world.client.workspace.conversations
    new = world.store.inner.read(conversation.id)[len(world.before.logs[conversation.id]) :]
    assert [type(record.event) for record in new] == [MessageAppended]
    assert conversation.transcript.view[-1].text == "Why?"


async def test_what_was_cut_for_a_prompt_is_recorded_with_its_answer() -> None:
    row = Row(
        method="session/prompt", prepare=overfull, live=lambda: play("fail: too_long\n---\nsay: So.\nusage: 900 4")
    )
    world = await built(row, settings=Settings(context=ContextSettings(enabled=False)))
    await world.call()
    (conversation,) = world.client.workspace.conversations
    new = world.store.inner.read(conversation.id)[len(world.before.logs[conversation.id]) :]
    prompted, *cut, said, usage = [type(record.event) for record in new]
    assert (prompted, said, usage) == (MessageAppended, MessageAppended, UsageReported)
    assert set(cut) == {ContextEdited}
    assert conversation.used == 904
    await world.check(refused=False)
