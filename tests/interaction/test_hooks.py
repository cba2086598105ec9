"""Hooks, a user's own programs around a compaction, may stop it or add instructions, and never break it."""

import asyncio
import json
from typing import Any

import pytest

from support.fill import exchange, fill
from support.summaries import GOOD, say, says, script
from support.summaries import Listening as Model
from support.workspace import PATIENCE, ScriptedCommands, TestClient, build_test_client
from ullage.model.errors import CompactionVetoed
from ullage.model.settings import HookSettings, Settings, SummarySettings
from ullage.service.ports.models import CommandOutcome, SummaryStream
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

HOOKS = HookSettings(pre_compact=("pre",), post_compact=("post",))


class Listening(OfflineSummarizer):
    """The offline summarizer, which records the focus it was given."""

    def __init__(self) -> None:
        self.focuses: list[str] = []

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        self.focuses.append(request.focus)
        return await super().summarize(request, counter, reader)


def hooked(hooks: HookSettings = HOOKS, **outcomes: CommandOutcome) -> tuple[TestClient, ScriptedCommands, Listening]:
    commands, summarizer = ScriptedCommands(), Listening()
    commands.outcomes.update(outcomes)
    client = build_test_client(settings=Settings(hooks=hooks), commands=commands, summarizer=summarizer)
    return client, commands, summarizer


def answer(**said: Any) -> CommandOutcome:
    return CommandOutcome(out=json.dumps(said))


def running(client: TestClient) -> list[asyncio.Task[None]]:
    """Returns the hooks that run in the background."""
    return [task for conversation in client.workspace.conversations for task in conversation.work.background]


async def all_told(client: TestClient) -> None:
    """Waits for the hooks that run after compactions."""
    await asyncio.wait_for(asyncio.gather(*running(client)), PATIENCE)
    # A finished task is forgotten by its callback, which runs in the loop's next step.
    await asyncio.sleep(0)


def notices(client: TestClient) -> list[tuple[str, str]]:
    updates = [update for update in client.recorder.take() if "severity" in update]
    return [(update["_meta"]["ullage"]["kind"], update["title"]) for update in updates]


async def test_the_hook_before_a_compaction_gets_counts_of_the_messages_to_archive() -> None:
    client, commands, _ = hooked()
    session_id = await fill(client)
    compacted = await client.call("context/compact", sessionId=session_id, focus="the lexer")
    given = commands.given[0]
    assert given.pop("tokensArchived") > 1_000
    assert given == {
        "event": "preCompact",
        "sessionId": session_id,
        "cwd": "",
        "trigger": "manual",
        "focus": "the lexer",
        "contextSizeBefore": compacted["contextSizeBefore"],
        "messagesArchived": compacted["messagesArchived"],
        "dryRun": False,
    }


async def test_the_hook_after_a_compaction_gets_summary_sizes_and_time() -> None:
    client, commands, _ = hooked()
    session_id = await fill(client)
    compacted = await client.call("context/compact", sessionId=session_id)
    await all_told(client)
    given = commands.given[1]
    assert given["event"] == "postCompact"
    for name in ("editId", "summary", "messagesArchived", "contextSizeBefore", "contextSizeAfter"):
        assert given[name] == compacted[name]
    assert (given["trigger"], given["compactionNumber"], given["summarizer"]) == ("manual", 1, "offline")
    assert given["seconds"] == 0.0
    assert running(client) == []


async def test_contents_are_shared_only_if_asked_for_and_without_secrets() -> None:
    shares = HookSettings(pre_compact=("pre",), share_content=True)
    client, commands, _ = hooked(shares)
    session_id = await fill(client, exchanges=1)
    await client.say(session_id, "The password: hunter2hunter2", "Noted.")
    for number in range(6):
        await exchange(client, session_id, number)
    await client.call("context/compact", sessionId=session_id)
    texts = json.dumps(commands.given[0]["messages"])
    assert "Noted." in texts
    assert "hunter2hunter2" not in texts


@pytest.mark.parametrize(
    "outcome",
    [
        answer(veto="a release is under way"),
        CommandOutcome(status=2, err="a release\n is under way\n"),
        CommandOutcome(status=2, out="a release is under way"),
    ],
    ids=["json", "status", "status without words on standard error"],
)
async def test_a_veto_leaves_the_context_as_it_was_and_gives_its_reason(outcome: CommandOutcome) -> None:
    client, _, _ = hooked(pre=outcome)
    session_id = await fill(client)
    before = await client.entries(session_id)
    with pytest.raises(CompactionVetoed, match="hook stopped the compaction: a release is under way"):
        await client.call("context/compact", sessionId=session_id)
    statuses = [update["status"] for update in client.recorder.take() if "status" in update]
    assert statuses == ["in_progress", "failed"]
    assert await client.entries(session_id) == before


async def test_instructions_are_added_to_the_focus() -> None:
    client, _, summarizer = hooked(pre=answer(instructions="Keep the ticket numbers."))
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id, focus="the lexer")
    assert summarizer.focuses == ["the lexer\nKeep the ticket numbers."]


async def test_a_preview_asks_the_hook_too_and_its_commit_does_not_ask_again() -> None:
    client, commands, _ = hooked(pre=answer(instructions="Keep the ticket numbers."))
    session_id = await fill(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    await client.call("context/commit", sessionId=session_id, previewId=preview["previewId"])
    await all_told(client)
    assert [(given["event"], given.get("dryRun")) for given in commands.given] == [
        ("preCompact", True),
        ("postCompact", None),
    ]


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (CommandOutcome(fault="it took longer than 10 s"), "it took longer than 10 s"),
        (CommandOutcome(status=1, err="Traceback\n  oops"), "exit status 1: Traceback oops"),
        (
            CommandOutcome(out='{"veto": 5}'),
            "its answer cannot be used: Expected `str | null`, got `int` - at `$.veto`",
        ),
    ],
    ids=["fault", "status", "answer"],
)
async def test_a_hook_that_fails_causes_a_notice_and_the_compaction_continues(
    outcome: CommandOutcome, said: str
) -> None:
    client, _, _ = hooked(pre=outcome)
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    told = notices(client)
    assert told[0] == ("hook_failed", f"The preCompact hook failed and was passed over: {said}.")
    assert told[-1][0] == "compaction_complete"


async def test_words_that_are_no_answer_are_passed_over() -> None:
    client, _, _ = hooked(pre=CommandOutcome(out="All is well.\n"))
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    assert [kind for kind, _ in notices(client)] == ["compaction_complete"]


async def test_a_hook_after_a_compaction_that_fails_causes_a_notice() -> None:
    client, _, _ = hooked(post=CommandOutcome(status=7))
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    await all_told(client)
    assert notices(client)[-1] == ("hook_failed", "The postCompact hook failed and was passed over: exit status 7.")


async def test_a_vetoed_automatic_compaction_causes_one_notice_and_is_tried_again_when_the_context_has_grown() -> None:
    client, commands, _ = hooked(pre=answer(veto="not now"))
    session_id = await fill(client, exchanges=8)
    await exchange(client, session_id, 8)
    assert len(await client.entries(session_id)) == 19
    kinds = [kind for kind, _ in notices(client)]
    assert kinds.count("compaction_vetoed") == 1
    await client.say(session_id, "Yes?", "Yes.")
    await client.entries(session_id)
    assert len(commands.given) == 1
    commands.outcomes.clear()
    await client.say(session_id, "Go on. " * 60, "I do. " * 40)
    await client.entries(session_id)
    assert [given["event"] for given in commands.given][:2] == ["preCompact", "preCompact"]
    assert (await client.call("context/get", sessionId=session_id))["used"] < 4_915


async def test_even_a_veto_does_not_let_the_context_exceed_the_window() -> None:
    client, _, _ = hooked(pre=answer(veto="never"))
    session_id = await fill(client, exchanges=14)
    await client.entries(session_id)
    assert (await client.call("context/get", sessionId=session_id))["used"] <= 6_144


async def test_cancelling_while_the_hook_runs_leaves_the_context_as_it_was() -> None:
    started, never = asyncio.Event(), asyncio.Event()

    class Endless(ScriptedCommands):
        async def run(self, command: Any, given: bytes, timeout: float) -> CommandOutcome:
            started.set()
            await never.wait()
            return CommandOutcome()

    client = build_test_client(settings=Settings(hooks=HOOKS), commands=Endless())
    session_id = await fill(client)
    before = await client.entries(session_id)
    request = asyncio.create_task(client.call("context/compact", sessionId=session_id))
    await asyncio.wait_for(started.wait(), PATIENCE)
    request.cancel()
    with pytest.raises(asyncio.CancelledError):
        await request
    assert await client.entries(session_id) == before


async def test_the_hook_is_asked_once_however_often_the_summary_is_tried() -> None:
    commands = ScriptedCommands()
    commands.outcomes["pre"] = answer(instructions="Name the tickets.")
    bad, good = says("say: Hm."), says(say(GOOD))
    provider = Model(script(bad, good))
    settings = Settings(hooks=HOOKS, summary=SummarySettings(prepare_at=0.99))
    client = build_test_client(settings=settings, commands=commands, live=provider.live())
    session_id = await fill(client)
    await client.call("context/compact", sessionId=session_id)
    await all_told(client)
    assert [given["event"] for given in commands.given] == ["preCompact", "postCompact"]
    assert ["Name the tickets." in request.instructions for request in provider.summaries] == [True, True]
