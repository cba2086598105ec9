"""Prompt turns with a model that plays a script: what is streamed, what is kept, how turns end, and Ullage's own tools
in them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.workspace import LARGE_MODEL, SMALL_MODEL, NoTools, TestClient, build_test_client, play
from ullage.app.compose import open_workspace
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, ProviderUnavailable
from ullage.model.events import SessionCreated
from ullage.model.message import TextBlock, ToolDefinition, ToolResultBlock, ToolUseBlock
from ullage.model.settings import ProviderSettings, Settings
from ullage.service.ports.models import ToolOutcome
from ullage.service.sessions import new_session
from ullage.service.turns import prompt


class Echo(NoTools):
    """A toolbox with one tool, which returns its input."""

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        return (ToolDefinition(name="echo", description="Returns `text`."),)

    async def run(self, _session_id: str, _cwd: str, use: ToolUseBlock, /) -> ToolOutcome:
        return ToolOutcome(text=f"echo {use.input.get('text')}")


async def start(client: TestClient, model: str = LARGE_MODEL) -> str:
    return (await client.call("session/new", model=model))["sessionId"]


async def ask(client: TestClient, session_id: str, text: str) -> Any:
    return await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": text}])


def texts(updates: list[Any], kind: str) -> str:
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == kind)


async def test_an_answer_streams_and_joins_the_transcript_with_its_usage() -> None:
    client = build_test_client(live=play("think: Hm.\nsay: Good morning to you.\nusage: 100 40"))
    session_id = await start(client)
    client.recorder.take()

    result = await ask(client, session_id, "Hello")

    updates = client.recorder.take()
    assert result == {"stopReason": "end_turn"}
    assert texts(updates, "user_message_chunk") == "Hello"
    assert texts(updates, "agent_thought_chunk") == "Hm."
    assert texts(updates, "agent_message_chunk") == "Good morning to you."
    assert updates[-1]["used"] == 140
    assert updates[-1]["_meta"]["ullage"]["source"] == "reported"
    entries = await client.entries(session_id)
    assert [entry["message"]["role"] for entry in entries] == ["user", "assistant"]
    assert entries[1]["message"]["content"][-1] == {"type": "text", "text": "Good morning to you."}
    chunk_ids = {update["messageId"] for update in updates if update["sessionUpdate"] == "agent_message_chunk"}
    assert chunk_ids == {entries[1]["message"]["id"]}


async def test_a_tool_is_run_and_the_model_goes_on_with_its_result() -> None:
    script = 'say: Let me see.\ntool: echo {"text": "one"}\n---\nwhen: echo one\nsay: It said one.'
    client = build_test_client(live=play(script, Echo()))
    session_id = await start(client)

    assert await ask(client, session_id, "Go") == {"stopReason": "end_turn"}

    entries = await client.entries(session_id)
    assert [entry["message"]["role"] for entry in entries] == ["user", "assistant", "user", "assistant"]
    result = entries[2]["message"]["content"][0]
    assert result["content"] == [{"type": "text", "text": "echo one"}]
    calls = [update for update in client.recorder.take() if update["sessionUpdate"].startswith("tool_call")]
    assert [call["status"] for call in calls] == ["pending", "in_progress", "completed"]


async def test_without_a_model_nothing_is_appended_and_the_remedy_is_named() -> None:
    client = build_test_client()
    session_id = await start(client)
    with pytest.raises(NoModelConfigured, match="ANTHROPIC_API_KEY"):
        await ask(client, session_id, "Hello")
    assert await client.entries(session_id) == []


async def test_prompts_of_one_session_are_answered_one_after_another() -> None:
    client = build_test_client(live=play("when: first\nsay: One.\n---\nwhen: second\nsay: Two."))
    session_id = await start(client)
    await asyncio.gather(ask(client, session_id, "first"), ask(client, session_id, "second"))
    said = [entry["message"]["content"][0]["text"] for entry in await client.entries(session_id)]
    assert said == ["first", "One.", "second", "Two."]


async def test_a_busy_provider_is_asked_again_and_the_user_gets_a_notice() -> None:
    client = build_test_client(live=play("fail: rate_limited 0\n---\nsay: There."))
    session_id = await start(client)
    assert await ask(client, session_id, "Hello") == {"stopReason": "end_turn"}
    kinds = [
        update["_meta"]["ullage"]["kind"] for update in client.recorder.take() if update["sessionUpdate"] == "notice"
    ]
    assert kinds == ["waiting_for_provider"]


async def test_a_failure_in_the_middle_of_an_answer_keeps_the_written_text_and_is_reported() -> None:
    client = build_test_client(live=play("say: Half of\nfail: unavailable\n---\nsay: And now the rest."))
    session_id = await start(client)
    with pytest.raises(ProviderUnavailable):
        await ask(client, session_id, "Speak")
    assert (await client.entries(session_id))[-1]["message"]["content"][0]["text"] == "Half of"

    await ask(client, session_id, "Go on")
    assert (await client.entries(session_id))[-1]["message"]["content"][0]["text"] == "And now the rest."


async def test_a_prompt_that_failed_is_sent_again_without_being_appended_again() -> None:
    client = build_test_client(live=play("fail: authentication\n---\nsay: There.\n---\nsay: Again."))
    session_id = await start(client)
    with pytest.raises(AuthenticationFailed):
        await ask(client, session_id, "Hello?")
    (failed,) = await client.entries(session_id)
    client.recorder.take()
    await ask(client, session_id, "Hello?")
    shown = [update for update in client.recorder.take() if update["sessionUpdate"] == "user_message_chunk"]
    assert [update["messageId"] for update in shown] == [failed["message"]["id"]]
    await ask(client, session_id, "Hello?")
    entries = await client.entries(session_id)
    assert [entry["message"]["role"] for entry in entries] == ["user", "assistant", "user", "assistant"]


async def test_a_request_the_provider_calls_too_long_is_made_smaller_and_sent_again() -> None:
    client = build_test_client(live=play("fail: too_long\n---\nsay: Now it fits."))
    session_id = await start(client, SMALL_MODEL)
    await client.say(session_id, *("word " * 300 for _ in range(8)))
    assert await ask(client, session_id, "Go on") == {"stopReason": "end_turn"}
    history = await client.call("context/history", sessionId=session_id)
    assert "drop" in {edit["kind"] for edit in history["edits"]}


async def test_the_context_is_compacted_between_tool_calls_and_never_while_the_model_writes() -> None:
    script = "\n---\n".join(f'say: {"word " * 400}{n}\ntool: echo {{"text": "{"more " * 300}"}}' for n in range(8))
    client = build_test_client(live=play(f"{script}\n---\nsay: Done.", Echo()))
    session_id = await start(client, SMALL_MODEL)

    assert await ask(client, session_id, "Work") == {"stopReason": "end_turn"}

    updates = client.recorder.take()
    compactions = [at for at, update in enumerate(updates) if update["sessionUpdate"].startswith("compaction")]
    assert compactions
    answers: dict[str, list[int]] = {}
    for at, update in enumerate(updates):
        if update["sessionUpdate"] == "agent_message_chunk":
            answers.setdefault(update["messageId"], []).append(at)
    assert not any(chunks[0] < at < chunks[-1] for chunks in answers.values() for at in compactions)


async def test_a_session_says_who_would_answer_its_prompts() -> None:
    client = build_test_client(live=play("say: Hello."))
    assert (await client.call("session/new"))["prompting"] == {
        "provider": "scripted",
        "remedy": "",
        "lacksPackage": False,
    }


async def test_without_a_model_a_session_says_what_would_make_one_answer() -> None:
    prompting = (await build_test_client().call("session/new"))["prompting"]
    assert prompting["provider"] is None
    assert "ANTHROPIC_API_KEY" in prompting["remedy"]
    assert prompting["lacksPackage"] is False


async def test_the_model_finds_what_was_said_in_its_own_session(tmp_path: Path) -> None:
    script = tmp_path / "script.txt"
    script.write_text('tool: recall {"query": "flamingo"}\n---\nwhen: archived record\nsay: It is in the archive.\n')
    provider = ProviderSettings(kind="scripted", file=str(script), models=("gpt-4o",))
    with open_workspace(tmp_path / "sessions.db", Settings(providers={"script": provider})) as workspace:
        session = new_session(workspace, SessionCreated(cwd=str(tmp_path), model="gpt-4o"))
        await prompt(workspace.open(session.id), [TextBlock(text="The flamingo is pink. But what did I say?")])
        view = workspace.open(session.id).transcript.view
    (result,) = [block for message in view for block in message.content if isinstance(block, ToolResultBlock)]
    found = "".join(part.text for part in result.content if isinstance(part, TextBlock))
    assert "flamingo" in found
    assert "message_id" in found
