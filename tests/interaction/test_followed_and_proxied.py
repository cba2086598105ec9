"""A conversation that the proxy records is not recorded a second time when its agent's file is followed."""

from pathlib import Path

from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import line, say
from support.workspace import build_test_client
from ullage.model.events import AgentAttached, SessionCreated
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.ports.agent_files import FoundFile
from ullage.system.growing_files import GrowingFiles

LINES = [
    line("user", "u0", None, "Which port?") | {"sessionId": "agents-own-id"},
    line("assistant", "u1", "u0", [say("8042.")], stop_reason="end_turn") | {"sessionId": "agents-own-id"},
]


async def test_a_proxied_conversation_is_shown_as_the_proxys_session_and_nothing_is_added(tmp_path: Path) -> None:
    workspace = build_test_client(store=MemoryStore()).workspace
    attached = AgentAttached(agent="Claude Code", session_id="agents-own-id")
    workspace.ports.store.create("agents-own-id", workspace.records(0, [SessionCreated(), attached]))
    path = tmp_path / "log.jsonl"
    path.write_bytes(to_bytes(LINES[:1]))
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=path))
    for count in (1, 2):
        path.write_bytes(to_bytes(LINES[:count]))
        await followed.look()
        await followed.settle()
    assert followed.conversation is not None
    assert followed.conversation.id == "agents-own-id"
    assert len(workspace.ports.store.read("agents-own-id")) == 2
    assert [info.session_id for info in workspace.ports.store.list()] == ["agents-own-id"]


async def test_a_session_of_the_same_id_without_an_agent_is_another_one(tmp_path: Path) -> None:
    workspace = build_test_client(store=MemoryStore()).workspace
    workspace.ports.store.create("agents-own-id", workspace.records(0, [SessionCreated()]))
    path = tmp_path / "log.jsonl"
    path.write_bytes(to_bytes(LINES))
    followed = FollowedFile(workspace, GrowingFiles(), FoundFile(path=path))
    await followed.look()
    assert followed.conversation is not None
    assert followed.conversation.id != "agents-own-id"
