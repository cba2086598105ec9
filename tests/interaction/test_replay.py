"""A replayed conversation has the recorded answers, tool results and usage, and nothing from Ullage."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.workspace import SMALL_MODEL, Live, NoTools, TestClient, build_test_client
from ullage.model.errors import AnswerBroken
from ullage.model.message import ToolDefinition, ToolUseBlock
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.registry import ProviderRegistry
from ullage.service.ports.models import ToolOutcome

# Together these texts are longer than the model's whole window.
LONG = "word " * 5_000
RECORDED = [
    {"role": "user", "content": "Read both."},
    {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "I read."},
            {"type": "tool_use", "id": "a", "name": "read_file", "input": {"path": "a.py"}},
            {"type": "tool_use", "id": "b", "name": "read_file", "input": {"path": "b.py"}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": f"{LONG} a as it was"},
            {"type": "tool_result", "tool_use_id": "b", "content": f"{LONG} no such file", "is_error": True},
        ],
    },
    {"role": "assistant", "content": "Only a."},
    {"role": "user", "content": "And c?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "read_file", "input": {"path": "c.py"}}]},
]


class MustNotRun(NoTools):
    """A tool of the recorded name that fails the test if it is called."""

    def __init__(self) -> None:
        self.calls = 0

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="read_file"),)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        self.calls += 1
        return ToolOutcome(text="as it is now")


@pytest.fixture
def toolbox() -> MustNotRun:
    return MustNotRun()


@pytest.fixture
def client(tmp_path: Path, toolbox: MustNotRun) -> TestClient:
    recording = tmp_path / "recording.json"
    recording.write_text(json.dumps(RECORDED))
    provider = ProviderSettings(kind="replay", file=str(recording))
    settings = Settings(provider="tape", providers={"tape": provider})
    return build_test_client(settings=settings, live=Live(providers=ProviderRegistry(), toolbox=toolbox))


async def ask(client: TestClient, session_id: str, text: str) -> Any:
    return await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])


async def test_tools_return_what_they_returned_then_and_are_not_run_again(
    client: TestClient, toolbox: MustNotRun
) -> None:
    session_id = (await client.call("session/new", model=SMALL_MODEL))["sessionId"]

    assert await ask(client, session_id, "Read both.") == {"stopReason": "end_turn"}

    results = (await client.entries(session_id))[2]["message"]["content"]
    assert [(block["tool_use_id"], block.get("is_error", False)) for block in results] == [("a", False), ("b", True)]
    assert results[0]["content"][0]["text"].endswith("a as it was")
    statuses = [u["status"] for u in client.recorder.take() if u["sessionUpdate"] == "tool_call_update"]
    assert statuses == ["completed", "failed"]
    assert toolbox.calls == 0
    assert not client.workspace.open(session_id).transcript.tools


async def test_the_context_is_left_alone_however_full_it_is(client: TestClient) -> None:
    session_id = (await client.call("session/new", model=SMALL_MODEL))["sessionId"]
    await ask(client, session_id, "Read both.")

    usage = await client.call("context/get", sessionId=session_id)
    assert usage["used"] > usage["size"]
    assert usage["_meta"]["ullage"]["level"] == "off"
    assert (await client.call("context/history", sessionId=session_id))["edits"] == []
    assert not [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]


async def test_a_call_without_a_recorded_result_is_answered_so(client: TestClient, toolbox: MustNotRun) -> None:
    session_id = (await client.call("session/new", model=SMALL_MODEL))["sessionId"]
    await ask(client, session_id, "Read both.")
    with pytest.raises(AnswerBroken, match="recording is over"):
        await ask(client, session_id, "And c?")
    (result,) = (await client.entries(session_id))[-1]["message"]["content"]
    assert result["is_error"]
    assert "holds no result" in result["content"][0]["text"]
    assert toolbox.calls == 0
