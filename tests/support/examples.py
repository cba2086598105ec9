"""One real message of every kind, from a scripted run of the method table: the content of `protocol/examples/`.

`record_examples()` plays the same conversation every time, so the same code gives the same bytes.
"""

import asyncio
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import aclosing, closing
from pathlib import Path
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from support.coding_session import SYSTEM, TOOLS, first_turn, reading_turn, thinking_turn, user
from support.example_agents import change_agents
from support.example_following import follow
from support.example_messages import Examples
from support.example_settings import PROJECT, other_settings
from support.example_team import search_team
from support.memory_store import MemoryStore
from support.workspace import (
    LARGE_MODEL,
    PATIENCE,
    SMALL_MODEL,
    START,
    KnownConversations,
    Live,
    NoProviders,
    OneFile,
    PacedSummarizer,
    ScriptedCommands,
    TestClient,
    as_json,
    build_test_client,
    play,
)
from ullage.agents.discovery import Discovery, Found, UnreadFile
from ullage.api.client_requests import ClientModels
from ullage.api.protocol import COMPLETE, COUNT, REQUEST_PERMISSION, ClientAbilities
from ullage.app.serving_mcp import ConversationTools
from ullage.model import words
from ullage.model.answer import (
    CompleteParams,
    CompleteResult,
    CompletionFault,
    CountResult,
    Purpose,
    SpokenMessage,
    SpokenRole,
)
from ullage.model.errors import (
    AgentError,
    Cancelled,
    CannotFit,
    ConcurrentAppend,
    NotFound,
    ProviderError,
    SdkMissing,
    StoreUnavailable,
    UllageError,
)
from ullage.model.events import ContextEdited, Record
from ullage.model.settings import HookSettings, Settings, SummarySettings
from ullage.model.updates import (
    PermissionAnswer,
    PermissionOutcome,
    PermissionOutcomeKind,
    RequestPermissionResult,
    ToolCall,
    ask_for,
    read_answer,
)
from ullage.service.compact.by_hand import fit_budget
from ullage.service.ports.models import CommandOutcome
from ullage.store.sqlite.database import VERSION
from ullage.store.sqlite.sqlite_store import open_store

FOUND = Discovery(
    conversations=(
        Found(
            path="/home/ada/.claude/projects/-home-ada-weather/0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9.jsonl",
            agent="Claude Code",
            format="claude-code",
            updated_at=START,
            size=48_213,
            origin_id="0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
            title="Expiry of tokens",
            cwd=PROJECT,
            model="claude-opus-4-6",
            used=61_204,
            window=200_000,
            percent=31,
        ),
        Found(
            path="/home/ada/.local/share/opencode/opencode.db",
            agent="opencode",
            format="opencode",
            updated_at=START,
            size=335_872,
            run=2,
            origin_id="ses_dff0f2e94ffeK7mTnPv05Wj9xl",
            title="Log in twice",
            cwd="/home/ada/login",
        ),
    ),
    unread=(UnreadFile(path="/home/ada/.local/share/goose/sessions/sessions.db", reason="Permission denied"),),
)
R = TypeVar("R")
_MODEL = "copilot/gpt-4.1"
_OFFERED = {"id": _MODEL, "name": "GPT-4.1", "maxInputTokens": 111_000}
_PROMPT = (
    SpokenMessage(role=SpokenRole.USER, text="Where is frost converted?"),
    SpokenMessage(role=SpokenRole.ASSISTANT, text="In units.py."),
    SpokenMessage(role=SpokenRole.USER, text="And where is it rounded?"),
)
_USAGE = {"prompt_tokens": 251, "completion_tokens": 24, "prompt_tokens_details": {"cached_tokens": 128}}
_TRANSCRIPT = (
    '[{"role":"user","content":"Rename the flag --verbose to --loud."},'
    '{"role":"assistant","content":"Done: the flag and its two tests are renamed."}]'
)
_SCRIPT = """
think: units.py has it, most likely.
say: I'll look into units.py.
tool: read_file {"path": "units.py"}
usage: 420 40
---
fail: rate_limited 0
---
say: In to_kelvin, in units.py.
usage: 480 12 cached=400
"""
# Each of these ends a turn at once. An overloaded provider is waited for at most a minute.
_FAILURES = (
    "say: In\nfail: unavailable",
    "fail: authentication",
    "fail: too_long\n---\nfail: too_long",
    "fail: refused",
    "fail: broken",
    "fail: rate_limited 600",
)


class FullDisk(MemoryStore):
    """A store with room for messages, but not for edits."""

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        if any(isinstance(record.event, ContextEdited) for record in records):
            raise StoreUnavailable("the session store cannot be written: the disk is full")
        super().append(session_id, records)


class ContestedStore(MemoryStore):
    """A store to which another process always appends first."""

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        raise ConcurrentAppend(f"session {session_id} has a newer record")


class Asked:
    """A client that permits each tool call, and keeps the questions and its answers."""

    def __init__(self, keep: Callable[[str, Any], None]) -> None:
        self._keep = keep

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        name = REQUEST_PERMISSION.name.replace("/", ".")
        allow = PermissionOutcome(outcome=PermissionOutcomeKind.SELECTED, option_id="allow_once")
        cancel = PermissionOutcome(outcome=PermissionOutcomeKind.CANCELLED)
        self._keep(f"{name}.params", as_json(ask_for(session_id, call)))
        self._keep(f"{name}.result", as_json(RequestPermissionResult(outcome=allow)))
        self._keep(f"{name}.cancelled.result", as_json(RequestPermissionResult(outcome=cancel)))
        return read_answer(RequestPermissionResult(outcome=allow))


async def ask_editor(examples: Examples, client: TestClient, session_id: str) -> None:
    """Keeps what is said when the server asks a model of the client's editor, and when such a model calls a tool."""
    client.workspace.looks_up = ConversationTools(client.workspace)
    await examples.call(
        client, "context/lookUp", sessionId=session_id, tool="search", arguments={"query": "units.py", "limit": 1}
    )

    async def answer(_: str, params: Struct, kind: type[R], /) -> R:
        asked = cast("CompleteParams", params)
        examples.keep("models.complete.params", as_json(asked))
        await _tell(examples, client, "models/piece", requestId=asked.request_id, text="In report.py, ")
        result = CompleteResult(pieces=1)
        examples.keep("models.complete.result", as_json(result))
        return cast("R", result)

    client.workspace.editor_models = models = ClientModels(answer, "ullage/")
    await _tell(examples, client, "models/offer", editor="Visual Studio Code", models=[_OFFERED])
    async with aclosing(models.stream(_MODEL, Purpose.ANSWER, _PROMPT)) as pieces:
        assert [piece async for piece in pieces] == ["In report.py, "]
    await _count(examples)
    broken = CompleteResult(pieces=1, fault=CompletionFault.FAILED, reason="Canceled")
    examples.keep(f"{COMPLETE.name.replace('/', '.')}.cancelled.result", as_json(broken))


async def _count(examples: Examples) -> None:
    """Keeps what is said when the server asks for a model's own count of a prompt."""

    async def answer(_: str, params: Struct, kind: type[R], /) -> R:
        result = CountResult(tokens=1_204)
        none = CountResult(tokens=None)
        for part, value in (("params", params), ("result", result), ("cancelled.result", none)):
            examples.keep(f"{COUNT.name.replace('/', '.')}.{part}", as_json(value))
        return cast("R", result)

    assert await ClientModels(answer, "ullage/").count(f"editor/{_MODEL}", _PROMPT) == 1_204


async def _tell(examples: Examples, client: TestClient, method: str, **params: Any) -> None:
    await examples.call(client, method, **params)
    del examples.messages[f"{method.replace('/', '.')}.result"]


async def record_examples(folder: Path) -> dict[str, Any]:
    """Returns every example by name. `folder` is an empty folder for the stores that cannot be opened."""
    examples = Examples()
    client = build_test_client()
    session_id = await _converse(examples, client)
    await _look_around(examples, client, session_id)
    await _edit(examples, client, session_id)
    await _handle_sessions(examples, client, session_id)
    await _preview(examples, client)
    await _stretch(examples, client)
    await _clear(examples)
    await _stop_helping(examples)
    await _fail(examples)
    await _break_down(examples)
    await _overfill(examples)
    await _cancel(examples)
    await _prompt(examples)
    await _ask_first(examples)
    await _hook(examples)
    await _refuse(examples, client, session_id)
    await _configure(examples)
    await _contend(examples)
    await examples.call(client, "session/rename", sessionId=session_id, title="Expiry of tokens")
    client.workspace.ports = replace(client.workspace.ports, transcripts=KnownConversations(FOUND))
    await examples.call(client, "transcripts/list", cwd=PROJECT, limit=10)
    await follow(examples, client, session_id)
    await change_agents(examples, client, session_id)
    await ask_editor(examples, client, session_id)
    await search_team(examples, client)
    _refuse_stores(examples, folder)
    # The door's own text. A cancelled handler raises no error with a text.
    examples.error(Cancelled("The request was cancelled."))
    # Only clients of the proxy get this error, since none of Ullage's methods uses an agent.
    kept = "the conversation is kept, and the next prompt starts the agent again"
    examples.error(AgentError(f"the agent gemini-cli ended (killed by signal 9); {kept}"))
    # No method serves a memory. A program that embeds the memory's files gets the error itself.
    examples.error(NotFound("Error: The path /memories/notes.md does not exist. Please provide a valid path."))
    examples.messages["settings"] = as_json(other_settings())
    examples.messages["client"] = as_json(ClientAbilities(permissions=True, models=True, folder_trusted=False))
    return examples.messages


async def _converse(examples: Examples, client: TestClient) -> str:
    """Plays a session up to its first automatic compaction."""
    new = await examples.call(client, "session/new", cwd=PROJECT, model=SMALL_MODEL, system=SYSTEM, tools=TOOLS)
    session_id: str = new["sessionId"]
    client.recorder.notifications.clear()
    appended = await examples.call(client, "session/append", sessionId=session_id, messages=first_turn(), usage=_USAGE)
    examples.keep_updates(client)
    await examples.call(client, "context/pin", sessionId=session_id, messageId=appended["messageIds"][2])
    for number in range(1, 12):
        await client.call("session/append", sessionId=session_id, messages=thinking_turn(number))
        client.clock.advance(seconds=90)
    await client.entries(session_id)
    examples.keep_updates(client)
    return session_id


async def _configure(examples: Examples) -> None:
    """Plays a session that is never summarized."""
    client = build_test_client()
    session = await client.call("session/new", model=SMALL_MODEL)
    own = {"mode": "sliding_window", "strategies": [{"type": "sliding_window", "maxMessages": 40}]}
    await examples.call(client, "session/configure", sessionId=session["sessionId"], context=own)


async def _look_around(examples: Examples, client: TestClient, session_id: str) -> None:
    await examples.call(client, "context/get", sessionId=session_id)
    await examples.call(client, "context/messages", sessionId=session_id, limit=6)
    await examples.call(client, "context/messages", "transcript", sessionId=session_id, scope="transcript", limit=3)
    await examples.call(client, "context/search", sessionId=session_id, query="units.py", limit=2)
    await examples.call(client, "context/history", sessionId=session_id)


async def _edit(examples: Examples, client: TestClient, session_id: str) -> None:
    await examples.call(client, "context/compact", sessionId=session_id, focus="the rounding rule")
    history = await client.call("context/history", sessionId=session_id)
    await examples.call(client, "context/restore", sessionId=session_id, editId=history["edits"][0]["id"])
    await examples.call(client, "context/undo", sessionId=session_id)
    await examples.refusal(client, "context/undo", sessionId=session_id)
    examples.keep_updates(client)


async def _preview(examples: Examples, client: TestClient) -> None:
    """Plays a short session with a preview that is committed."""
    session_id = await _start(client, LARGE_MODEL)
    await client.call("session/append", sessionId=session_id, messages=[*first_turn(), *thinking_turn(1)])
    await examples.call(client, "context/messages", "openai", sessionId=session_id, limit=1, provider="openai")
    await examples.call(client, "context/messages", "anthropic", sessionId=session_id, limit=1, provider="anthropic")
    preview = await examples.call(client, "context/compact", "preview", sessionId=session_id, dryRun=True)
    await examples.call(
        client,
        "context/commit",
        sessionId=session_id,
        previewId=preview["previewId"],
        summary="units.py rounded before it added the offset; the other modules are sound.",
    )
    await examples.call(client, "context/lost", sessionId=session_id, limit=2, briefSize=1_000)
    await examples.refusal(client, "context/undo", sessionId=session_id, editId="e_99")
    await examples.call(client, "context/restore", "time", sessionId=session_id, timestamp=START)
    client.recorder.notifications.clear()


async def _hook(examples: Examples) -> None:
    """Plays a hook that fails, then stops a manual compaction, then an automatic one."""
    commands = ScriptedCommands()
    client = build_test_client(settings=Settings(hooks=HookSettings(pre_compact=("hook",))), commands=commands)
    session_id = await _fill(client)
    client.recorder.notifications.clear()
    commands.outcomes["hook"] = CommandOutcome(status=1, err="no such table: releases")
    await client.call("context/compact", sessionId=session_id)
    client.recorder.notifications = client.recorder.notifications[:2]
    examples.keep_updates(client)
    commands.outcomes["hook"] = CommandOutcome(out='{"veto": "a release is under way"}')
    await examples.refusal(client, "context/compact", sessionId=session_id)
    await client.call("context/undo", sessionId=session_id)
    client.recorder.notifications.clear()
    await client.call("session/append", sessionId=session_id, messages=[user("Go on. " * 900)])
    await client.entries(session_id)
    examples.keep_updates(client)


async def _stretch(examples: Examples, client: TestClient) -> None:
    """Compacts the middle of a session after a preview, and previews an undo."""
    session_id = await _start(client, LARGE_MODEL)
    messages = [*first_turn(), *thinking_turn(1), *thinking_turn(2)]
    appended = await client.call("session/append", sessionId=session_id, messages=messages)
    ids = appended["messageIds"]
    stretch = {"from": ids[1], "upTo": ids[-2]}
    await examples.call(client, "context/compact", "stretch", sessionId=session_id, **stretch)
    await examples.call(client, "context/undo", "preview", sessionId=session_id, dryRun=True)
    await examples.call(client, "context/restore", "message", sessionId=session_id, messageId=ids[0])
    client.recorder.notifications.clear()


async def _handle_sessions(examples: Examples, client: TestClient, session_id: str) -> None:
    await examples.call(client, "session/load", sessionId=session_id)
    fork = await examples.call(client, "session/fork", sessionId=session_id, title="Another way to fix it")
    # A fork's context is managed like any other. What the run records must be in the list, however long it takes.
    await client.workspace.open(fork["sessionId"]).settled()
    imported = await examples.call(client, "session/import", text=_TRANSCRIPT, cwd=PROJECT)
    await examples.call(client, "session/list", cwd=PROJECT)
    imported_id = imported["session"]["sessionId"]
    await examples.call(client, "session/export", sessionId=imported_id)
    await examples.call(client, "session/export", "openai", sessionId=imported_id, format="openai")
    await examples.call(client, "session/close", sessionId=fork["sessionId"])
    await examples.call(client, "session/delete", sessionId=fork["sessionId"])
    client.recorder.notifications.clear()
    unknown = await client.call("session/new", model="homemade-model")
    await client.say(unknown["sessionId"], "Hello!")
    client.recorder.notifications = client.recorder.notifications[-1:]
    examples.keep_updates(client)


async def _clear(examples: Examples) -> None:
    """Plays a session in which old tool results are cleared before anything is compacted."""
    client = build_test_client()
    session_id = await _start(client, SMALL_MODEL)
    for number in range(1, 10):
        await client.call("session/append", sessionId=session_id, messages=reading_turn(number))
        await client.entries(session_id)
    examples.keep_updates(client)


async def _stop_helping(examples: Examples) -> None:
    """Plays a session that every prompt fills again, until the breaker stops compactions."""
    client = build_test_client()
    session_id = await _start(client, SMALL_MODEL)
    for number in range(8):
        await client.say(session_id, f"Question {number}: " + "is it sound? " * 900, "Yes, it is sound. " * 200)
        await client.entries(session_id)
    examples.keep_updates(client)


async def _fail(examples: Examples) -> None:
    """Plays a model that fails in the middle of a summary, first in a manual and then in an automatic compaction."""
    fault = ProviderError("the model is overloaded; try again later")
    summarizer = PacedSummarizer(["## Task\n", "Fix test_converts_frost.\n"], fault)
    client = build_test_client(summarizer=summarizer)
    session_id = await _fill(client)
    summarizer.release()
    await examples.refusal(client, "context/compact", sessionId=session_id)
    # An automatic compaction tries again with fewer messages before it uses the offline summary.
    summarizer.release()
    summarizer.release()
    await client.call("session/append", sessionId=session_id, messages=[user("Go on. " * 900)])
    await client.entries(session_id)
    examples.keep_updates(client)


async def _break_down(examples: Examples) -> None:
    """Plays an automatic compaction whose edit cannot be stored."""
    client = build_test_client(store=FullDisk())
    session_id = await _fill(client)
    await client.call("session/append", sessionId=session_id, messages=[user("Go on. " * 900)])
    await client.entries(session_id)
    examples.keep_updates(client)


async def _overfill(examples: Examples) -> None:
    """Plays a session with more tools than the window holds."""
    client = build_test_client()
    tools = [{"name": f"tool_{number}", "description": "Does one thing well. " * 20} for number in range(80)]
    new = await client.call("session/new", model=SMALL_MODEL, tools=tools)
    await client.say(new["sessionId"], "Hello!")
    await client.entries(new["sessionId"])
    examples.keep_updates(client)


async def _cancel(examples: Examples) -> None:
    """Plays a compaction that the user cancels, after a second compaction was refused."""
    summarizer = PacedSummarizer(["## Task\n", "Fix test_converts_frost.\n"])
    client = build_test_client(summarizer=summarizer)
    session_id = await _fill(client)
    await client.call("session/append", sessionId=session_id, messages=[user("Go on. " * 900)])
    await asyncio.wait_for(summarizer.started.wait(), PATIENCE)
    await examples.refusal(client, "context/undo", sessionId=session_id)
    await examples.call(client, "session/cancel", sessionId=session_id)
    del examples.messages["session.cancel.result"]
    await client.entries(session_id)
    examples.keep_updates(client)


async def _prompt(examples: Examples) -> None:
    """Plays a turn with a model that thinks, calls a tool, is overloaded for a moment, and answers."""
    client = build_test_client(live=play(_SCRIPT, OneFile("units.py", "def to_kelvin(celsius): ...")))
    session_id = await _start(client, LARGE_MODEL)
    client.recorder.notifications.clear()
    prompt = [{"type": "text", "text": "Where is frost converted?"}]
    client.workspace.permissions = Asked(examples.keep)
    await examples.call(client, "session/prompt", sessionId=session_id, prompt=prompt)
    examples.keep_updates(client)
    for script in _FAILURES:
        failing = build_test_client(live=play(script))
        session_id = await _start(failing, LARGE_MODEL)
        await examples.refusal(failing, "session/prompt", sessionId=session_id, prompt=prompt)
    # How Ullage was installed is not the same everywhere.
    missing = SdkMissing(words.sdk_missing("anthropic", "anthropic").replace(sys.executable, "python3"))
    without_sdk = build_test_client(live=Live(providers=NoProviders(missing)))
    session_id = await _start(without_sdk, LARGE_MODEL)
    await examples.refusal(without_sdk, "session/prompt", sessionId=session_id, prompt=prompt)


async def _ask_first(examples: Examples) -> None:
    """Plays a session whose user wants to confirm compactions."""
    client = build_test_client(settings=Settings(summary=SummarySettings(confirm=True)))
    session_id = await _start(client, SMALL_MODEL)
    await client.call("session/append", sessionId=session_id, messages=[user("Go on. " * 1_900)])
    await client.entries(session_id)
    examples.keep_updates(client)


async def _refuse(examples: Examples, client: TestClient, session_id: str) -> None:
    """Makes requests that are refused."""
    await examples.refusal(client, "context/get", sessionId="s_99")
    await examples.refusal(client, "context/pin", sessionId=session_id, messageId="m_999")
    await examples.refusal(client, "context/restore", sessionId=session_id)
    await examples.refusal(client, "session/import", text="Dear diary, …")
    await examples.refusal(client, "session/import", text="{}\n", format="claude-code")
    await examples.refusal(client, "context/commit", sessionId=session_id, previewId="e_99")
    prompt = [{"type": "text", "text": "Go on."}]
    await examples.refusal(client, "session/prompt", sessionId=session_id, prompt=prompt)
    try:
        await fit_budget(client.workspace.open(session_id), 50)
    except CannotFit as error:
        examples.error(error)
    empty = await client.call("session/new", model=LARGE_MODEL)
    await examples.refusal(client, "context/compact", sessionId=empty["sessionId"])


async def _contend(examples: Examples) -> None:
    client = build_test_client(store=ContestedStore())
    new = await client.call("session/new", model=LARGE_MODEL)
    await examples.refusal(client, "session/append", sessionId=new["sessionId"], messages=[user("Hello")])

    store = MemoryStore()
    await build_test_client(store=store).call("session/new")
    await examples.refusal(build_test_client(store=store), "session/new")


def _refuse_stores(examples: Examples, folder: Path) -> None:
    _refuse_store(examples, folder / "notes.db", lambda path: path.write_text("Milk, bread.\n" * 50))
    _refuse_store(examples, folder / "sessions.db", _make_newer)


def _make_newer(path: Path) -> None:
    open_store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")


def _refuse_store(examples: Examples, path: Path, prepare: Callable[[Path], object]) -> None:
    prepare(path)
    try:
        open_store(path)
    except UllageError as error:
        examples.error(type(error)(str(error).replace(str(path.parent), "/home/ada/.local/share/ullage")))
        return
    raise AssertionError(f"{path} was expected to be refused")


async def _start(client: TestClient, model: str) -> str:
    new = await client.call("session/new", cwd=PROJECT, model=model, system=SYSTEM, tools=TOOLS)
    return new["sessionId"]


async def _fill(client: TestClient) -> str:
    """Makes a session a little below the warning."""
    session_id = await _start(client, SMALL_MODEL)
    for number in range(1, 8):
        await client.call("session/append", sessionId=session_id, messages=thinking_turn(number))
    return session_id
