"""Sessions by ACP's methods: new, load, resume, list, fork, close, delete."""

from pathlib import Path
from typing import Any

import pytest

from support.acp_rig import AcpRig, MakeRig
from support.lsp_client import RpcFailure
from ullage.app.compose import open_workspace
from ullage.model.settings import Settings

TALK = ["Fix the login page " + "please " * 300, "I read src/login.py. " * 150] * 6


@pytest.fixture
async def session_id(rig: AcpRig) -> str:
    await rig.initialize()
    return await rig.new_session()


async def test_a_window_that_is_not_known_is_not_guessed(make_rig: MakeRig) -> None:
    rig = make_rig(Settings(model="nobody-knows-this"))
    await rig.initialize()
    session_id = await rig.new_session()
    await rig.say(session_id, "hello", "hi")
    assert rig.updates("usage_update") == []
    assert (await rig.update(session_id, "session_info_update"))["_meta"]["ullage"]["usable"] is None
    assert rig.faults == []


@pytest.mark.parametrize("cwd", ["", "project", "./x", "~", "/pro\0ject"])
async def test_a_session_is_at_work_in_an_absolute_folder(rig: AcpRig, cwd: str) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/new", cwd=cwd, mcpServers=[])
    assert failure.value.code == -32602


@pytest.mark.parametrize("method", ["load", "resume", "fork", "close", "delete", "prompt"])
async def test_a_session_that_is_unknown_is_not_found(rig: AcpRig, method: str) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask(f"session/{method}", sessionId="s_none", cwd="/", mcpServers=[], prompt=[])
    assert failure.value.code == -32002


async def test_a_client_without_compactions_loads_a_tool_call_with_the_summary(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, *TALK)
    await rig.prompt(session_id, "/compact")
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    begun, ended = rig.updates("tool_call", "tool_call_update")
    assert (begun["kind"], ended["status"]) == ("think", "completed")
    assert ended["content"][0]["content"]["text"]


async def test_tool_calls_pictures_and_resources_are_loaded_as_what_they_are(rig: AcpRig, session_id: str) -> None:
    refused = [{"type": "text", "text": "no"}]
    messages: list[Any] = [
        {"role": "system", "content": "be brief"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image", "data": "QUJD"},
                {"type": "resource", "uri": "file:///a/b.py", "text": "x = 1"},
                {"type": "resource", "uri": "file:///a/c.py"},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "t1", "name": "read_file", "input": {"path": "a"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": refused, "is_error": True},
            ],
        },
    ]
    await rig.ask("_ullage/session/append", sessionId=session_id, messages=messages)
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    assert [update["content"]["type"] for update in rig.updates("user_message_chunk")] == [
        "text",
        "image",
        "resource",
        "resource_link",
    ]
    assert [update["content"]["text"] for update in rig.updates("agent_thought_chunk")] == ["hm"]
    (called,), (ended,) = rig.updates("tool_call"), rig.updates("tool_call_update")
    assert (called["title"], called["rawInput"], ended["status"]) == ("Read a", {"path": "a"}, "failed")
    assert called["locations"] == [{"path": "/project/a"}]


async def test_resuming_shows_nothing_again(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, "one", "two")
    rig.sent.clear()
    await rig.ask("session/resume", sessionId=session_id, cwd="/project")
    await rig.update(session_id, "usage_update")
    assert rig.updates("user_message_chunk", "agent_message_chunk") == []


async def test_a_long_session_is_loaded_whole(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, *(f"message {number}" for number in range(450)))
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    texts = [update["content"]["text"] for update in rig.updates("user_message_chunk", "agent_message_chunk")]
    assert texts == [f"message {number}" for number in range(450)]


async def test_a_fork_has_the_past_and_another_id(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, "one", "two")
    fork = (await rig.ask("session/fork", sessionId=session_id, cwd="/project"))["sessionId"]
    assert fork != session_id
    await rig.update(fork, "usage_update")
    await rig.say(session_id, "only here")
    rig.sent.clear()
    await rig.ask("session/load", sessionId=fork, cwd="/project", mcpServers=[])
    texts = [update["content"]["text"] for update in rig.updates("user_message_chunk", "agent_message_chunk")]
    assert texts == ["one", "two"]


async def test_sessions_are_listed_by_folder_and_gone_when_deleted(rig: AcpRig) -> None:
    await rig.initialize()
    here, there = await rig.new_session("/here"), await rig.new_session("/there")
    await rig.say(here, "Rename the parser")
    await rig.say(there, "Name the lexer")
    listed = (await rig.ask("session/list", cwd="/here"))["sessions"]
    assert [(entry["sessionId"], entry["title"]) for entry in listed] == [(here, "Rename the parser")]
    await rig.ask("session/close", sessionId=here)
    await rig.ask("session/delete", sessionId=here)
    assert [entry["sessionId"] for entry in (await rig.ask("session/list"))["sessions"]] == [there]


async def test_what_is_said_here_is_in_the_store_that_every_door_reads(rig: AcpRig, store: Path) -> None:
    await rig.initialize()
    session_id = await rig.new_session()
    await rig.say(session_id, "one", "two")
    with open_workspace(store) as elsewhere:
        assert [message.text for message in elsewhere.open(session_id).transcript.view] == ["one", "two"]
        await rig.say(session_id, "three")
        assert elsewhere.open(session_id).transcript.messages == 3


async def test_nothing_is_kept_of_what_is_answered(rig: AcpRig, session_id: str) -> None:
    await rig.prompt(session_id, "/context")
    await rig.ask("session/close", sessionId=session_id)
    assert rig.connection.unfinished() == 0


async def test_a_client_that_does_not_read_is_not_sent_a_whole_transcript(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, *(f"message {number}" for number in range(50)))
    rig.sent.clear()
    rig.stops_reading_at = "user_message_chunk"
    request_id = rig.start("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    await rig.update(session_id, "user_message_chunk")
    assert len(rig.updates()) == 1
    rig.stops_reading_at = ""
    rig.reads.set()
    await rig.answer(request_id)
    assert len(rig.updates("user_message_chunk", "agent_message_chunk")) == 50


@pytest.mark.parametrize("path", ["\0", "/no/such/file", "~nobody-by-this-name/x", "/"])
async def test_a_file_that_cannot_be_read_is_refused_by_name(rig: AcpRig, path: str) -> None:
    await rig.initialize()
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("_ullage/session/import", path=path)
    assert failure.value.code == -32602
    assert "cannot read" in failure.value.message


async def test_a_client_sets_a_title_of_any_stored_session_and_every_list_has_it(rig: AcpRig, session_id: str) -> None:
    assert await rig.ask("session/set_title", sessionId=session_id, title="The login page") == {
        "title": "The login page"
    }
    (listed,) = (await rig.ask("session/list"))["sessions"]
    assert (listed["sessionId"], listed["title"]) == (session_id, "The login page")
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/set_title", sessionId="s_none", title="x")
    assert failure.value.code == -32002


async def test_a_session_without_a_message_is_not_listed(rig: AcpRig) -> None:
    await rig.initialize()
    for _ in range(3):
        await rig.new_session()
    assert (await rig.ask("session/list"))["sessions"] == []
