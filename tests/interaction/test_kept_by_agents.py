"""What an agent on this machine keeps is not edited here, whether it is followed or imported. A fork of it is the
user's own, and so is a copy of what no agent keeps. Nor is a session edited that an agent behind the proxy holds: the
agent's window counts."""

from pathlib import Path
from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.fill import exchange, fill, start
from support.memory_store import MemoryStore
from support.workspace import SMALL_MODEL, TestClient, build_test_client
from ullage.agents.transcripts import read
from ullage.model.errors import Conflict, SessionFollowed
from ullage.model.events import AgentAttached
from ullage.service.compact.by_hand import fit_budget
from ullage.service.sessions import ImportOutcome, change_system_prompt, import_or_continue

BEFORE, AFTER = 166_500, 40_000
PROMPT = "Please look at the parser once more. " * 400
EDITS: list[tuple[str, dict[str, Any]]] = [
    ("context/undo", {}),
    ("context/undo", {"dryRun": True}),
    ("context/restore", {"position": 1}),
    ("context/compact", {}),
    ("context/compact", {"dryRun": True}),
    ("context/commit", {"previewId": "e_1"}),
    ("context/pin", {"messageId": "m"}),
    ("session/append", {"messages": [{"role": "user", "content": "Hello?"}]}),
    ("session/append", {"model": "gpt-4"}),
    ("session/append", {"tools": []}),
    ("session/prompt", {"prompt": [{"type": "text", "text": "Hello?"}]}),
]


class KnownOwnFiles:
    """A machine on which agents keep the files in these folders. A file that a test deletes is there no more."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders

    def path_of(self, path: str) -> str:
        return path if any(Path(path).is_relative_to(folder) for folder in self._folders) else ""

    def has(self, path: str) -> bool:
        return bool(path) and Path(path).exists()


def compacted_log() -> ClaudeLog:
    return ClaudeLog().ask(PROMPT).answer(BEFORE).compact(167_094).ask(PROMPT).answer(AFTER)


def agent_file(folder: Path, log: ClaudeLog) -> Path:
    path = folder / "agent" / "one.jsonl"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(log.data)
    return path


def client_beside(folder: Path, **parts: Any) -> TestClient:
    """Returns a client on a machine where an agent keeps what is in `folder/agent`."""
    client = build_test_client(**parts)
    client.workspace.own_files = KnownOwnFiles(folder / "agent")
    return client


async def brought_in(client: TestClient, **params: Any) -> str:
    return (await client.call("session/import", **params))["session"]["sessionId"]


@pytest.mark.parametrize(("method", "params"), EDITS)
async def test_an_edit_of_what_an_agent_keeps_is_refused_and_names_the_way(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    client = client_beside(tmp_path)
    session_id = await brought_in(client, path=str(agent_file(tmp_path, compacted_log())))
    records = client.workspace.ports.store.read(session_id)
    with pytest.raises(SessionFollowed) as refused:
        await client.call(method, sessionId=session_id, **params)
    said = str(refused.value)
    assert "a conversation of Claude Code, which Ullage only reads" in said
    assert "go on in a new session that is written from it" in said
    # A client has no command line.
    assert "`" not in said
    assert f"`ullage continue {session_id}` (with `--before-compaction`" in refused.value.in_shell
    assert "Please look at the parser" in said
    assert client.workspace.ports.store.read(session_id) == records


async def test_a_compaction_to_a_budget_and_another_system_prompt_are_refused_too(tmp_path: Path) -> None:
    client = client_beside(tmp_path)
    session_id = await brought_in(client, path=str(agent_file(tmp_path, compacted_log())))
    conversation = client.workspace.open(session_id)
    with pytest.raises(SessionFollowed):
        await fit_budget(conversation, 300)
    with pytest.raises(SessionFollowed):
        change_system_prompt(conversation, "Be brief.")


async def test_the_store_knows_the_agents_file_although_nothing_is_followed(tmp_path: Path) -> None:
    path = agent_file(tmp_path, compacted_log())
    store = MemoryStore()
    session_id = await brought_in(client_beside(tmp_path, store=store), path=str(path))
    later = client_beside(tmp_path, store=store)
    usage = await later.call("context/get", sessionId=session_id)
    assert usage["_meta"]["ullage"]["followed"] == {"agent": "Claude Code", "path": str(path)}


async def test_once_the_agent_has_deleted_the_file_the_copy_is_all_there_is_and_is_edited(tmp_path: Path) -> None:
    client = client_beside(tmp_path)
    path = agent_file(tmp_path, compacted_log())
    session_id = await brought_in(client, path=str(path))
    path.unlink()
    await client.call("context/undo", sessionId=session_id)


@pytest.mark.parametrize("how", ["text", "file"])
async def test_a_copy_of_what_no_agent_keeps_here_is_edited(tmp_path: Path, how: str) -> None:
    client, elsewhere = client_beside(tmp_path), tmp_path / "sent to me.jsonl"
    elsewhere.write_bytes(compacted_log().data)
    given = {"text": compacted_log().text} if how == "text" else {"path": str(elsewhere)}
    session_id = await brought_in(client, **given)
    assert (await client.call("context/undo", sessionId=session_id))["messagesBack"] > 0


async def test_a_copy_becomes_the_agents_once_its_own_file_is_read(tmp_path: Path) -> None:
    client, log = client_beside(tmp_path), compacted_log()
    copy = await brought_in(client, text=log.text)
    path = str(agent_file(tmp_path, log))
    assert await brought_in(client, path=path) == copy
    with pytest.raises(SessionFollowed):
        await client.call("context/undo", sessionId=copy)
    records = client.workspace.ports.store.read(copy)
    again = await client.call("session/import", path=path)
    assert (again["outcome"], again["added"]) == ("unchanged", 0)
    assert await brought_in(client, text=log.text) == copy
    assert client.workspace.ports.store.read(copy) == records


@pytest.mark.parametrize(
    ("method", "params"), [("context/undo", {}), ("session/append", {"messages": [{"role": "user", "content": "Hi."}]})]
)
async def test_a_copy_that_its_user_has_changed_stays_beside_the_agents_own(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    client, log = client_beside(tmp_path), compacted_log()
    copy = await brought_in(client, text=log.text)
    await client.call(method, sessionId=copy, **params)
    changed = (await client.call("context/get", sessionId=copy))["used"]
    own = (await client.call("session/import", path=str(agent_file(tmp_path, log))))["session"]
    assert own["sessionId"] != copy
    assert own["usage"]["used"] == AFTER + 50
    assert (await client.call("context/get", sessionId=copy))["used"] == changed
    await client.call("context/restore", sessionId=copy, position=1, dryRun=True)


async def test_a_conversation_that_goes_on_under_another_version_stays_the_agents(tmp_path: Path) -> None:
    client, log = client_beside(tmp_path), ClaudeLog().ask(PROMPT).answer(AFTER).ask(PROMPT)
    path = str(agent_file(tmp_path, log))
    session_id = await brought_in(client, path=path)
    log.version = "2.1.400"
    log.answer(AFTER + 5_000).ask(PROMPT).answer(AFTER + 6_000)
    transcript = read(log.data)
    grown = await import_or_continue(client.workspace, transcript, "", path)
    assert (grown.outcome, grown.conversation.id) == (ImportOutcome.GROWN, session_id)
    origin = grown.conversation.transcript.origin
    assert origin is not None
    assert (origin.version, origin.path) == ("2.1.400", path)
    assert (await import_or_continue(client.workspace, transcript, "")).outcome is ImportOutcome.UNCHANGED


def attach(client: TestClient, session_id: str, window: int | None) -> None:
    """Marks the session as one that an agent holds from now on."""
    told = AgentAttached(agent="toy", session_id="a-1", window=window)
    client.workspace.open(session_id).record(told)


async def test_the_window_from_the_agent_counts_before_the_catalogs(client: TestClient) -> None:
    session_id = await start(client)
    attach(client, session_id, 50_000)
    assert (await client.call("context/get", sessionId=session_id))["size"] == 50_000


async def test_without_a_window_from_the_agent_the_catalogs_counts(client: TestClient) -> None:
    session_id = await start(client)
    attach(client, session_id, None)
    assert (await client.call("context/get", sessionId=session_id))["size"] == 8_192


async def test_a_full_context_of_an_agent_is_warned_of_once_and_never_edited(client: TestClient) -> None:
    session_id = await start(client, SMALL_MODEL)
    attach(client, session_id, None)
    used = [await exchange(client, session_id, number) for number in range(12)]
    await client.entries(session_id)
    told = client.recorder.take()
    assert used[-1] > 8_000
    assert [update["severity"] for update in told if "severity" in update] == ["warning"]
    assert not [update for update in told if "compactionId" in update]


async def test_a_fork_of_an_agents_session_is_ours_to_shrink(client: TestClient) -> None:
    session_id = await fill(client)
    attach(client, session_id, None)
    fork = await client.call("session/fork", sessionId=session_id)
    assert client.workspace.open(fork["sessionId"]).transcript.agent is None


@pytest.mark.parametrize("method", ["context/compact", "context/undo"])
async def test_an_agents_context_is_not_edited_without_the_agent(method: str, client: TestClient) -> None:
    session_id = await fill(client)
    attach(client, session_id, None)
    with pytest.raises(Conflict, match="toy keeps the context"):
        await client.call(method, sessionId=session_id)
