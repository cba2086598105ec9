"""Followed conversations with the same beginning: one row for all that do not continue, on each surface. One that the
proxy records is not recorded again."""

from pathlib import Path

from msgspec.structs import replace

from support.claude_log import BEGAN, ClaudeLog
from support.example_following import FOLLOWED
from support.foreign import to_lines
from support.log_trees import to_bytes
from support.memory_store import MemoryStore
from support.session_log import line, say
from support.workspace import build_test_client
from ullage.model.events import AgentAttached, SessionCreated
from ullage.model.usage import FollowedRow, one_each
from ullage.service.follow.followed_file import FollowedFile
from ullage.service.follow.rows import QUIET, LiveRows
from ullage.service.ports.agent_files import FoundFile
from ullage.system.growing_files import GrowingFiles

FIRST, FORK, RESUMED, OTHER = "first-0000", "fork-1111", "resumed-2222", "other-3333"


def fork_of(log: ClaudeLog, name: str) -> bytes:
    """Returns the log of a fork, whose first line has a time of its own."""
    lines = [{**line, "sessionId": name, "uuid": f"{line['uuid']} {name}"} for line in log.lines]
    for copied in lines:
        copied["parentUuid"] = copied["parentUuid"] and f"{copied['parentUuid']} {name}"
    lines[0] |= {"timestamp": "2025-11-22T09:59:00.000Z", "forkedFrom": {"sessionId": log.session, "messageUuid": "u"}}
    return to_lines(*lines)


class Rows:
    """The rows of files in one folder. `told` are those that were returned, by the agents' ids."""

    def __init__(self) -> None:
        self.client = build_test_client()
        self.live = LiveRows(lambda _agent, _id: False)
        self.told: list[tuple[str, tuple[str, ...]]] = []

    async def take(self, name: str, text: bytes, now: int) -> None:
        session = (await self.client.call("session/import", text=text.decode()))["session"]["sessionId"]
        self.tell(self.live.take(found(name), self.client.workspace.open(session), now))

    def tell(self, rows: list[FollowedRow]) -> None:
        self.told = [(row.agent_session_id, row.forks) for row in rows]

    def shown(self) -> dict[str, tuple[str, ...]]:
        return {row.agent_session_id: row.forks for row in self.live.snapshot(0, 1).sessions}


def found(name: str) -> FoundFile:
    return FoundFile(path=Path(f"/logs/{name}.jsonl"), agent="Claude Code", origin_id=name)


async def test_a_fork_takes_the_place_of_the_conversation_that_no_longer_continues() -> None:
    rows, log = Rows(), ClaudeLog(session=FIRST).ask("Why?").answer(900)
    await rows.take(FIRST, log.data, BEGAN)
    await rows.take(FORK, fork_of(log, FORK), BEGAN)
    # Both continue.
    assert rows.shown() == {FIRST: (), FORK: ()}
    running = {("Claude Code", FORK): 7}
    rows.tell(rows.live.know(running, {}, BEGAN + 2 * QUIET))
    assert (rows.told, rows.shown()) == ([(FORK, (FIRST,))], {FORK: (FIRST,)})
    # It is gone on with, too.
    rows.tell(rows.live.know({**running, ("Claude Code", FIRST): 8}, {}, BEGAN + 2 * QUIET))
    assert sorted(rows.told) == [(FIRST, ()), (FORK, ())]


async def test_a_run_that_was_resumed_in_another_file_takes_the_place_of_the_earlier_one() -> None:
    rows, log = Rows(), ClaudeLog(session=FIRST).ask("Why?").answer(900)
    await rows.take(FIRST, log.data, BEGAN + 2 * QUIET)
    await rows.take(OTHER, ClaudeLog(session=OTHER).ask("Where?").answer(500).data, BEGAN + 2 * QUIET)
    log.now += 60_000
    lines = [{**line, "sessionId": RESUMED} for line in log.ask().answer(1_200).lines]
    await rows.take(RESUMED, to_lines(*lines), BEGAN + 2 * QUIET)
    assert rows.shown() == {RESUMED: (FIRST,), OTHER: ()}
    # The first one is shown again when nothing stands for it.
    rows.tell(rows.live.drop(found(RESUMED)))
    assert rows.told == [(RESUMED, ()), (FIRST, ())]
    assert rows.shown() == {FIRST: (), OTHER: ()}


async def test_a_resumed_conversation_of_gemini_cli_keeps_its_row_until_something_is_typed() -> None:
    def written(minute: int, *texts: str) -> bytes:
        at = f"2025-11-22T10:{minute}:00.000Z"
        own = {"id": "m", "timestamp": at, "type": "user", "content": [{"text": "<session_context>\nA CLI.\n"}]}
        lines: list[object] = [{"sessionId": FIRST, "startTime": at, "kind": "main"}, {"$set": {"messages": [own]}}]
        for number, text in enumerate(texts):
            lines.append({"id": f"u{number}", "timestamp": at, "type": "user", "content": [{"text": text}]})
            answer = {"id": f"a{number}", "timestamp": at, "type": "gemini", "content": "Yes."}
            tokens = {"input": 1000 * minute, "output": 50, "total": 1000 * minute + 50}
            lines.append(answer | {"tokens": tokens, "model": "gemini-2.5-flash"})
        return to_lines(*lines)

    rows = Rows()
    await rows.take("earlier", written(10, "Which port?"), BEGAN)
    await rows.take("resumed", written(11), BEGAN)
    assert [row.used for row in rows.live.snapshot(0, 1).sessions] == [10_050]
    await rows.take("resumed", written(12, "And the host?"), BEGAN)
    assert [row.used for row in rows.live.snapshot(0, 1).sessions] == [12_050]


async def test_a_list_and_a_server_leave_out_what_a_row_names_as_its_fork() -> None:
    first, other = FOLLOWED[:2]
    fork = replace(first, session_id="s_fork", agent_session_id=FORK, forks=(first.agent_session_id,))
    assert one_each([first, other, fork]) == [other, fork]
    # Another agent may have given the same id.
    assert one_each([first, replace(fork, agent="Codex")]) == [first, replace(fork, agent="Codex")]


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
