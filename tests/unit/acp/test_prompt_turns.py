"""Prompt turns with a model, from the client's end: updates, requests to the client, and answers."""

from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.lsp_client import RpcFailure
from support.playing_rig import MODEL, REJECT, PlayingRig, rigs_by

READING = """
think: Where is it?
say: I look.
tool: read_file {"path": "src/login.py"}
usage: 1200 30
---
when: def login
say: It is fine.
usage: 1400 20
---
when: not permit
say: Then not.
"""

# Outside the project, where the user is asked.
READING_OUTSIDE = READING.replace("src/login.py", "../other/login.py")


class ScriptedRig(PlayingRig):
    """A rig whose model plays a script, in a folder with one file, next to another folder with one."""

    def __init__(self, folder: Path, script: str) -> None:
        super().__init__(folder, script)
        self.project = folder / "project"
        self.outside = (folder / "other" / "login.py").resolve()
        for path in (self.project / "src" / "login.py", self.outside):
            path.parent.mkdir(parents=True)
            path.write_text("def login():\n    pass\n")

    async def open(self, capabilities: dict[str, Any] | None = None) -> str:
        await self.initialize(capabilities)
        session_id = await self.new_session(str(self.project))
        self.sent.clear()
        return session_id


Scripted = Callable[[str], ScriptedRig]


@pytest.fixture
async def scripted(tmp_path: Path) -> AsyncGenerator[Scripted]:
    async with rigs_by(partial(ScriptedRig, tmp_path)) as make:
        yield make


async def test_of_two_prompts_at_once_each_answer_has_the_usage_of_its_own_turn(scripted: Scripted) -> None:
    rig = scripted("say: One.\nusage: 800 12\n---\nsay: Two.\nusage: 900 10")
    session_id = await rig.open()
    asked = [
        rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}]) for text in "ab"
    ]
    assert [(await rig.answer(number))["usage"]["totalTokens"] for number in asked] == [812, 910]


async def test_reading_in_the_open_project_asks_nothing_and_is_shown_in_a_fence(scripted: Scripted) -> None:
    rig = scripted(READING)
    (rig.project / "src" / "login.py").write_text("def login():\n    # ```\n    pass\n")
    session_id = await rig.open()
    assert (await rig.prompt(session_id, "Look at the login"))["stopReason"] == "end_turn"
    shown = rig.updates("tool_call_update")[-1]["content"][0]["content"]["text"]
    assert shown.startswith("````\n     1\tdef login():\n")
    assert shown.endswith("\n````")
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd=str(rig.project), mcpServers=[])
    assert rig.updates("tool_call_update")[-1]["content"][0]["content"]["text"] == shown
    assert rig.faults == []


async def test_a_further_folder_of_the_client_is_read_as_the_project_is(scripted: Scripted) -> None:
    rig = scripted(READING_OUTSIDE)
    await rig.initialize()
    further = [str(rig.outside.parent)]
    opened = await rig.ask("session/new", cwd=str(rig.project), mcpServers=[], additionalDirectories=further)
    assert (await rig.prompt(opened["sessionId"], "Look at the login"))["stopReason"] == "end_turn"
    assert rig.text() == "I look.It is fine."
    with pytest.raises(RpcFailure, match="additionalDirectories must be an absolute path"):
        await rig.ask("session/new", cwd=str(rig.project), mcpServers=[], additionalDirectories=["other"])


async def test_a_rejected_tool_call_is_not_made_and_the_model_gets_the_refusal(scripted: Scripted) -> None:
    rig = scripted(READING_OUTSIDE)
    rig.answers["session/request_permission"] = lambda _: REJECT
    session_id = await rig.open()
    assert (await rig.prompt(session_id, "Look at the login"))["stopReason"] == "end_turn"
    assert rig.updates("tool_call_update")[-1]["status"] == "failed"
    assert rig.text() == "I look.Then not."


@pytest.mark.parametrize(
    "answer", [{}, {"outcome": "yes"}, {"outcome": {"outcome": "selected", "optionId": "no"}}, None]
)
async def test_an_invalid_answer_permits_nothing(scripted: Scripted, answer: Any) -> None:
    rig = scripted(READING_OUTSIDE)
    rig.answers["session/request_permission"] = lambda _: answer
    session_id = await rig.open()
    assert (await rig.prompt(session_id, "Look at the login"))["stopReason"] == "end_turn"
    assert rig.text() == "I look.Then not."


async def test_a_client_that_offers_its_files_is_asked_for_them(scripted: Scripted) -> None:
    rig = scripted(READING)
    rig.answers["fs/read_text_file"] = lambda params: {
        "content": f"def login(): ...  # unsaved {Path(params['path']).name}"
    }
    session_id = await rig.open({"fs": {"readTextFile": True}})
    await rig.prompt(session_id, "Look at the login")
    shown = rig.updates("tool_call_update")[-1]["content"][0]["content"]["text"]
    assert "unsaved login.py" in shown
    assert rig.faults == []


async def test_a_client_that_cannot_give_a_file_leaves_the_one_on_disk(scripted: Scripted) -> None:
    rig = scripted(READING)
    rig.answers["fs/read_text_file"] = lambda _: "no object"
    session_id = await rig.open({"fs": {"readTextFile": True}})
    await rig.prompt(session_id, "Look at the login")
    assert "def login():" in rig.updates("tool_call_update")[-1]["content"][0]["content"]["text"]


@pytest.mark.parametrize("reason", ["max_tokens", "refusal"])
async def test_why_the_model_stopped_is_answered(scripted: Scripted, reason: str) -> None:
    rig = scripted(f"say: And so\nstop: {reason}")
    session_id = await rig.open()
    assert (await rig.prompt(session_id, "go on"))["stopReason"] == reason
    assert rig.faults == []


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [("refused", 1406, "RequestRefused"), ("authentication", -32000, "AuthenticationFailed")],
)
async def test_a_provider_that_fails_is_an_error_with_its_name(
    scripted: Scripted, fault: str, code: int, kind: str
) -> None:
    rig = scripted(f"fail: {fault}\n---\nsay: again")
    session_id = await rig.open()
    with pytest.raises(RpcFailure) as failure:
        await rig.prompt(session_id, "hello")
    assert (failure.value.code, failure.value.data) == (code, {"kind": kind})
    assert (await rig.prompt(session_id, "hello?"))["stopReason"] == "end_turn"
    assert rig.faults == []


async def test_pictures_links_and_files_reach_the_model_and_the_transcript(scripted: Scripted) -> None:
    rig = scripted("when: What is this\nsay: I see.")
    session_id = await rig.open()
    prompt = [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "https://example.com/a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///project/b.py", "text": "the whole file"}},
    ]
    assert (await rig.ask("session/prompt", sessionId=session_id, prompt=prompt))["stopReason"] == "end_turn"
    assert rig.text() == "I see."
    rig.sent.clear()
    await rig.ask("session/load", sessionId=session_id, cwd=str(rig.project), mcpServers=[])
    kinds = [update["content"]["type"] for update in rig.updates("user_message_chunk")]
    assert kinds == ["text", "image", "resource_link", "resource"]
    assert rig.faults == []


async def test_the_content_of_blobs_reaches_the_model_if_it_is_text_or_a_picture(scripted: Scripted) -> None:
    rig = scripted("say: I see.")
    session_id = await rig.open()
    blobs = [
        {"uri": "file:///project/a.png", "blob": "QUJD", "mimeType": "image/png"},
        {"uri": "file:///project/a.toml", "blob": "YSA9IDE=", "mimeType": "application/toml"},
        {"uri": "file:///project/a.bin", "blob": "AAEC", "mimeType": "application/octet-stream"},
    ]
    prompt = [{"type": "resource", "resource": blob} for blob in blobs]
    await rig.ask("session/prompt", sessionId=session_id, prompt=prompt)
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id))["entries"]
    (content,) = [entry["message"]["content"] for entry in entries if entry["message"]["role"] == "user"]
    assert [(block["type"], block.get("text") or block.get("data")) for block in content] == [
        ("image", "QUJD"),
        ("resource", "a = 1"),
        ("resource", "AAEC"),
    ]
    assert rig.faults == []


async def test_authenticating_is_over_once_a_model_answers(scripted: Scripted) -> None:
    rig = scripted("say: hello")
    await rig.open()
    assert await rig.ask("authenticate", methodId="key") == {}


async def test_a_full_context_warns_compacts_and_goes_on(scripted: Scripted, tmp_path: Path) -> None:
    rig = scripted("say: " + "A long answer about the parser. " * 60 + "\nagain:")
    provider = {"kind": "scripted", "file": str(tmp_path / "script.txt"), "models": [MODEL]}
    small = {"model": MODEL, "models": {MODEL: {"window": 4_000}}, "providers": {"script": provider}}
    await rig.initialize(settings=small)
    session_id = await rig.new_session(str(rig.project))
    for number in range(8):
        assert (await rig.prompt(session_id, f"Question {number}: " + "why? " * 100))["stopReason"] == "end_turn"
    ended = [update for update in rig.updates("tool_call_update") if update["status"] == "completed"]
    assert any(update["title"].startswith("Compacted ") for update in ended)
    assert any("full" in update["content"]["text"] for update in rig.updates("agent_message_chunk"))
    assert all(update["used"] <= update["size"] for update in rig.updates("usage_update"))
    assert rig.faults == []


async def test_an_answer_that_crosses_a_cancellation_harms_nothing(scripted: Scripted) -> None:
    rig = scripted(READING_OUTSIDE)
    session_id = await rig.open()
    request_id = rig.start("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "look"}])
    question = await rig.until(lambda message: message.get("method") == "session/request_permission")
    rig.connection.feed(
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}\n' % request_id
        + b'{"jsonrpc":"2.0","id":"%b","result":{"outcome":{"outcome":"cancelled"}}}\n' % question["id"].encode()
    )
    with pytest.raises(RpcFailure) as failure:
        await rig.answer(request_id)
    assert failure.value.code == -32800
    assert (await rig.prompt(session_id, "/context"))["stopReason"] == "end_turn"
    assert rig.connection.unfinished() == 0


async def test_what_is_cleared_during_an_answer_is_one_text_after_it_for_clients_without_notices(
    scripted: Scripted,
) -> None:
    reads = "".join('tool: read_file {"path": "src/login.py"}\n---\n' for _ in range(12))
    rig = scripted(f"{reads}say: Done.")
    (rig.project / "src" / "login.py").write_text("def login():\n    pass\n" * 400)
    session_id = await rig.open()
    context = {"clearAtToolUses": 4, "clearAtLeast": 0, "keepToolUses": 1}
    await rig.ask("_ullage/session/configure", sessionId=session_id, context=context)
    rig.sent.clear()
    await rig.ask("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Read"}])
    texts = [update["content"]["text"] for update in rig.updates("agent_message_chunk")]
    assert texts[-1].startswith("\n\n_Room was made ")
    assert " times during this answer. Cleared old tool results: " in texts[-1]
    assert "Cleared" not in "".join(texts[:-1])
    assert "".join(texts[:-1]) == "Done."
