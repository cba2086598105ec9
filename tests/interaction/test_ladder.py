"""The ladder as a client sees it: cheap edits first, in one batch, no more than needed; and what follows if all
fail."""

from collections.abc import AsyncIterator, Sequence

import pytest

from support.build import assistant, results, system, thinking, user, uses, words
from support.workspace import LARGE_MODEL, SMALL_MODEL, TestClient, build_test_client
from ullage.model.errors import CannotFit, ProviderError
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import ArtifactLedger, ImageBlock, Message, Role
from ullage.model.settings import ContextSettings, Settings
from ullage.service.conversation.conversation import Conversation
from ullage.service.ports.models import SummaryStream
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter

FILE = [f"line {i:03} of the module does something of its own" for i in range(120)]


def read(number: int, path: str = "/a.py", lines: Sequence[str] = FILE) -> list[Message]:
    text = "\n".join(f"{i:6}\t{line}" for i, line in enumerate(lines, start=1))
    return [
        uses(f"u{number}", f"t{number}", name="Read", file_path=path),
        results(f"r{number}", f"t{number}", text=text),
    ]


def run(number: int, size: int) -> list[Message]:
    text = " ".join(f"out{number}-{i}" for i in range(size))
    return [uses(f"u{number}", f"t{number}", name="run"), results(f"r{number}", f"t{number}", text=text)]


async def hold(client: TestClient, *messages: Message, model: str = SMALL_MODEL) -> Conversation:
    """Adds messages to the client's one session and waits for the work that they start."""
    workspace = client.workspace
    if not workspace.conversations:
        workspace.adopt("s", [SessionCreated(model=model)])
    conversation = workspace.open("s")
    conversation.record(*(MessageAppended(message=message) for message in messages))
    await conversation.settled()
    return conversation


def kinds(session: Conversation) -> list[str]:
    return [edit.kind for edit in session.transcript.edits_in_force]


def notices(client: TestClient) -> list[tuple[str, str]]:
    told = [update for update in client.recorder.take() if update["sessionUpdate"] == "notice"]
    return [(notice["_meta"]["ullage"]["kind"], notice["title"]) for notice in told]


async def test_repeated_reads_go_first_and_nothing_else_if_they_suffice(client: TestClient) -> None:
    session = await hold(client, user("p"), thinking("k", words(50)), *(m for i in range(3) for m in read(i)))
    assert kinds(session) == ["duplicate_reads"]
    (told,) = [update for update in client.recorder.take() if "Cleared" in update.get("title", "")]
    assert told["title"].startswith("Cleared repeated file reads: ")
    assert "of the context was file contents shown again later: /a.py 2×" in told["description"]


async def test_what_repeated_reads_do_not_reach_the_next_rungs_do_in_one_batch() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(keep_tool_uses=1)))
    turns = [[user(f"p{i}", "Go on."), thinking(f"k{i}", words(300)), *run(10 + i, 150)] for i in range(4)]
    session = await hold(client, *read(1), *read(2), *(message for turn in turns for message in turn))
    assert kinds(session) == ["duplicate_reads", "clear_thinking", "clear_tool_uses"]
    edits = session.transcript.edits_in_force
    assert {edit.part_of or edit.id for edit in edits} == {edits[-1].id}
    title = dict(notices(client))["context_cleared"]
    assert title.startswith("Cleared repeated file reads, older thinking and old tool results: ")
    await client.call("context/undo", sessionId="s")
    assert client.workspace.open("s").transcript.edits_in_force == ()


async def test_repeats_are_cleared_with_the_rest_where_keeping_their_last_copy_would_cost_a_compaction() -> None:
    client = build_test_client(settings=Settings(context=ContextSettings(keep_tool_uses=1)))
    last = [f"another {line}" for line in FILE]
    messages = [*read(1, lines=FILE + last), *read(2, lines=FILE + last), assistant("a"), *run(3, 10), user("q")]
    session = await hold(client, user("p"), *messages)
    assert kinds(session) == ["clear_tool_uses"]


async def test_what_the_newest_results_hold_is_shortened_last() -> None:
    settings = Settings(context=ContextSettings(max_result_tokens=400, keep_tool_uses=5))
    client = build_test_client(settings=settings)
    session = await hold(client, user("p"), *run(1, 1_200), assistant("a"), user("q"))
    assert kinds(session) == ["shorten"]
    assert session.used < 800


async def test_a_little_to_clear_is_left_since_it_would_cost_the_cache(client: TestClient) -> None:
    session = await hold(client, user("p", words(4_200)), *run(1, 60), *run(2, 1), *run(3, 1), *run(4, 1))
    assert session.used > 4_000
    assert kinds(session) == []


async def test_many_tool_uses_are_cleared_by_their_number_if_that_saves_enough() -> None:
    settings = Settings(context=ContextSettings(clear_at_tool_uses=4, clear_at_least=500))
    client = build_test_client(settings=settings)
    edits = [len(kinds(await hold(client, *run(number, 250), model=LARGE_MODEL))) for number in range(10)]
    assert edits == [0, 0, 0, 0, 1, 1, 1, 1, 1, 2]


class FailingSummarizer:
    """Fails the given number of times, and records how many messages it was given."""

    def __init__(self, failures: int) -> None:
        self.read: list[int] = []
        self._failures = failures

    @property
    def name(self) -> str:
        return "failing"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        self.read.append(len(request.messages))
        if len(self.read) <= self._failures:
            raise ProviderError("the request is too long.")
        return SummaryStream(ledger=ArtifactLedger(), pieces=_pieces())


async def _pieces() -> AsyncIterator[str]:
    yield "They talked."


def exchanges(number: int) -> list[Message]:
    return [
        message
        for i in range(number)
        for message in (user(f"p{i}", f"Question {i}: " + words(300)), assistant(f"a{i}", words(300, f"answer{i}")))
    ]


@pytest.mark.parametrize(("failures", "writers"), [(0, "failing"), (1, "failing"), (2, "offline")])
async def test_a_failed_summary_is_tried_with_less_to_read_and_then_offline(failures: int, writers: str) -> None:
    summarizer = FailingSummarizer(failures)
    client = build_test_client(summarizer=summarizer)
    session = await hold(client, *exchanges(8))
    assert kinds(session) == ["compaction"]
    (marker,) = [message.compaction for message in session.transcript.view if message.compaction]
    assert marker.summarizer == writers
    assert summarizer.read == [summarizer.read[0], summarizer.read[0] - 1][: min(failures + 1, 2)]
    told = [notice for notice in notices(client) if notice[0] in ("compaction_retried", "offline_summary_used")]
    assert [kind for kind, _ in told] == ["compaction_retried", "offline_summary_used"][:failures]
    if failures:
        assert told[0][1].startswith("Compaction failed: the request is too long. Trying a summary without the oldest")
    if failures == 2:
        assert told[1][1].startswith("The model's summary failed (the request is too long). Used the offline summary")


async def fill_again(client: TestClient, number: int) -> Conversation:
    """Appends one more prompt, with an answer as large as the window."""
    huge = [user(f"h{number}", "Go on."), assistant(f"b{number}", words(6_000, f"w{number}"))]
    return await hold(client, *huge)


async def test_a_breaker_that_opens_says_why_what_is_biggest_and_when_it_closes(client: TestClient) -> None:
    await hold(client, *exchanges(5))
    sizes = [(await fill_again(client, number)).used for number in range(8)]
    assert max(sizes) <= 6_144
    opened = [title for kind, title in notices(client) if kind == "breaker_opened"]
    assert len(opened) == 1
    assert "message " in opened[0]
    assert "starts again after a compaction by hand" in opened[0]
    session = client.workspace.open("s")
    assert session.guards.breaker.is_open
    for number in range(3):
        assert session.guards.breaker.is_open
        await hold(client, user(f"c{number}"), assistant(f"d{number}"))
    assert not session.guards.breaker.is_open


async def test_a_compaction_by_hand_closes_the_breaker(client: TestClient) -> None:
    await hold(client, *exchanges(5))
    for number in range(8):
        await fill_again(client, number)
    assert client.workspace.open("s").guards.breaker.is_open
    await client.call("context/compact", sessionId="s")
    assert not client.workspace.open("s").guards.breaker.is_open


async def test_an_answer_larger_than_the_window_loses_its_middle_and_costs_no_other_its_place() -> None:
    client = build_test_client()
    session = await hold(client, *exchanges(1), user("q"), assistant("huge", words(50_000)))
    assert session.used <= 6_144
    ids = [message.id for message in session.transcript.view]
    assert ids == ["p0", "a0", "q", "huge"]


async def test_a_question_larger_than_the_window_is_named_and_nothing_is_cut_until_the_next(client: TestClient) -> None:
    session = await hold(client, *exchanges(3), user("huge", words(50_000)))
    view = session.transcript.view
    assert [message.id for message in view] == ["p0", "a0", "p1", "a1", "p2", "a2", "huge"]
    assert [message.text for message in view][-1] == words(50_000)
    assert kinds(session) == []
    assert "the user's newest message (7) alone 50K. Make that smaller" in dict(notices(client))["cannot_fit"]
    with pytest.raises(CannotFit, match=r"cannot fit: what must stay is 50K of 6.1K .* newest message \(7\)"):
        await client.call("context/messages", sessionId="s", provider="openai")
    assert len(await client.entries("s")) == 7
    session = await hold(client, assistant("no", "That is too long."), user("short", "What is this?"))
    assert session.used <= 6_144
    assert session.transcript.view[-1].text == "What is this?"


@pytest.mark.no_cover
async def test_ten_thousand_tiny_messages_fit(client: TestClient) -> None:
    session = await hold(client, *(user(f"m{i}", "ok") for i in range(10_000)))
    assert session.used <= 6_144
    assert session.transcript.view[-1].id == "m9999"


@pytest.mark.no_cover
async def test_an_answer_of_thousands_of_messages_fits(client: TestClient) -> None:
    session = await hold(client, user("p"), *(assistant(f"m{i}", "ok") for i in range(5_000)))
    assert session.used <= 6_144
    assert session.transcript.view[-1].id == "m4999"


@pytest.mark.parametrize(
    "messages",
    [
        [uses("u", "t", name="Write", content=words(60_000)), results("r", "t")],
        [thinking(f"k{i}", words(3_000)) for i in range(10)],
        [
            Message(id="i", role=Role.USER, content=(ImageBlock(data="A", width=1_500, height=1_500),) * 12),
            user("q", "And now?"),
        ],
    ],
    ids=["a huge tool input", "only thinking", "pictures"],
)
async def test_whatever_is_huge_is_cut(messages: list[Message], client: TestClient) -> None:
    session = await hold(client, user("p", "Look at this."), *messages)
    assert session.used <= 6_144
    assert not session.guards.warned_unfit


async def test_more_tools_than_the_window_holds_are_named_and_nothing_is_cut_for_them(client: TestClient) -> None:
    tools = [{"name": f"tool_{i}", "description": words(60)} for i in range(100)]
    new = await client.call("session/new", model=SMALL_MODEL, tools=tools)
    for text in ("Hello!", "Are you there?"):
        await client.say(new["sessionId"], text * 50)
        await client.entries(new["sessionId"])
    ((kind, title),) = [notice for notice in notices(client) if notice[0] == "cannot_fit"]
    assert kind == "cannot_fit"
    assert "what the tools and the hidden prompt take alone" in title
    assert [entry["inserted"] for entry in await client.entries(new["sessionId"])] == [False, False]


async def test_a_system_prompt_larger_than_the_window_is_named_and_never_cut(client: TestClient) -> None:
    session = await hold(client, system("s0", words(9_000)), user("p"))
    assert session.transcript.view[0].text == words(9_000)
    titles = dict(notices(client))
    assert "the system prompt alone" in titles["cannot_fit"]


async def test_once_the_context_fits_again_a_new_overflow_causes_a_notice_again(client: TestClient) -> None:
    await hold(client, system("s0", words(9_000)), user("p"))
    await client.call("session/append", sessionId="s", model=LARGE_MODEL)
    await client.call("session/append", sessionId="s", model=SMALL_MODEL)
    await client.workspace.open("s").settled()
    assert [kind for kind, _ in notices(client)].count("cannot_fit") == 2


async def test_tools_that_take_half_of_the_window_leave_the_rest_to_the_conversation() -> None:
    """With half of usable as target nothing would be left, so the conversation must keep as much as fits."""
    client = build_test_client()
    tools = [{"name": f"tool_{i}", "description": words(60)} for i in range(45)]
    new = await client.call("session/new", model=SMALL_MODEL, tools=tools)
    fixed = (await client.call("context/get", sessionId=new["sessionId"]))["used"]
    assert 2_800 < fixed < 3_600
    for number in range(8):
        texts = [f"Question {number}: " + words(150), words(200, f"answer{number}")]
        await client.say(new["sessionId"], *texts)
        await client.entries(new["sessionId"])
    left = (await client.call("context/get", sessionId=new["sessionId"]))["used"] - fixed
    assert left > 800
    assert "breaker_opened" not in dict(notices(client))
