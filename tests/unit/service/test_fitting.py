"""Compaction to a number of tokens: never more, and not much less if there is something to keep."""

import pytest

from support.workspace import LARGE_MODEL, PacedSummarizer, TestClient, build_test_client
from ullage.model.errors import CannotFit
from ullage.model.events import compaction_block
from ullage.model.updates import Update
from ullage.service.compact.by_hand import fit_budget
from ullage.service.conversation.conversation import Conversation


async def long_session(client: TestClient, words: int = 400) -> str:
    """Makes a session of forty messages about different files."""
    created = await client.call("session/new", model=LARGE_MODEL, system="Be brief.")
    texts = [
        f"Please look at module_{n}.py, line {n * 7}. " + f"detail{n} matters here. " * (words // 8) for n in range(40)
    ]
    await client.say(created["sessionId"], *texts)
    return created["sessionId"]


class Appends:
    """Notes the length of a session's log at each update."""

    def __init__(self, session: Conversation, lengths: list[int]) -> None:
        self._session = session
        self._lengths = lengths

    def session_updated(self, session_id: str, update: Update) -> None:
        self._lengths.append(self._session.transcript.position)


async def test_context_within_the_budget_is_left_alone(client: TestClient) -> None:
    session_id = await long_session(client)
    session = client.workspace.open(session_id)
    assert await fit_budget(session, session.used) is None
    assert not client.workspace.open(session_id).transcript.edits


@pytest.mark.parametrize("budget", [1_500, 3_000, 6_000])
async def test_result_fills_the_budget_and_stays_within(budget: int, client: TestClient) -> None:
    session_id = await long_session(client)
    edit = await fit_budget(client.workspace.open(session_id), budget)
    used = client.workspace.open(session_id).used
    assert budget * 0.85 <= used <= budget
    assert edit is not None
    assert compaction_block(edit).messages_archived > 0


@pytest.mark.parametrize("budget", [-5, 0, 1, 3])
async def test_a_refused_budget_leaves_the_log_and_the_context_as_they_were(budget: int, client: TestClient) -> None:
    session_id = await long_session(client)
    session, store = client.workspace.open(session_id), client.workspace.ports.store
    log, view, used = store.read(session_id), session.transcript.view, session.used
    client.recorder.take()
    with pytest.raises(CannotFit, match=f"budget of {budget} tokens is too small"):
        await fit_budget(session, budget)
    assert store.read(session_id) == log
    assert (session.transcript.view, session.used) == (view, used)
    assert not client.recorder.take()


async def test_a_summary_longer_than_its_room_and_the_cuts_that_it_needs_are_recorded_together() -> None:
    wordy = PacedSummarizer(["More could be said. "] * 400)
    wordy.release(100_000)
    client = build_test_client(summarizer=wordy)
    session_id = await long_session(client)
    session, appends = client.workspace.open(session_id), list[int]()
    client.workspace.bus.listen(Appends(session, appends))
    assert await fit_budget(session, 1_500) is not None
    assert session.used <= 1_500
    assert {edit.kind for edit in session.transcript.edits} > {"compaction"}
    assert len(set(appends)) == 1


async def test_single_huge_message_is_cut_rather_than_refused(client: TestClient) -> None:
    created = await client.call("session/new", model=LARGE_MODEL)
    await client.say(created["sessionId"], "word " * 20_000, "Yes.", "And now?")
    await fit_budget(client.workspace.open(created["sessionId"]), 2_000)
    assert client.workspace.open(created["sessionId"]).used <= 2_000


async def test_a_newest_message_of_the_user_over_the_budget_is_named_and_nothing_is_changed(client: TestClient) -> None:
    session_id = await long_session(client)
    await client.say(session_id, "word " * 2_500)
    session = client.workspace.open(session_id)
    with pytest.raises(CannotFit, match=r"2,000 tokens is too small: .*, the user's newest message \(42\) alone 2.5K"):
        await fit_budget(session, 2_000)
    assert not session.transcript.edits


async def test_pinned_messages_over_the_budget_are_named_and_nothing_is_changed(client: TestClient) -> None:
    session_id = await long_session(client)
    session = client.workspace.open(session_id)
    for message in session.transcript.view[1:6:2]:
        await client.call("context/pin", sessionId=session_id, messageId=message.id, pinned=True)
    with pytest.raises(CannotFit, match=r"the pinned messages #2, #4, #6 alone \S+, the user's newest message"):
        await fit_budget(session, 1_000)
    assert not session.transcript.edits


async def test_what_the_user_typed_first_is_shortened_after_the_results_that_stay_beside_it(client: TestClient) -> None:
    created = await client.call("session/new", model=LARGE_MODEL, system="Obey the rules. " * 2_000)
    task = " ".join(f"Rule {n}: leave module {n} alone." for n in range(160))
    await client.say(created["sessionId"], task, *(f"Look at part {n}. " * 40 for n in range(20)))
    call = {"type": "tool_use", "id": "c", "name": "Task", "input": {"prompt": "Part 1."}}
    shown = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "A row. " * 8_000}]}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [shown]}]
    await client.call("session/append", sessionId=created["sessionId"], messages=messages)
    await fit_budget(client.workspace.open(created["sessionId"]), 8_000)
    session = client.workspace.open(created["sessionId"])
    assert session.used <= 8_000
    assert task in [message.text for message in session.transcript.view]


async def test_many_large_results_at_the_end_leave_room_for_the_record_of_what_came_before(client: TestClient) -> None:
    session_id = await long_session(client)
    calls = [{"type": "tool_use", "id": f"c{n}", "name": "Task", "input": {"prompt": f"Part {n}."}} for n in range(7)]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": f"c{n}",
            "content": [{"type": "text", "text": f"result{n} matters. " * 800}],
        }
        for n in range(7)
    ]
    messages = [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]
    await client.call("session/append", sessionId=session_id, messages=messages)
    edit = await fit_budget(client.workspace.open(session_id), 3_000)
    view = client.workspace.open(session_id).transcript.view
    assert edit is not None
    assert client.workspace.open(session_id).used <= 3_000
    said = "".join(block.summary for message in view if (block := message.compaction))
    assert sum(f"module_{number}.py" in said for number in range(40)) >= 5


async def test_what_the_summary_leaves_free_goes_to_the_large_message_before_the_tail(client: TestClient) -> None:
    session_id = await long_session(client, words=8)
    call = {"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "make"}}
    content = [{"type": "text", "text": "all is well " * 1_500}]
    result = {"type": "tool_result", "tool_use_id": "c", "content": content}
    messages = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    await client.call("session/append", sessionId=session_id, messages=messages)
    await client.say(session_id, *("It is well. " * 20 for _ in range(10)))
    await fit_budget(client.workspace.open(session_id), 3_000)
    conversation = client.workspace.open(session_id)
    shown = "".join(str(message.content) for message in conversation.transcript.view)
    assert 2_700 <= conversation.used <= 3_000
    assert "all is well all is well" in shown


def exchange(*words: int) -> list[dict[str, object]]:
    """Returns a message with as many calls as there are numbers, and one with their results of so many words each."""
    calls = [
        {"type": "tool_use", "id": f"c{n}-{words}", "name": "Bash", "input": {"command": f"make part{n}"}}
        for n in range(len(words))
    ]
    results = [
        {
            "type": "tool_result",
            "tool_use_id": f"c{n}-{words}",
            "content": [{"type": "text", "text": f"row{n} " * many}],
        }
        for n, many in enumerate(words)
    ]
    return [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]


@pytest.mark.parametrize("budget", [2_000, 4_000, 8_000])
@pytest.mark.parametrize(
    "exchanges",
    [
        pytest.param([(9_000, 9_000, 9_000), (40,)], id="large results before a small end"),
        pytest.param([(40,), (9_000,)], id="one large result at the end"),
        pytest.param([(40,), (9_000, 2_000)], id="a large and a smaller result at the end"),
        pytest.param([(9_000,), (9_000, 30)], id="large results everywhere"),
        pytest.param([(300,)] * 6 + [(5_000, 700, 700, 700)], id="several results after a history"),
    ],
)
async def test_the_budget_is_filled_whatever_the_sizes_of_the_results(
    exchanges: list[tuple[int, ...]], budget: int
) -> None:
    client = build_test_client()
    created = await client.call("session/new", model=LARGE_MODEL)
    await client.say(created["sessionId"], "Please build all parts.")
    for words in exchanges:
        await client.call("session/append", sessionId=created["sessionId"], messages=exchange(*words))
    conversation = client.workspace.open(created["sessionId"])
    await fit_budget(conversation, budget)
    assert budget * 0.95 <= conversation.used <= budget


async def test_messages_that_fit_once_their_results_are_shortened_need_no_summary(client: TestClient) -> None:
    created = await client.call("session/new", model=LARGE_MODEL)
    await client.say(created["sessionId"], "Please build all parts.")
    for words in ((9_000, 9_000), (40,)):
        await client.call("session/append", sessionId=created["sessionId"], messages=exchange(*words))
    conversation = client.workspace.open(created["sessionId"])
    before = [message.id for message in conversation.transcript.view]
    assert await fit_budget(conversation, 4_000) is None
    assert [message.id for message in conversation.transcript.view] == before
