"""Every change of a conversation is published once and starts automatic management. The guards survive an undo."""

from collections.abc import Sequence

import pytest

from support.build import user
from support.fill import fill
from support.memory_store import MemoryStore
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.model.events import MessageAppended, MessagePinned, Record
from ullage.model.settings import HookSettings, Settings
from ullage.service.ports.models import ModelLimits


def kinds(client: TestClient) -> list[str]:
    """Returns what was sent since the last call: the kind of each notice, and the name of each other update."""
    return [
        update["_meta"]["ullage"]["kind"] if update["sessionUpdate"] == "notice" else update["sessionUpdate"]
        for update in client.recorder.take()
    ]


async def started(client: TestClient) -> str:
    return (await client.call("session/new", model=SMALL_MODEL))["sessionId"]


async def test_an_append_sends_the_title_then_one_figure(client: TestClient) -> None:
    session_id = await started(client)
    client.recorder.take()
    await client.say(session_id, "Rename the parser")
    assert kinds(client) == ["session_info_update", "usage_update"]


async def test_a_part_of_an_unknown_kind_does_not_become_the_title(client: TestClient) -> None:
    odd = {"type": "hologram", "data": "abc"}
    for content, title in (([odd], ""), ([odd, {"type": "text", "text": "Look at {this}"}], "Look at {this}")):
        session_id = await started(client)
        await client.call("session/append", sessionId=session_id, messages=[{"role": "user", "content": content}])
        assert (await client.call("session/load", sessionId=session_id))["title"] == title


async def test_a_long_system_prompt_warns_at_once(client: TestClient) -> None:
    await client.call("session/new", model=SMALL_MODEL, system="word " * 5_200)
    assert kinds(client) == ["usage_update", "context_warning"]


async def test_a_fork_sends_one_figure_and_inherits_the_warning(client: TestClient) -> None:
    session_id = await started(client)
    await client.say(session_id, "word " * 5_200)
    client.recorder.take()
    await client.call("session/fork", sessionId=session_id)
    assert kinds(client) == ["usage_update"]


async def test_what_is_recorded_together_is_one_change(client: TestClient) -> None:
    conversation = client.workspace.open(await started(client))
    client.recorder.take()
    with conversation.one_change():
        conversation.record(MessageAppended(message=user("m1", "one")))
        conversation.record(MessageAppended(message=user("m2", "two")))
        assert kinds(client) == []
    assert kinds(client) == ["usage_update"]


async def test_a_pin_changes_no_figure_and_sends_none(client: TestClient) -> None:
    conversation = client.workspace.open(await started(client))
    conversation.record(MessageAppended(message=user("m1", "one")))
    client.recorder.take()
    conversation.record(MessagePinned(message_id="m1"))
    assert kinds(client) == []


async def test_a_veto_is_remembered_over_an_undo() -> None:
    client = build_test_client(settings=Settings(hooks=HookSettings(pre_compact=("pre",))))
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    conversation = client.workspace.open(session_id)
    conversation.guards.vetoed_at, conversation.guards.cleared_at = 5_600, 4_100
    await client.call("context/undo", sessionId=session_id)
    again = client.workspace.open(session_id)
    assert again is conversation
    assert (again.guards.vetoed_at, again.guards.cleared_at) == (5_600, 4_100)


async def test_budget_settings_and_model_are_computed_once_a_change_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    client = build_test_client()
    session_id = await started(client)
    looked: list[str] = []
    limits = client.workspace.limits

    def counted(model: str) -> ModelLimits:
        looked.append(model)
        return limits(model)

    monkeypatch.setattr(client.workspace, "limits", counted)
    await client.say(session_id, "Hello")
    assert looked == []
    await client.call("session/append", sessionId=session_id, messages=[], model=LARGE_MODEL)
    assert looked == [LARGE_MODEL]
    await client.say(session_id, "Hello again")
    assert looked == [LARGE_MODEL]


class CountedStore(MemoryStore):
    """Names the calls that read or write a log."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def append(self, session_id: str, records: Sequence[Record]) -> None:
        self.calls.append("append")
        super().append(session_id, records)

    def find_message(self, session_id: str, message_id: str) -> Record | None:
        self.calls.append("find_message")
        return super().find_message(session_id, message_id)

    def save_calibration(self, model: str, calibration: bytes) -> None:
        self.calls.append("save_calibration")
        super().save_calibration(model, calibration)


async def test_only_an_id_that_the_client_chose_is_looked_up() -> None:
    store = CountedStore()
    client = build_test_client(store)
    session_id = await started(client)
    store.calls.clear()
    await client.say(session_id, "Hello")
    assert store.calls == ["append"]
    message = {"role": "user", "content": "Hello again", "id": "mine"}
    await client.call("session/append", sessionId=session_id, messages=[message])
    assert store.calls == ["append", "find_message", "append"]


async def test_what_was_learned_about_counts_is_saved_once() -> None:
    store = CountedStore()
    client = build_test_client(store)
    session_id = await started(client)
    usage = {"input_tokens": 900, "output_tokens": 3}
    await client.say(session_id, "Hello", "Hello.", usage=usage)
    saved = store.calls.count("save_calibration")
    # A second report of one answer replaces the first and teaches nothing.
    await client.call("session/append", sessionId=session_id, messages=[], usage=usage)
    assert store.calls.count("save_calibration") == saved == 1
