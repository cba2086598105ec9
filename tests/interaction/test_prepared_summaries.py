"""What is done ahead of a compaction: messages are read and a summary is prepared; when, how long it can be used, and
that nothing waits for it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from threading import Event
from typing import Any

import pytest

from support.fill import EXCHANGES_BELOW_WARNING, exchange, fill, reply, start
from support.summaries import GOOD, TOLD, Listening, by_model, say, says, script
from support.workspace import PATIENCE, SMALL_MODEL, TestClient, build_test_client
from ullage.ledger.ledger_entry import Ledger
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings, ModelSettings, Settings, SummarySettings, TruncationMode
from ullage.service.conversation.work import Preparation
from ullage.summary.reader import Check, Reader

LATER = GOOD.replace("line 7", "line 9")
# Seven exchanges are 4,770 tokens: over 75 % of usable (4,608), below the warning. The ninth compacts.
PREPARED = EXCHANGES_BELOW_WARNING
HANGS = says("wait: 600", say(GOOD))


def meet(text: str, **summary: Any) -> tuple[TestClient, Listening]:
    provider = Listening(text)
    settings = Settings(summary=SummarySettings(**summary))
    return build_test_client(settings=settings, live=provider.live()), provider


def preparation(client: TestClient, session_id: str) -> Preparation:
    """Returns the session's preparation."""
    found = client.workspace.open(session_id).work.preparation
    assert found is not None
    return found


def has_preparation(client: TestClient) -> bool:
    """Whether any open conversation has one."""
    return any(conversation.work.preparation is not None for conversation in client.workspace.conversations)


async def prepared(client: TestClient, exchanges: int = PREPARED) -> str:
    """Makes a session whose preparation has ended, with or without a summary."""
    session_id = await fill(client, exchanges)
    await client.workspace.open(session_id).settled()
    await asyncio.wait([preparation(client, session_id).task], timeout=PATIENCE)
    return session_id


async def overfill(client: TestClient, session_id: str) -> Any:
    """Appends exchanges until a compaction, and returns its marker with the summary in it."""
    for number in range(PREPARED, PREPARED + 2):
        await exchange(client, session_id, number)
        await client.workspace.open(session_id).settled()
    entries = await client.entries(session_id)
    (marker,) = [entry["message"]["content"][0] for entry in entries if entry["inserted"]]
    return marker


async def test_a_summary_is_prepared_from_its_share_on_and_not_before() -> None:
    client, provider = meet(says(say(GOOD)))
    await fill(client, PREPARED - 1)
    await client.workspace.open("s_1").settled()
    assert not has_preparation(client)
    await exchange(client, "s_1", PREPARED)
    await client.workspace.open("s_1").settled()
    await asyncio.wait([preparation(client, "s_1").task], timeout=PATIENCE)
    (asked,) = provider.requests
    assert asked.messages == client.workspace.open("s_1").transcript.view
    assert asked.tools_refused


async def test_a_prepared_summary_is_swapped_in_without_another_request() -> None:
    client, provider = meet(script(says(say(GOOD)), says(say(LATER))))
    session_id = await prepared(client)
    known = preparation(client, session_id).ids
    marker = await overfill(client, session_id)
    assert by_model(marker["summary"]) == TOLD
    assert len(provider.requests) == 1
    archived = {entry["message"]["id"] for entry in await client.entries(session_id, "transcript") if entry["archived"]}
    assert archived
    assert archived <= known
    session = client.workspace.open(session_id)
    assert session.used <= 3_072
    chunks = [u for u in client.recorder.take() if u["sessionUpdate"] == "compaction_summary_chunk"]
    assert by_model("".join(chunk["content"]["text"] for chunk in chunks)) == TOLD


async def test_in_a_large_window_the_tail_grows_to_hold_what_came_since() -> None:
    """A tail is 20,000 tokens at most, but 44,000 tokens fit between 75 % and 90 % of 292,000."""
    provider = Listening(script(says(say(GOOD)), says(say(LATER))))
    settings = Settings(models={SMALL_MODEL: ModelSettings(window=300_000)})
    client = build_test_client(settings=settings, live=provider.live())
    session_id = await fill(client, 0)
    session = client.workspace.open(session_id)
    while session.transcript.compactions == 0:
        await client.say(session_id, "And this? " * 3_000, "It is well. " * 1_000)
        await session.settled()
        if session.work.preparation is not None:
            await asyncio.wait([session.work.preparation.task], timeout=PATIENCE)
    assert len(provider.requests) == 1
    assert 40_000 < session.used <= 146_000
    (marker,) = [message.compaction for message in session.transcript.view if message.compaction]
    assert by_model(marker.summary) == TOLD


async def test_a_prepared_summary_knows_what_was_done_since() -> None:
    client, _ = meet(says(say(GOOD)))
    session_id = await fill(client, 6)
    use = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/src/lexer.py", "content": "x"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "written"}]}
    messages = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    await client.call("session/append", sessionId=session_id, messages=messages)
    await exchange(client, session_id, 6)
    await client.workspace.open(session_id).settled()
    marker = await overfill(client, session_id)
    assert by_model(marker["summary"]) == TOLD
    assert [file["path"] for file in marker["ledger"]["files"]] == ["/src/lexer.py"]
    assert "created: /src/lexer.py" in marker["summary"]


async def test_what_became_false_since_it_was_prepared_is_not_in_a_summary() -> None:
    client, provider = meet(
        says(say(GOOD.replace("- The lexer is done.", "- The lexer is done.\n- `make all` fails.")))
    )
    session_id = await prepared(client)
    use = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make all"}}
    failed = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "x.c:1: error: no"}]}
    passed = {"type": "tool_result", "tool_use_id": "t2", "content": [{"type": "text", "text": "gcc x.c\nok"}]}
    await exchange(client, session_id, PREPARED)
    await client.call(
        "session/append",
        sessionId=session_id,
        messages=[
            {"role": "assistant", "content": [use]},
            {"role": "user", "content": [{**failed, "is_error": True}]},
            {"role": "assistant", "content": [{**use, "id": "t2"}]},
            {"role": "user", "content": [passed]},
        ],
    )
    marker = await overfill(client, session_id)
    assert by_model(marker["summary"]) == TOLD
    assert len(provider.requests) == 1


async def test_an_edit_overtakes_a_prepared_summary() -> None:
    client, provider = meet(script(says(say(GOOD)), says(say(LATER))))
    session_id = await prepared(client)
    await client.call("context/compact", sessionId=session_id, focus="line 3")
    await client.call("context/undo", sessionId=session_id)
    assert len(provider.requests) == 2
    marker = await overfill(client, session_id)
    assert by_model(marker["summary"]) != TOLD


async def test_a_summary_that_does_not_know_all_that_is_archived_is_not_used() -> None:
    client, provider = meet(script(says(say(GOOD)), says(say(LATER))))
    session_id = await prepared(client)
    await client.say(session_id, *("And this? " * 1_000 for _ in range(3)))
    entries = await client.entries(session_id)
    (summary,) = [entry["message"]["content"][0]["summary"] for entry in entries if entry["inserted"]]
    assert "line 9" in summary
    assert len(provider.requests) == 2


async def test_a_compaction_waits_for_the_summary_that_is_being_prepared_instead_of_asking_again() -> None:
    client, provider = meet(script(says("wait: 0.02", say(GOOD)), says(say(LATER))))
    session_id = await fill(client, PREPARED)
    marker = await overfill(client, session_id)
    assert by_model(marker["summary"]) == TOLD
    assert len(provider.requests) == 1


async def test_one_is_prepared_at_a_time() -> None:
    client, provider = meet(script(HANGS, HANGS))
    session_id = await fill(client, PREPARED)
    await client.workspace.open(session_id).settled()
    await provider.until_asked()
    first = preparation(client, session_id)
    await client.say(session_id, "And?")
    await client.workspace.open(session_id).settled()
    assert preparation(client, session_id) is first
    assert not first.task.done()
    await client.call("session/close", sessionId=session_id)


@pytest.mark.parametrize(
    "fault", ["stop: max_tokens", "stop: refusal", "tool: run {}", "fail: broken", "fail: authentication"]
)
async def test_a_preparation_that_fails_causes_no_notice_and_is_not_tried_again_before_the_compaction(
    fault: str,
) -> None:
    client, provider = meet(script(says(say(GOOD), fault), says(say(LATER))))
    session_id = await prepared(client)
    await client.say(session_id, "And?")
    await client.workspace.open(session_id).settled()
    assert len(provider.requests) == 1
    assert [u for u in client.recorder.take() if u["sessionUpdate"] == "notice"] == []
    marker = await overfill(client, session_id)
    assert "line 9" in marker["summary"]


@pytest.mark.parametrize("method", ["session/cancel", "session/close"])
async def test_a_preparation_ends_with_the_work_that_the_user_stops(method: str) -> None:
    client, provider = meet(script(HANGS, HANGS))
    session_id = await fill(client, PREPARED)
    await client.workspace.open(session_id).settled()
    await provider.until_asked()
    task = preparation(client, session_id).task
    await client.call(method, sessionId=session_id)
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.cancelled()
    assert not has_preparation(client)


@pytest.mark.parametrize("summary", [{"writer": "offline"}, {"prepare_at": 0.95}])
async def test_nothing_is_prepared_where_no_model_writes_or_the_share_is_not_reached(summary: dict[str, Any]) -> None:
    client, provider = meet(says(say(GOOD)), **summary)
    session_id = await fill(client, PREPARED)
    await client.workspace.open(session_id).settled()
    assert not has_preparation(client)
    assert provider.requests == []


async def test_a_compaction_by_hand_takes_the_prepared_summary_unless_it_has_a_focus() -> None:
    client, provider = meet(script(says(say(GOOD)), says(say(LATER))))
    session_id = await prepared(client)
    preview = await client.call("context/compact", sessionId=session_id, dryRun=True)
    assert by_model(preview["summary"]) == TOLD
    focused = await client.call("context/compact", sessionId=session_id, focus="the lexer")
    assert "line 9" in focused["summary"]
    assert len(provider.requests) == 2


# An exchange is 680 tokens; half of the compaction threshold is 2,764.
EXCHANGES_TO_HALF = 5


class CountingReader(Reader):
    """Counts how often it reads each of the agent's texts ahead, and how many messages it folds when it is asked for a
    ledger. Reads ahead only while `let` is set."""

    def __init__(self) -> None:
        self.read, self.folded = Counter[str](), 0
        self.asked, self.let = Event(), Event()
        self.let.set()
        super().__init__()

    def go_on(
        self, conversation: str, messages: Sequence[Message], indices: Sequence[int], *, cwd: str, check: Check
    ) -> None:
        left = iter(messages)

        def count() -> None:
            self.asked.set()
            assert self.let.wait(PATIENCE)
            check()
            self.see(next(left))

        super().go_on(conversation, messages, indices, cwd=cwd, check=count)

    def see(self, message: Message) -> None:
        if message.role is Role.ASSISTANT:
            self.read[message.text] += 1

    def ledger(
        self,
        messages: Sequence[Message],
        indices: Sequence[int],
        *,
        conversation: str = "",
        cwd: str = "",
        focus: frozenset[str] = frozenset(),
        check: Check = lambda: None,
    ) -> Ledger:
        def count() -> None:
            self.folded += 1
            check()

        return super().ledger(messages, indices, conversation=conversation, cwd=cwd, focus=focus, check=count)


def counting(settings: Settings | None = None) -> tuple[TestClient, CountingReader]:
    client = build_test_client(settings=settings)
    client.workspace.reader = reader = CountingReader()
    return client, reader


async def all_read(client: TestClient, session_id: str = "s_1") -> None:
    """Waits until nothing is left to read."""
    work = client.workspace.open(session_id).work
    while work.reading is not None:
        _, unread = await asyncio.wait([work.reading], timeout=PATIENCE)
        assert not unread


def replies(stop: int) -> Counter[str]:
    return Counter(map(reply, range(stop)))


async def test_from_half_of_the_threshold_on_every_message_is_read_once_and_none_before() -> None:
    client, reader = counting()
    session_id = await fill(client, EXCHANGES_TO_HALF - 1)
    await all_read(client)
    assert not reader.read
    for number in range(EXCHANGES_TO_HALF - 1, EXCHANGES_BELOW_WARNING):
        await exchange(client, session_id, number)
        await all_read(client)
        assert reader.read == replies(number + 1)


async def test_an_automatic_compaction_reads_nothing_that_was_read_ahead() -> None:
    client, reader = counting()
    session_id = await fill(client)
    await all_read(client)
    before = replies(EXCHANGES_BELOW_WARNING)
    assert reader.read == before
    for number in range(EXCHANGES_BELOW_WARNING, EXCHANGES_BELOW_WARNING + 2):
        await exchange(client, session_id, number)
        await client.workspace.open(session_id).settled()
    assert client.workspace.open(session_id).transcript.compactions == 1
    await all_read(client)
    assert {text: reader.read[text] for text in before} == before
    assert reader.folded <= 4


async def test_appends_and_figures_do_not_wait_for_the_reading() -> None:
    client, reader = counting()
    reader.let.clear()
    session_id = await fill(client, EXCHANGES_TO_HALF)
    assert await asyncio.to_thread(reader.asked.wait, PATIENCE)
    used = await exchange(client, session_id, EXCHANGES_TO_HALF)
    assert (await client.call("context/get", sessionId=session_id))["used"] == used
    assert not reader.read
    reader.let.set()
    await all_read(client)
    assert reader.read == replies(EXCHANGES_TO_HALF + 1)


async def test_of_two_conversations_one_is_read_at_a_time() -> None:
    client, reader = counting()
    reader.let.clear()
    first, second = await start(client), await start(client)
    for session_id in (first, second):
        for number in range(EXCHANGES_TO_HALF):
            await exchange(client, session_id, number)
    assert await asyncio.to_thread(reader.asked.wait, PATIENCE)
    readings = [client.workspace.open(session_id).guards.read_to for session_id in (first, second)]
    assert readings[0] > readings[1] == 0
    reader.let.set()
    await all_read(client, second)
    assert reader.read == replies(EXCHANGES_TO_HALF) + replies(EXCHANGES_TO_HALF)


async def test_a_closed_session_is_not_read_on() -> None:
    client, reader = counting()
    reader.let.clear()
    session_id = await fill(client, EXCHANGES_TO_HALF)
    work = client.workspace.open(session_id).work
    assert await asyncio.to_thread(reader.asked.wait, PATIENCE)
    reading = work.reading
    assert reading is not None
    await client.call("session/close", sessionId=session_id)
    reader.let.set()
    await asyncio.wait([reading], timeout=PATIENCE)
    assert reading.cancelled()
    await asyncio.wait_for(asyncio.get_running_loop().shutdown_default_executor(), PATIENCE)
    assert not reader.read


async def test_where_no_summary_will_be_written_nothing_is_read() -> None:
    for context in (ContextSettings(mode=TruncationMode.TOKEN_BUDGET), ContextSettings(enabled=False)):
        client, reader = counting(Settings(context=context))
        await fill(client)
        await all_read(client)
        assert not reader.read


async def test_a_message_that_cannot_be_read_is_logged_and_a_compaction_reads_it_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Failing(CountingReader):
        def see(self, message: Message) -> None:
            if message.text == reply(EXCHANGES_TO_HALF - 1):
                raise LookupError("lost")
            super().see(message)

    client = build_test_client()
    client.workspace.reader = reader = Failing()
    session_id = await fill(client, EXCHANGES_TO_HALF)
    await all_read(client)
    assert "reading ahead broke down" in caplog.text
    done = await client.call("context/compact", sessionId=session_id)
    assert "What the user said" in done["summary"]
    assert reader.folded


async def test_private_text_is_hidden_before_it_is_read_as_a_compaction_hides_it() -> None:
    client, reader = counting(Settings(context=ContextSettings(private_patterns=("too many",))))
    session_id = await fill(client)
    await all_read(client)
    assert reader.read.total() == EXCHANGES_BELOW_WARNING
    assert not any("too many" in text for text in reader.read)
    await client.call("context/compact", sessionId=session_id)
    assert reader.folded == 0
