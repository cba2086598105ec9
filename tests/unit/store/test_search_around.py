"""Search: messages are found by the words of their neighbours, and by who wrote them."""

import pytest

from support.logs import conversation, fork, message, records
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock
from ullage.store import SqliteStore
from ullage.store.search.query import asked_speaker
from ullage.store.search.scoring import lend_by_session, score_message

ASKED = "Since when has the harbour been closed to ferries?"
ANSWER = "Three weeks ago, on a Tuesday."


def ids(store: SqliteStore, query: str, session_id: str | None = None) -> list[str]:
    return [hit.message_id for hit in store.search(query, session_id)]


def test_a_short_turn_is_found_by_the_words_of_the_turn_before_it(sqlite_store: SqliteStore) -> None:
    others = [f"note {number} on other things" for number in range(20)]
    sqlite_store.create("s", conversation(*others, ASKED, ANSWER, *others))
    assert ids(sqlite_store, "when was the harbour closed to ferries")[:2] == ["m20", "m21"]


def test_of_two_equal_turns_the_one_in_a_conversation_about_it_comes_first(sqlite_store: SqliteStore) -> None:
    texts = ("the walnut oil", "the price went up", *["filler"] * 5, "the bread", "the price went up")
    sqlite_store.create("s", conversation(*texts))
    assert ids(sqlite_store, "price walnut oil")[:2] == ["m0", "m1"]


def test_a_long_message_gains_nothing_from_its_neighbours() -> None:
    near = {-1: {"walnut": 3.0}}
    assert score_message(1.0, 0.0, 200, near) > 3
    assert score_message(1.0, 0.0, 50_000, near) == pytest.approx(1.0, abs=0.01)


def test_of_two_equal_short_turns_the_one_in_the_session_about_it_comes_first(sqlite_store: SqliteStore) -> None:
    between = ["filler"] * 4
    sqlite_store.create("bread", conversation("the price went up", *between, "the bread"))
    sqlite_store.create("walnuts", conversation("walnut oil and its price", *between, "the price went up"))
    hits = [(hit.session_id, hit.index) for hit in sqlite_store.search("price walnut oil")]
    assert hits.index(("walnuts", 5)) < hits.index(("bread", 0))


def test_a_long_message_gains_nothing_from_its_session() -> None:
    assert lend_by_session(1.0, 200, 2.0, 2.0) > 1.9
    assert lend_by_session(1.0, 200, 0.5, 2.0) < 1.3
    assert lend_by_session(1.0, 50_000, 2.0, 2.0) == pytest.approx(1.0, abs=0.01)


def test_a_name_or_a_word_is_not_found_next_to_where_it_stands(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("before", "see src/app/main.py there", "after"))
    assert ids(sqlite_store, "src/app/main.py") == ["m1"]
    assert ids(sqlite_store, "see") == ["m1"]


def test_a_fork_lends_no_words_of_what_its_parent_said_after_it(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("hello there", "an answer", ASKED))
    sqlite_store.create("fork", fork("s", 2))
    assert ids(sqlite_store, "harbour closed to ferries", "fork") == []


@pytest.mark.parametrize(
    ("query", "role"),
    [
        ("Have I written any routes in this project?", Role.USER),
        ("Can you list the order in which I brought things up?", Role.USER),
        ("what is my API key limit", Role.USER),
        ("what did you suggest for the cache?", Role.ASSISTANT),
        ("could you say what your advice was?", Role.ASSISTANT),
        ("what did I ask you about the cache?", Role.USER),
        ("what did you tell me about my cache?", Role.ASSISTANT),
        ("what did the assistant answer about the cache?", Role.ASSISTANT),
        ("Can you show the retry limit?", None),
        ("tell me where the retry limit is set", None),
        ("did you do what I wanted", None),
        ("for i in range", None),
        ("where is parse_config", None),
    ],
)
def test_a_query_says_whose_words_it_asks_for(query: str, role: Role | None) -> None:
    assert asked_speaker(query) is role


def test_what_i_said_is_looked_for_in_what_the_user_wrote(sqlite_store: SqliteStore) -> None:
    said = Message(id="user", role=Role.USER, content=(TextBlock(text="keep the retry limit at five, please"),))
    agent = Message(id="agent", role=Role.ASSISTANT, content=(TextBlock(text="the retry limit is the retry limit"),))
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text="retry limit\nretry limit"),))
    tool = Message(id="tool", role=Role.USER, content=(result,))
    events = [message("other"), *(MessageAppended(message=one) for one in (tool, agent, said))]
    sqlite_store.create("s", records(SessionCreated(), *events))
    assert ids(sqlite_store, "what did I say about the retry limit")[0] == "user"
    assert ids(sqlite_store, "what did you say about the retry limit")[0] == "agent"


def test_a_question_for_a_time_finds_first_the_turn_that_says_one(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the harbour was closed by storms", "the harbour was closed three days ago"))
    assert ids(sqlite_store, "when was the harbour closed")[0] == "m1"


def test_a_question_for_a_number_finds_first_the_turn_that_says_one(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the ferry took many cars on", "the ferry took 40 cars on"))
    assert ids(sqlite_store, "how many cars does the ferry take")[0] == "m1"


def test_a_turn_of_the_named_speaker_comes_before_one_that_names_them(sqlite_store: SqliteStore) -> None:
    texts = ("Maria: the ferry left early", "Tom: Maria, the ferry left early")
    sqlite_store.create("s", conversation(*texts, *(f"Tom: note {number}" for number in range(9))))
    assert ids(sqlite_store, "what did Maria say about the ferry")[0] == "m0"
