"""Reading ahead: what is read before a compaction, when, and that nothing waits for it."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from threading import Event

import pytest

from support.fill import EXCHANGES_BELOW_WARNING, exchange, fill, reply, start
from support.workspace import PATIENCE, TestClient, build_test_client
from ullage.ledger.ledger_entry import Ledger
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings, Settings, TruncationMode
from ullage.summary.reader import Check, Reader

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


def meet(settings: Settings | None = None) -> tuple[TestClient, CountingReader]:
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
    client, reader = meet()
    session_id = await fill(client, EXCHANGES_TO_HALF - 1)
    await all_read(client)
    assert not reader.read
    for number in range(EXCHANGES_TO_HALF - 1, EXCHANGES_BELOW_WARNING):
        await exchange(client, session_id, number)
        await all_read(client)
        assert reader.read == replies(number + 1)


async def test_an_automatic_compaction_reads_nothing_that_was_read_ahead() -> None:
    client, reader = meet()
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
    client, reader = meet()
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
    client, reader = meet()
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
    client, reader = meet()
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
        client, reader = meet(Settings(context=context))
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
    client, reader = meet(Settings(context=ContextSettings(private_patterns=("too many",))))
    session_id = await fill(client)
    await all_read(client)
    assert reader.read.total() == EXCHANGES_BELOW_WARNING
    assert not any("too many" in text for text in reader.read)
    await client.call("context/compact", sessionId=session_id)
    assert reader.folded == 0
