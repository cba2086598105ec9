"""The contract of `SessionStore`: full-text search, and the vectors of chunks."""

from contextlib import closing

import pytest
from msgspec.structs import replace

from support.logs import conversation, fork, message, records
from ullage.model.errors import InvalidRequest
from ullage.model.events import MessageAppended, Record, SessionConfigured, SessionCreated
from ullage.model.message import Message, ResourceBlock, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.service.ports.store import SessionStore
from ullage.store import SqliteStore
from ullage.store.search.word_index import load_vectors, save_vectors
from ullage.store.sqlite.database import reconnect
from ullage.store.sqlite.sqlite_store import Fts5Index


def found(store: SessionStore, query: str, session_id: str | None = None) -> set[tuple[str, str, int]]:
    return {(hit.session_id, hit.message_id, hit.index) for hit in store.search(query, session_id)}


def test_a_hit_names_the_message_and_marks_the_match(store: SessionStore) -> None:
    store.create("s", conversation("nothing here", "the Walnut tree"))
    (hit,) = store.search("walnut")
    assert (hit.session_id, hit.message_id, hit.index, hit.role) == ("s", "m1", 1, "user")
    assert "the **Walnut** tree" in hit.snippet
    assert hit.score > 0


def test_results_of_tools_are_found_as_a_tools_and_not_as_the_users_words(store: SessionStore) -> None:
    block = ToolResultBlock(tool_use_id="t", content=(TextBlock(text="a walnut"),))
    result = MessageAppended(message=Message(id="r", role=Role.USER, content=(block,)))
    store.create("s", records(SessionCreated(), message("m0", "the walnut tree"), result))
    assert {hit.message_id: hit.role for hit in store.search("walnut")} == {"m0": "user", "r": "tool"}


def test_any_word_finds_and_messages_with_all_words_come_first(store: SessionStore) -> None:
    store.create("s", conversation("red apple red", "green leaf", "the green apple", "nothing of it"))
    hits = store.search("apple green")
    assert hits[0].message_id == "m2"
    assert {hit.message_id for hit in hits} == {"m0", "m1", "m2"}


def test_a_message_with_few_of_the_words_does_not_fit(store: SessionStore) -> None:
    store.create("s", conversation("the harbour of Bergen", "walnut oil"))
    (near,) = store.search("which kubernetes ingress serves the harbour?")
    assert (near.message_id, near.fits) == ("m0", False)
    assert all(hit.fits for hit in store.search("harbour of Bergen"))


def test_a_question_in_plain_words_finds_what_it_asks_for(store: SessionStore) -> None:
    store.create("s", conversation("the walnut is ripe", "what did we do there", "how are you", "where was it"))
    hits = store.search("What did we say about how ripe the walnuts were?")
    assert [hit.message_id for hit in hits] == ["m0"]


@pytest.mark.parametrize("marks", ['"{}"', "\u201c{}\u201d", "\u201e{}\u201c", "\u00ab{}\u00bb"])
@pytest.mark.parametrize("quoted", ["never on Friday", "NEVER on  friday", "\u661f\u671f\u4e94"])
def test_a_message_that_says_what_is_quoted_stands_first(store: SessionStore, marks: str, quoted: str) -> None:
    said = "Deploy, but never on Friday: \u661f\u671f\u4e94."
    others = ("Friday: never round, never on paper. Friday!", "on Friday, never \u661f \u671f \u4e94 \u661f\u671f")
    store.create("s", conversation(others[0], said + " And so on." * 40, others[1]))
    hits = store.search(f"What about {marks.format(quoted)}?")
    assert hits[0].message_id == "m1"
    assert {hit.message_id for hit in hits} > {"m1"}


def test_words_that_only_ask_are_looked_for_when_there_are_no_others(store: SessionStore) -> None:
    store.create("s", conversation("to be or not to be"))
    assert found(store, "to be") == {("s", "m0", 0)}


NAMES = "parseConfig max_tokens /src/app/main.py:12 --dry-run os.path.join sha256 HTTPServer a3f9c1e 日本語"
QUERIES = (
    *("parseConfig", "parse config", "config", "max_tokens", "tokens", "src/app/main.py", "main.py", "app/main"),
    *("--dry-run", "dry run", "os.path.join", "join", "sha256", "HTTPServer", "http", "a3f9c1e", "日本"),
)


@pytest.mark.parametrize("query", QUERIES)
def test_a_name_is_found_whole_and_by_its_parts(store: SessionStore, query: str) -> None:
    store.create("s", conversation("other words", NAMES))
    assert found(store, query) == {("s", "m1", 1)}


@pytest.mark.parametrize(
    ("name", "query"),
    [
        ("parseConfig", "parseconfig"),
        ("parseConfig", "parse_config"),
        ("parse_config", "parseConfig"),
        ("parse-config", "parse_config"),
        ("parse_config_file", "parseConfigFile"),
        ("parseConfig", "parseCon"),
        ("parse_config", "parse_con"),
        ("annotations", "annota"),
        ("lib/annotation_message_ref.ex", "annotation_mess"),
    ],
)
def test_a_name_is_found_in_another_spelling_and_by_its_beginning(store: SessionStore, name: str, query: str) -> None:
    store.create("s", conversation("a parser of a configuration", "the files", f"then {name} is called", "messages"))
    hit = store.search(query)[0]
    assert hit.message_id == "m2"
    assert "**" in hit.snippet


def test_a_word_inside_a_name_that_says_little_finds_nothing_alone(store: SessionStore) -> None:
    store.create("s", conversation("look into the file", "the view"))
    assert found(store, "scrollIntoView") == {("s", "m1", 1)}


def test_a_name_that_is_somewhere_is_not_searched_in_other_spellings(store: SessionStore) -> None:
    store.create("s", conversation("parse_config", "parseConfig parseConfigFile"))
    assert store.search("parse_config")[0].message_id == "m0"
    assert found(store, "parseConfigFile") == {("s", "m0", 0), ("s", "m1", 1)}


def test_the_beginning_of_a_known_word_and_a_short_one_find_no_longer_words(store: SessionStore) -> None:
    store.create("s", conversation("an anchor", "anchorage", "and"))
    assert found(store, "anchor") == {("s", "m0", 0)}
    assert found(store, "anc") == set()


@pytest.mark.parametrize("query", ["but the file was not there before", '"but the file was not there before"'])
def test_a_quoted_sentence_comes_before_other_messages_with_its_words(sqlite_store: SqliteStore, query: str) -> None:
    others = ["the file before the file, file before file", "before that: file", "there was but one file before"]
    sqlite_store.create("s", conversation(*others, "I looked for it, but the file was not there before you made it."))
    assert sqlite_store.search(query)[0].message_id == "m3"


def test_words_of_a_name_find_the_name_before_the_words(sqlite_store: SqliteStore) -> None:
    sqlite_store.create(
        "s", conversation("parse it. The config is long, so parse the config", "x parseConfig y z " * 2)
    )
    assert sqlite_store.search("parse config")[0].message_id == "m1"


@pytest.mark.parametrize(
    ("query", "others"),
    [
        ("parse_config", ("parse the config", "parse_config_file parse_config_all", "config parse")),
        ("src/main.py", ("main.py of src", "src main py", "lib/main.py src/other.py")),
        ("run_test", ("run_tests run_tests", "run a test")),
        ("getUserName", ("get user name", "getUser getName")),
    ],
)
def test_a_whole_name_ranks_above_its_parts(store: SessionStore, query: str, others: tuple[str, ...]) -> None:
    store.create("s", conversation(*others, f"a longer sentence that has {query} in its midst and goes on after it"))
    assert store.search(query)[0].message_id == f"m{len(others)}"


def test_words_side_by_side_rank_above_words_apart(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("tree of the walnut", "the walnut tree of", "walnut of the tree"))
    (first, *_) = sqlite_store.search("walnut tree")
    assert "**walnut** **tree**" in first.snippet


def test_a_needle_in_a_long_tool_output_is_found_and_shown(store: SessionStore) -> None:
    lines = [f"line {number} of a log with the usual words" for number in range(1_500)]
    lines[1_200] = "E walnut_index out of range"
    result = ToolResultBlock(tool_use_id="t", content=(TextBlock(text="\n".join(lines)),))
    appended = MessageAppended(message=Message(id="m", role=Role.USER, content=(result,)))
    store.create("s", records(SessionCreated(), message("a", "a log"), appended, message("b", "the usual words")))
    hit = store.search("which log line had the walnut_index out of range?")[0]
    assert hit.message_id == "m"
    assert "**walnut_index**" in hit.snippet
    assert len(hit.snippet) < 400


def test_the_better_match_comes_first(store: SessionStore) -> None:
    store.create("s", conversation("walnut", "no", "no", "no", "walnut walnut walnut"))
    hits = store.search("walnut")
    assert [hit.message_id for hit in hits] == ["m4", "m0"]
    assert hits[0].score > hits[1].score


def test_only_so_many_hits_are_given(store: SessionStore) -> None:
    store.create("s", conversation(*["walnut"] * 5))
    assert len(store.search("walnut", limit=3)) == 3


def test_tool_inputs_results_and_resources_are_found_and_thinking_is_not(store: SessionStore) -> None:
    blocks = (
        ThinkingBlock(thinking="hazel"),
        ToolUseBlock(id="t", name="grep", input={"path": "src/walnut.py", "opts": [{"depth": 7}, True, None]}),
        ToolResultBlock(tool_use_id="t", content=(TextBlock(text="almond"), ResourceBlock(uri="file:///pecan"))),
        ResourceBlock(uri="file:///x", text="cashew"),
    )
    appended = MessageAppended(message=Message(id="m", role=Role.ASSISTANT, content=blocks))
    store.create("s", conversation())
    store.append("s", records(appended, start=1))
    hit = {("s", "m", 0)}
    for word in ("grep", "walnut.py", "7", "almond", "pecan", "cashew"):
        assert found(store, word) == hit, word
    for word in ("hazel", "depth", "True"):
        assert found(store, word) == set(), word


@pytest.mark.parametrize(
    ("query", "is_found"),
    [
        ("walnut ( ) * ^ : { } + - ;", True),
        ('"walnut', True),
        ('wal"nut', False),
        ("(walnut", True),
        ("^walnut", True),
        ("walnut*", True),
        ("wal*", False),
        ("-walnut", True),
        ("words:walnut", True),
        ("NOT walnut", True),
        ("hazel OR walnut", True),
        ("hazel AND walnut", True),
        ("NEAR(hazel walnut)", True),
        ("walnut\0walnut", True),
        ("\ud83d walnut", True),
    ],
)
def test_no_query_is_read_as_syntax(store: SessionStore, query: str, is_found: bool) -> None:
    store.create("s", conversation("walnut"))
    assert bool(store.search(query)) == is_found


def test_words_next_to_punctuation_are_found(store: SessionStore) -> None:
    store.create("s", conversation('say "walnut_tree" (twice)'))
    for query in ('"walnut_tree"', "(twice)", "walnut - twice", "walnut_tree !"):
        assert found(store, query) == {("s", "m0", 0)}, query


@pytest.mark.parametrize("query", ["", "  \n", "***", '"" -'])
def test_a_query_without_a_word_is_refused(store: SessionStore, query: str) -> None:
    with pytest.raises(InvalidRequest, match="at least one word"):
        store.search(query)


def test_messages_appended_after_a_search_are_found_by_the_next(store: SessionStore) -> None:
    store.create("s", conversation("walnut"))
    assert len(store.search("walnut")) == 1
    store.append("s", records(message("m1", "walnut again"), start=2))
    assert found(store, "walnut") == {("s", "m0", 0), ("s", "m1", 1)}


def test_the_search_of_one_session_finds_nothing_of_others(store: SessionStore) -> None:
    store.create("a", conversation("walnut"))
    store.create("b", conversation("walnut"))
    assert found(store, "walnut", "a") == {("a", "m0", 0)}
    assert found(store, "walnut") == {("a", "m0", 0), ("b", "m0", 0)}


def test_many_better_matches_in_other_sessions_do_not_crowd_a_session_out(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("a", conversation("the walnut of an only session, in a sentence that goes on and on"))
    sqlite_store.create("b", conversation(*["walnut"] * 2_500))
    sqlite_store.append("a", records(message("late", "a walnut among other things, in a long sentence"), start=2))
    assert found(sqlite_store, "walnut", "a") == {("a", "m0", 0), ("a", "late", 1)}


def test_the_search_of_a_fork_finds_what_it_inherits_up_to_the_fork(store: SessionStore) -> None:
    store.create("parent", conversation("walnut", "walnut", "walnut"))
    store.create("fork", fork("parent", 2, message("f0", "walnut")))
    assert found(store, "walnut", "fork") == {("fork", "m0", 0), ("fork", "m1", 1), ("fork", "f0", 2)}


def test_the_search_of_everything_finds_an_inherited_message_once(store: SessionStore) -> None:
    store.create("parent", conversation("walnut"))
    store.create("fork", fork("parent", 1))
    assert found(store, "walnut") == {("parent", "m0", 0)}


def test_a_message_that_an_agent_copied_to_another_conversation_is_found_once(sqlite_store: SqliteStore) -> None:
    said = Message(id="a", role=Role.USER, content=(TextBlock(text="the walnut tree"),), timestamp=1_000)
    again = [replace(said, id=message_id, timestamp=2_000) for message_id in ("b", "c")]
    for session_id, messages in {"first": [said], "copy": [said], "asked again": again}.items():
        appended = (MessageAppended(message=one) for one in messages)
        sqlite_store.create(session_id, records(SessionCreated(), *appended))
    assert found(sqlite_store, "walnut") == {("first", "a", 0), ("asked again", "b", 0), ("asked again", "c", 1)}
    assert found(sqlite_store, "walnut", "copy") == {("copy", "a", 0)}


def test_deleted_sessions_are_not_found(store: SessionStore) -> None:
    store.create("s", conversation("walnut"))
    assert found(store, "walnut")
    store.delete("s")
    assert found(store, "walnut") == set()


def test_of_a_deleted_parent_only_what_a_fork_inherits_is_found(store: SessionStore) -> None:
    store.create("parent", conversation("walnut", "walnut"))
    store.create("fork", fork("parent", 1))
    store.create("grandchild", fork("fork", 2))
    store.delete("parent")
    assert found(store, "walnut") == {("fork", "m0", 0)}
    store.delete("fork")
    assert found(store, "walnut") == {("grandchild", "m0", 0)}


def long_conversation(store: SqliteStore, walnuts: int) -> None:
    """Stores a session of 6,000 messages that all have one word in common; `walnuts` of them have another word."""
    texts = [f"the orchard in month {number}" for number in range(6_000)]
    for number in range(walnuts):
        texts[number * 50] += ", where a walnut grows"
    store.create("s", conversation(*texts))


def test_a_word_of_most_messages_fills_up_the_hits_of_a_long_session(sqlite_store: SqliteStore) -> None:
    long_conversation(sqlite_store, walnuts=3)
    hits = sqlite_store.search("orchard walnut", "s", 10)
    assert {hit.index for hit in hits[:3]} == {0, 50, 100}
    assert len(hits) == 10


def test_in_a_long_session_rare_words_decide_which_messages_are_found(sqlite_store: SqliteStore) -> None:
    long_conversation(sqlite_store, walnuts=100)
    hits = sqlite_store.search("orchard walnut 4950", "s", 20)
    assert hits[0].index == 99 * 50
    assert len(hits) == 20
    beside = range(hits[0].index - 2, hits[0].index + 3)
    others = [hit for hit in hits if hit.index not in beside]
    assert len(others) >= 15
    assert all("**orchard**" in hit.snippet and "**walnut**" in hit.snippet for hit in others)


def test_words_that_most_messages_have_are_found_in_a_long_session(sqlite_store: SqliteStore) -> None:
    long_conversation(sqlite_store, walnuts=0)
    assert len(sqlite_store.search("orchard month", "s", 10)) == 10


def test_vectors_are_kept_for_each_model_and_replaced(store: SessionStore) -> None:
    store.create("s", conversation("a walnut", "another walnut"))
    store.search("walnut")
    one, two = sorted(passage.id for passage in store.find_passages("walnut"))
    store.save_vectors("m", {one: b"\x01\x80", two: b"\x02\x7f"})
    store.save_vectors("n", {one: b"\x05"})
    store.save_vectors("m", {two: b"\x03\x03"})
    assert store.load_vectors("m", [one, two]) == {one: b"\x01\x80", two: b"\x03\x03"}
    assert store.load_vectors("n", [one, two]) == {one: b"\x05"}
    assert store.load_vectors("m", []) == {}


def test_what_is_found_comes_with_the_text_that_matches(store: SessionStore) -> None:
    store.create("s", conversation("a walnut", "an almond"))
    store.search("walnut")
    assert [(one.hit.index, one.text, one.chunk) for one in store.find_passages("walnut")] == [(0, "a walnut", 0)]


def test_settings_that_sessions_have_of_their_own_are_told(store: SessionStore) -> None:
    store.create("s", conversation("a walnut"))
    assert store.own_settings() == ()
    own = {"privatePatterns": ["wal"]}
    store.append("s", [Record(position=2, timestamp=9, event=SessionConfigured(context=own))])
    assert store.own_settings() == (own,)


def test_vectors_go_with_their_session_and_none_comes_later(store: SessionStore) -> None:
    store.create("s", conversation("a walnut"))
    store.search("walnut")
    (passage,) = store.find_passages("walnut")
    store.save_vectors("m", {passage.id: b"\x01"})
    store.delete("s")
    assert store.load_vectors("m", [passage.id]) == {}
    store.save_vectors("m", {passage.id: b"\x01"})
    assert store.load_vectors("m", [passage.id]) == {}


def test_the_oldest_vectors_go_above_the_bound(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation(*(f"walnut {number}" for number in range(6))))
    sqlite_store.search("walnut")
    ids = sorted(passage.id for passage in sqlite_store.find_passages("walnut"))
    with closing(reconnect(sqlite_store.path)) as connection:
        index = Fts5Index(connection)
        for number, chunk in enumerate(ids):
            save_vectors(index, "m", {chunk: bytes([number])}, most=4)
        assert sorted(load_vectors(index, "m", ids).values()) == [b"\x02", b"\x03", b"\x04", b"\x05"]
