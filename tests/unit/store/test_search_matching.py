"""What a text holds of a query: words by their stem, names, neighbours and phrases."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import conversation, fork, message, records
from ullage.model.events import MessageAppended, SessionCreated
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock
from ullage.store import SqliteStore
from ullage.store.search.query import asked_speaker, read_query
from ullage.store.search.scoring import Held, Matcher, Term, Terms, lend_by_session, score_message, together
from ullage.store.search.searcher import make_snippet, without_bare_numbers
from ullage.store.search.word_index import BLOCK_CHARS, CHUNK_CHARS, chunks, message_text


def held(query: str, text: str) -> Held:
    """Returns what a text holds of a query whose words all weigh the same."""
    read = read_query(query)
    terms = Terms(
        stems={one: Term(one, 1, 1.0) for one in read.stems},
        names={one: Term(one, 1, 2.0) for one in read.names},
        beginnings={one: Term(one, 1, 1.0) for one in read.beginnings},
        rarest=1.0,
        total=1,
    )
    return Matcher(read, terms, usual_length=30).read(text)


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        ("walnut", "two Walnuts", {"walnut"}),
        ("walnut oil", "walnutwood is oily", {"oil"}),
        ("config", "parseConfig(x)", {"config"}),
        ("server", "HTTPServer", {"server"}),
        ("256", "sha256", {"256"}),
        ("main", "src/main.py", {"main"}),
        ("a3f9c1e", "at a3f9c1e now", {"a3f9c1e"}),
        ("cafe", "the caf\u00e9s", {"caf"}),
        ("\u672c", "\u65e5\u672c\u8a9e", {"\u672c"}),
        ("\U0001f525", "hot\U0001f525\U0001f525 oven", {"\U0001f525"}),
        ("\u2764\ufe0f bread", "\u2764 it", {"\u2764"}),
        ("art", "start of a party", set[str]()),
    ],
)
def test_words_are_found_by_their_stem_where_a_word_begins(query: str, text: str, found: set[str]) -> None:
    assert set(held(query, text).words) == found


def test_repeated_words_add_less_each_time() -> None:
    once, twice, often = (
        held("walnut", text + "x" * (60 - len(text))).score for text in ("walnut ", "walnut " * 2, "walnut " * 7)
    )
    assert 0 < twice - once < once
    assert often - twice < 5 * (twice - once)


def test_a_whole_name_scores_above_its_words_and_above_a_longer_name() -> None:
    whole, words, longer = (held("run_test", text).score for text in ("run_test!", "run, test", "run_tests"))
    assert whole > words
    assert whole > longer


def test_neighbours_score_above_the_same_words_apart() -> None:
    assert held("walnut tree", "a walnut_tree of").score > held("walnut tree", "tree of a walnut").score


def test_a_message_has_the_best_of_its_parts() -> None:
    parts = [Held({"a": 1.0, "b": 3.0}, 0.5, 1), Held({"a": 2.0}, 0.25, 2)]
    assert together(parts) == Held({"a": 2.0, "b": 3.0}, 0.5, 2)
    assert together([]).score == 0


@pytest.mark.parametrize(
    ("text", "gathered"),
    [
        ("the commit failed", 2),
        ("failed; see the commit", 2),
        ("commit commit commit", 1),
        ("commit " + "x = 1\n" * 30 + " failed", 1),
        ("commit " + "x = 1\n" * 30 + " failed, as the last commit did", 2),
        ("nothing of it", 0),
    ],
)
def test_words_are_gathered_where_they_are_near_each_other(text: str, gathered: int) -> None:
    assert held("commit failed", text).gathered == gathered


def test_the_longer_a_query_the_farther_its_words_may_be_apart() -> None:
    text = "walnut " + "x " * 70 + "harvest"
    assert held("walnut harvest", text).gathered == 1
    assert held("walnut harvest of last autumn", text).gathered == 2


# Search: whether a message fits the query, because it has most of the query's words together


def test_words_that_are_far_apart_in_a_message_do_not_make_it_fit(sqlite_store: SqliteStore) -> None:
    code = "def commit(self): ...\n" + "    x = self.y\n" * 40 + "stats.failed > 0"
    sqlite_store.create("s", conversation(code, "walnut oil"))
    assert [hit.fits for hit in sqlite_store.search("why did the commit fail")] == [False]
    sqlite_store.create("t", conversation(code, "The commit failed: the hook found a tab."))
    fits = {hit.message_id: hit.fits for hit in sqlite_store.search("why did the commit fail", "t")}
    assert fits == {"m0": False, "m1": True}


@pytest.mark.parametrize("words", [2, 3, 4, 5, 8])
def test_more_than_half_of_a_short_query_and_half_of_a_long_one_must_be_together(
    sqlite_store: SqliteStore, words: int
) -> None:
    asked = ("harbour", "walnut", "granite", "lantern", "copper", "meadow", "thunder", "violin")[:words]
    most = words // 2 + 1 if words <= 4 else (words + 1) // 2
    sqlite_store.create("s", conversation(" ".join(asked[:most]), " ".join(asked[: most - 1])))
    fits = {hit.message_id: hit.fits for hit in sqlite_store.search(" ".join(asked))}
    assert fits == {"m0": True, "m1": False}


def test_a_word_that_is_only_begun_counts_as_well(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the annotation has a typo"))
    (hit,) = sqlite_store.search("annota typo")
    assert hit.fits


# The snippet that a search shows of a text


FILLER = "so many other words stand here " * 40


def test_the_stretch_with_most_of_the_query_is_shown() -> None:
    text = f"walnut {FILLER} the walnut tree bears hazel {FILLER} tree"
    snippet = make_snippet(text, read_query("does the walnut tree bear hazel?"))
    assert "the **walnut** **tree** **bears** **hazel** so" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")


def test_a_whole_name_is_shown_before_its_words() -> None:
    text = f"parse the config {FILLER} see parse_config in it {FILLER}"
    assert "**parse_config**" in make_snippet(text, read_query("parse_config"))


def test_a_number_that_is_a_tool_calls_argument_is_not_shown_unless_it_is_asked_for() -> None:
    text = "Bash\nmix dialyzer\nRun dialyzer\n300000\n"
    query = read_query("dialyzer")
    assert make_snippet(without_bare_numbers(text, query), query) == "Bash\nmix **dialyzer**\nRun **dialyzer**\n"
    asked = read_query("300000")
    assert "**300000**" in make_snippet(without_bare_numbers(text, asked), asked)


def test_a_text_in_which_nothing_is_seen_is_shown_from_its_beginning() -> None:
    assert make_snippet("only this", read_query("walnut")) == "only this"


@given(st.text(max_size=600), st.text("abcdef _-./", min_size=1, max_size=20).map(lambda text: f"x{text}"))
def test_a_snippet_is_a_piece_of_the_text(text: str, query: str) -> None:
    snippet = make_snippet(text, read_query(query))
    assert snippet.replace("**", "").removeprefix("…").removesuffix("…") in text.replace("**", "")
    assert len(snippet) < 1_500


# Search: messages are found by the words of their neighbours, and by who wrote them


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
    reminder = TextBlock(text="<system-reminder>the retry limit is the retry limit, I say</system-reminder>")
    program = Message(id="program", role=Role.USER, content=(reminder,))
    events = [message("other"), *(MessageAppended(message=one) for one in (tool, program, agent, said))]
    sqlite_store.create("s", records(SessionCreated(), *events))
    assert ids(sqlite_store, "what did I say about the retry limit")[0] == "user"
    roles = {hit.message_id: hit.role for hit in sqlite_store.search("retry limit")}
    assert roles == {"user": "user", "agent": "assistant", "tool": "tool", "program": "agent"}
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


# Which text of a message is indexed, and in which pieces


def test_a_huge_block_is_indexed_at_its_head_and_its_tail() -> None:
    text = message_text(message("m", "head" + "x" * BLOCK_CHARS + "tail").message)
    assert len(text) <= BLOCK_CHARS + 1
    assert text.startswith("headx")
    assert text.endswith("xtail")


@given(st.lists(st.text("ab \n", max_size=900), max_size=12).map("".join))
def test_chunks_make_up_the_text(text: str) -> None:
    spans = list(chunks(text))
    assert "".join(text[start:stop] for start, stop in spans) == text
    assert all(0 < stop - start <= CHUNK_CHARS for start, stop in spans)


def test_a_chunk_ends_with_a_line_where_there_is_one() -> None:
    text = "a line of words\n" * 1_000
    assert all(text[:stop].endswith("\n") for _, stop in chunks(text))
