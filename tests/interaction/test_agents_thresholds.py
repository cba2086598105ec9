"""What a user is shown of the threshold at which an agent compacts a followed or imported conversation."""

from typing import Any

from support.claude_log import ClaudeLog
from support.workspace import TestClient, build_test_client
from ullage.model.events import CompactionCause
from ullage.policy.evidence import Compacted


async def brought_in(client: TestClient, log: ClaudeLog) -> Any:
    """Imports a log, or continues the session of an earlier import. Returns the figures."""
    session = (await client.call("session/import", text=log.text))["session"]
    return session["usage"]["_meta"]["ullage"]


def warnings(client: TestClient) -> list[str]:
    return [update["title"] for update in client.recorder.take() if update.get("severity") == "warning"]


async def test_an_approach_to_the_agents_compaction_is_warned_of_once() -> None:
    client, log = build_test_client(), ClaudeLog()
    for tokens in range(120_000, 150_000, 3_000):
        log.ask().answer(tokens)
    await brought_in(client, log)
    assert warnings(client) == []
    for tokens in range(150_000, 166_000, 2_000):
        await brought_in(client, log.ask().answer(tokens))
    assert len(warnings(client)) == 1
    await brought_in(client, log.compact(167_050).ask().answer(40_000))
    for tokens in range(150_000, 166_000, 2_000):
        await brought_in(client, log.ask().answer(tokens))
    assert len(warnings(client)) == 1


async def test_a_model_without_a_threshold_is_never_warned_of_and_the_reason_is_shown() -> None:
    client, log, meta = build_test_client(), ClaudeLog(model="claude-sonnet-4-5", version="2.1.197"), dict[str, Any]()
    for tokens in range(120_000, 200_000, 4_000):
        meta = await brought_in(client, log.ask().answer(tokens))
    assert warnings(client) == []
    assert (meta["threshold"], meta["compactAt"]) == (None, None)
    assert [remark["kind"] for remark in meta["remarks"]] == ["no_threshold"]


async def test_the_first_calls_beyond_an_old_threshold_take_it_back() -> None:
    client, log = build_test_client(), ClaudeLog()
    meta = await brought_in(client, log.ask().answer(160_000))
    assert meta["threshold"]["tokens"] == 167_000
    meta = await brought_in(client, log.ask().answer(170_000).ask().answer(172_000))
    assert meta["threshold"] is None
    assert [remark["kind"] for remark in meta["remarks"]] == ["passed"]


async def test_old_conversations_that_are_read_later_are_older_evidence(client: TestClient) -> None:
    older = ClaudeLog(session="s-older").ask("Earlier.").answer(89_900).compact(90_100)
    older.rename("older")
    later = ClaudeLog(session="s-later")
    later.now += 5_000_000
    await brought_in(client, later.ask("Later.").answer(166_900).compact(167_100).ask().answer(40_000))
    await brought_in(client, older)
    meta = await brought_in(client, ClaudeLog(session="s-third").ask("A third.").answer(50_000))
    assert meta["threshold"]["tokens"] == 167_000


async def test_the_store_keeps_the_newest_compactions_of_each_model() -> None:
    workspace = build_test_client().workspace
    for number in reversed(range(30)):
        for model in ("m", "n"):
            seen = Compacted(
                cause=CompactionCause.THRESHOLD, tokens=90_000 + number, model=model, id=f"{model}{number}", at=number
            )
            workspace.keep_compactions("claude-code", [seen])
    kept = workspace.compactions("claude-code")
    assert [one.at for one in kept if one.model == "m"] == list(range(10, 30))
    assert len(kept) == 40


async def test_a_fork_and_a_continued_session_are_no_further_evidence_of_a_threshold(client: TestClient) -> None:
    original = ClaudeLog(session="s-original").ask().answer(166_900).ask().compact(167_100).ask().answer(40_000)
    await brought_in(client, original)
    (kept,) = client.workspace.compactions("claude-code")
    for line in original.lines:
        line |= {"sessionId": "s-fork", "forkedFrom": {"sessionId": "s-original"}}
    await brought_in(client, original)
    # The same under new ids, as a process writes that resumes a session.
    for line in original.lines:
        line["sessionId"] = "s-resumed"
        del line["forkedFrom"]
    original.rename("resumed")
    await brought_in(client, original)
    assert client.workspace.compactions("claude-code") == (kept,)
    # The fork of a full context is compacted at once.
    full = ClaudeLog(session="s-full").ask().answer(166_900)
    for line in full.lines:
        line["forkedFrom"] = {"sessionId": "s-original"}
    await brought_in(client, full.ask().compact(167_200).ask().answer(41_000))
    assert client.workspace.compactions("claude-code") == (kept,)
