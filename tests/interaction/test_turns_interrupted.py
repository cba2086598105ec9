"""Prompt turns together with everything else that may happen to their session, and with an answer that does not end."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from support.memory_store import MemoryStore
from support.workspace import (
    LARGE_MODEL,
    PATIENCE,
    CountingIds,
    EndlessTool,
    Live,
    OneProvider,
    TestClient,
    build_test_client,
    play,
)
from ullage.model.answer import Fragment, ModelRequest, TextDelta, ThinkingDelta, ToolInputDelta, ToolUseStart, TurnEnd
from ullage.model.errors import AnswerBroken, InvalidRequest, SessionNotFound
from ullage.model.message import TextBlock
from ullage.service.ports.models import ProviderCapabilities
from ullage.service.turns import prompt

WRITES_ON = "say: One\nwait: 60\nsay: two"


async def start(client: TestClient, model: str = LARGE_MODEL) -> str:
    return (await client.call("session/new", model=model))["sessionId"]


def begin(client: TestClient, session_id: str, text: str) -> "asyncio.Task[Any]":
    prompt = [{"type": "text", "text": text}]
    return asyncio.create_task(client.call("session/prompt", sessionId=session_id, prompt=prompt))


async def said(client: TestClient, session_id: str) -> list[str]:
    entries = await client.entries(session_id, "transcript")
    return [part["text"] for entry in entries for part in entry["message"]["content"] if part["type"] == "text"]


async def seen(client: TestClient, kind: str) -> None:
    """Waits until an update of that kind was sent."""
    async with asyncio.timeout(PATIENCE):
        while not any(sent.update.__struct_config__.tag == kind for sent in client.recorder.notifications):
            await asyncio.sleep(0)


async def writing(client: TestClient, session_id: str, text: str = "Count") -> "asyncio.Task[Any]":
    """Starts a turn and returns once its answer is being written."""
    turn = begin(client, session_id, text)
    await seen(client, "agent_message_chunk")
    return turn


async def test_cancelling_where_nothing_runs_does_nothing() -> None:
    client = build_test_client(live=play("say: Hello."))
    session_id = await start(client)
    await client.call("session/cancel", sessionId=session_id)
    assert await begin(client, session_id, "Hi") == {"stopReason": "end_turn"}


async def test_deleting_a_session_ends_its_turn() -> None:
    client = build_test_client(live=play(WRITES_ON))
    session_id = await start(client)
    turn = await writing(client, session_id)

    await client.call("session/delete", sessionId=session_id)

    assert await turn == {"stopReason": "cancelled"}
    with pytest.raises(SessionNotFound):
        await client.entries(session_id)


@pytest.mark.parametrize("prompt", [[], [{"type": "text", "text": " \n"}], [{"type": "audio", "data": ""}]])
async def test_a_prompt_that_asks_nothing_is_refused_and_leaves_no_trace(prompt: list[Any]) -> None:
    client = build_test_client(live=play("say: Hello."))
    session_id = await start(client)
    with pytest.raises(InvalidRequest, match="prompt"):
        await client.call("session/prompt", sessionId=session_id, prompt=prompt)
    assert await client.entries(session_id) == []


async def test_an_image_reaches_the_model_and_is_named_to_the_other_clients() -> None:
    client = build_test_client(live=play("say: A cat."))
    session_id = await start(client)
    picture = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "What?"}, picture])
    kinds = [part["type"] for part in (await client.entries(session_id))[0]["message"]["content"]]
    shown = [update for update in client.recorder.take() if update["sessionUpdate"] == "user_message_chunk"]
    assert kinds == ["text", "image"]
    assert [update["content"]["text"] for update in shown] == ["What?\n[picture]"]


async def test_the_first_prompt_gives_the_session_its_title_and_clients_get_it() -> None:
    client = build_test_client(live=play("say: Yes."))
    session_id = await start(client)
    await begin(client, session_id, "Mend the clock\nplease")
    titles = [update["title"] for update in client.recorder.take() if "title" in update]
    assert titles == ["Mend the clock"]
    assert (await client.call("session/load", sessionId=session_id))["title"] == "Mend the clock"


async def test_two_processes_ask_in_one_session_and_both_answers_stay() -> None:
    store, ids = MemoryStore(), CountingIds()
    one = build_test_client(store, ids=ids, live=play("wait: 0.001\nsay: From one."))
    two = build_test_client(store, ids=ids, live=play("wait: 0.001\nsay: From two."))
    session_id = await start(one)

    ends = await asyncio.gather(begin(one, session_id, "A"), begin(two, session_id, "B"))

    assert ends == [{"stopReason": "end_turn"}] * 2
    assert sorted(await said(one, session_id)) == ["A", "B", "From one.", "From two."]
    assert await said(one, session_id) == await said(two, session_id)


async def test_the_first_prompt_is_known_by_the_providers_count_before_anything_is_sent() -> None:
    client = build_test_client(live=play("say: Hello.\nusage: 1000 10"))
    session_id = await start(client)
    client.recorder.take()
    await begin(client, session_id, "Hi")

    updates = client.recorder.take()
    first_word = next(at for at, update in enumerate(updates) if update["sessionUpdate"] == "agent_message_chunk")
    before = [update for update in updates[:first_word] if update["sessionUpdate"] == "usage_update"]
    assert [update["_meta"]["ullage"]["source"] for update in before][-1] == "reported"
    assert before[-1]["_meta"]["ullage"]["totals"] == {}
    assert updates[-1]["used"] == 1010


@pytest.mark.parametrize("steps", range(30))
async def test_closing_ends_a_turn_however_far_it_has_come(steps: int) -> None:
    client = build_test_client(live=play("tool: slow {}", EndlessTool()))
    session_id = await start(client)
    turn = asyncio.create_task(prompt(client.workspace.open(session_id), [TextBlock(text="Use the tool.")]))
    for _ in range(steps):
        await asyncio.sleep(0)

    async with asyncio.timeout(PATIENCE):
        await client.workspace.end(session_id)
        assert await turn is TurnEnd.CANCELLED

    assert not client.workspace.conversations


# Characters that come at most, so that a reader of all of them ends, too.
_MOST = 60_000_000
_PIECE = "x" * 50_000
ENDLESS: dict[str, Fragment] = {
    "text": TextDelta(text=_PIECE),
    "thinking": ThinkingDelta(text=_PIECE),
    "a tool's input": ToolInputDelta(id="t", text=_PIECE),
}


class EndlessProvider:
    """Writes the same fragment again and again."""

    name = "endless"

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment
        self.written = 0

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities()

    async def stream(self, _request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        yield TextDelta(text="It begins. ")
        yield ToolUseStart(id="t", name="run")
        while self.written < _MOST:
            self.written += len(_PIECE)
            yield self._fragment

    async def count_tokens(self, _request: ModelRequest, /) -> int | None:
        return None

    async def check(self, _model: str, /) -> str:
        return ""

    async def close(self) -> None:
        """Does nothing, because no connection is open."""


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_answer_without_end_is_cut_off_and_its_text_stays(kind: str) -> None:
    provider = EndlessProvider(ENDLESS[kind])
    client = build_test_client(live=Live(providers=OneProvider(provider)))
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    with pytest.raises(AnswerBroken, match="endless's answer does not end"):
        await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Count"}])
    assert provider.written < _MOST // 4
    last = (await client.entries(session_id, "transcript"))[-1]["message"]
    assert last["role"] == "assistant"
    assert last["content"][0]["text"].startswith("It begins. ")
