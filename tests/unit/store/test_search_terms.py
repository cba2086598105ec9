"""How names are split for the index."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.logs import conversation, message
from ullage.model.events import Record, SessionCreated
from ullage.store import SqliteStore, open_store
from ullage.store.search.query import Span, read_query, read_time
from ullage.store.search.scoring import Terms, weigh_terms
from ullage.store.search.word_index import Counts, index_tokens, places, read_name, stem
from ullage.store.sqlite.database import reconnect
from ullage.store.sqlite.sqlite_store import Fts5Index


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ("walnut", "walnut"),
        ("Walnut", "walnut"),
        ("getUserName", "get user name"),
        ("HTTPServer", "http server"),
        ("parse_HTML5_file", "parse html 5 file"),
        ("dry-run", "dry run"),
        ("src/app/main.py", "src app main py"),
        ("a\\b", "a b"),
        ("std::vec", "std vec"),
        ("sha256", "sha 256"),
        ("deadbeef01", "deadbeef01"),
        ("__init__", "init"),
        ("naïveÉtude", "naïveétude"),
        ("日本語", "日 本 語"),
        ("3.11", "3 11"),
        ("___", ""),
    ],
)
def test_a_name_is_split_at_its_joints_and_humps(token: str, parts: str) -> None:
    assert " ".join(read_name(token).parts) == parts


@pytest.mark.parametrize(
    ("token", "inner"), [("src/my_app/main.py", ("my_app", "main.py")), ("os.path_join", ("path_join",)), ("one", ())]
)
def test_the_names_inside_a_name_are_names_as_well(token: str, inner: tuple[str, ...]) -> None:
    assert read_name(token).wholes[1:] == tuple(read_name(name).wholes[0] for name in inner)


def test_names_that_differ_in_their_joints_differ() -> None:
    spelt = ["dry_run", "dry-run", "dry.run", "dry/run", "dry::run", "dryRun"]
    assert len({read_name(name).wholes for name in spelt}) == len(spelt)


def test_data_without_an_end_is_no_name() -> None:
    assert read_name("aB3/" * 100 + "x").wholes == ()


@given(st.text(max_size=200))
def test_places_are_where_the_tokens_stand(text: str) -> None:
    found = list(places(text))
    assert [read_name(text[place.start : place.stop]) for place in found] == [place.name for place in found]


@given(st.text(max_size=200))
def test_the_index_has_each_word_and_name_as_one_token(text: str) -> None:
    tokens = index_tokens(text)
    assert all(token and not any(char.isascii() and not char.isalnum() for char in token) for token in tokens)
    if text.isascii():
        assert tokens >= {stem(part) for place in places(text) for part in place.name.parts}


@pytest.mark.parametrize(("word", "other"), [("walnuts", "walnut"), ("parsing", "parsed"), ("entries", "entry")])
def test_forms_of_a_word_share_a_stem(word: str, other: str) -> None:
    assert stem(word) == stem(other)


# The weights of a query's words: in a large store the rare ones find, and the common ones count in what these find


MESSAGES = 9_000


@pytest.fixture(scope="module")
def orchard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store in which one word is in every third message, one in every fourth, and one in every fiftieth."""
    texts = [
        f"month {number}" + " pear" * (number % 3 == 0) + " plum" * (number % 4 == 0) + " walnut" * (number % 50 == 0)
        for number in range(MESSAGES)
    ]
    with open_store(tmp_path_factory.mktemp("orchard") / "s.db") as store:
        store.create("s", conversation(*texts))
        while store.index_some():
            pass
        yield store


def terms_of(path: Path, query: str) -> Terms:
    with closing(reconnect(path)) as connection:
        index = Fts5Index(connection)
        return weigh_terms(index, read_query(query), Counts(index))


def test_a_rare_word_weighs_more_than_a_common_one(orchard: SqliteStore) -> None:
    terms = terms_of(orchard.path, "walnut month")
    assert terms.stems["walnut"].weight > terms.stems["month"].weight
    assert terms.stems["walnut"].rows == MESSAGES // 50
    assert [term.expression for term in terms.all()] == ['"walnut"', '"month"']


def test_a_word_that_is_nowhere_finds_no_rows(orchard: SqliteStore) -> None:
    assert [term.rows for term in terms_of(orchard.path, "walnut zebra").all()] == [MESSAGES // 50]


def test_of_messages_with_a_rare_word_those_with_the_common_words_come_first(orchard: SqliteStore) -> None:
    hits = orchard.search("walnut pear plum", limit=10)
    assert all(hit.index % 50 == hit.index % 3 == hit.index % 4 == 0 for hit in hits)


def test_common_words_alone_still_find(orchard: SqliteStore) -> None:
    hits = orchard.search("pear plum", limit=10)
    assert len(hits) == 10
    assert all(hit.index % 12 == 0 for hit in hits)


def test_of_many_messages_with_the_same_words_the_short_one_is_found(tmp_path: Path) -> None:
    filler = " ".join(f"tree{number}" for number in range(150))
    with open_store(tmp_path / "s.db") as store:
        store.create("s", conversation("The walnut is ripe", *(f"walnut {filler}" for _ in range(200)), "No fruit"))
        assert [hit.index for hit in store.search("walnut", limit=1)] == [0]


# Search: other forms of a word are found, and mistyped words of which the archive has none


def ids(store: SqliteStore, query: str) -> list[str]:
    return [hit.message_id for hit in store.search(query)]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("buy", "we bought a licence"),
        ("where did it go", "it went to the cache"),
        ("plan", "planning the release"),
        ("planned", "the plan of the release"),
        ("index", "both indices are stale"),
    ],
)
def test_another_form_of_a_word_is_found(sqlite_store: SqliteStore, query: str, text: str) -> None:
    sqlite_store.create("s", conversation("nothing of that", text))
    assert ids(sqlite_store, query) == ["m1"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("exeption", "an exception in the loop"),
        ("conection pool", "the connection is closed"),
        ("recieve", "we receive two frames"),
        ("databse", "a database is locked"),
        ("xception", "an exception in the loop"),
        ("timeoutt", "the timeout is short"),
        ("middlewere", "a middleware runs first"),
    ],
)
def test_a_mistyped_word_is_found(sqlite_store: SqliteStore, query: str, text: str) -> None:
    sqlite_store.create("s", conversation("nothing of that", text, "other things"))
    assert ids(sqlite_store, query) == ["m1"]


def test_a_mistyped_word_is_marked_in_the_snippet(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("an exception in the loop"))
    (hit,) = sqlite_store.search("exeption")
    assert "an **exception** in" in hit.snippet


def test_a_word_that_the_archive_has_is_not_taken_for_another(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("the casting of types", "the costing of runs"))
    assert ids(sqlite_store, "casting") == ["m0"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("STRASSE", "Die Straße ist gesperrt"),
        ("straße", "DIE STRASSE IST GESPERRT"),
        ("Grosse", "Die Größe stimmt"),
        ("weiss", "die Wand ist weiß"),
        ("weiß", "DIE WAND IST WEISS"),
        ("ışık", "IŞIK kapalı"),
        ("lodz", "pociąg do Łódź"),
        ("Łódź", "the train to Lodz"),
        ("Dang", "anh Đặng"),
        ("IŞIK", "ışık kapalı"),
        ("dışarı", "kutular DIŞARI taşındı"),
        ("ığdır", "bugün Iğdır güneşli"),
        ("Iğdır", "bugün ığdır güneşli"),
        ("\uff21\uff30\uff29", "the API answers"),
        ("API", "\u672c\u65e5\uff21\uff30\uff29\u505c\u6b62"),
        ("utf8", "\uff35\uff34\uff26\uff18 \u3067\u3059"),
    ],
)
def test_a_word_is_found_in_the_capitals_and_letters_of_its_language(
    sqlite_store: SqliteStore, query: str, text: str
) -> None:
    sqlite_store.create("s", conversation("nothing of it", text, "nor here"))
    assert [(hit.message_id, hit.fits) for hit in sqlite_store.search(query)] == [("m1", True)]


def test_a_word_that_begins_another_is_not_mistyped(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("annotations are kept", "a rotation of keys, an anotat"))
    assert ids(sqlite_store, "annotat") == ["m0"]


def test_short_words_numbers_and_other_scripts_are_not_mistyped(sqlite_store: SqliteStore) -> None:
    sqlite_store.create("s", conversation("port 54321 of the кошка"))
    assert ids(sqlite_store, "sort") == []
    assert ids(sqlite_store, "54322") == []
    assert ids(sqlite_store, "мошка") == []


# Search: time words of a question prefer messages of that time, in the user's zone, and hide no others


# A Wednesday.
NOW = datetime(2026, 3, 18, 15, 30, tzinfo=UTC)


def days(text: str, now: datetime = NOW) -> tuple[str, str]:
    span = read_time(text, now)[1]
    assert span is not None
    first, after = (datetime.fromtimestamp(time / 1000, now.tzinfo) for time in (span.start, span.stop))
    return first.date().isoformat(), (after - timedelta(milliseconds=1)).date().isoformat()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what failed today", "2026-03-18", "2026-03-18"),
        ("what failed yesterday", "2026-03-17", "2026-03-17"),
        ("the day before yesterday", "2026-03-16", "2026-03-16"),
        ("the plan of last night", "2026-03-17", "2026-03-17"),
        ("two days ago", "2026-03-16", "2026-03-16"),
        ("3 weeks ago", "2026-02-22", "2026-02-28"),
        ("on Tuesday", "2026-03-17", "2026-03-17"),
        ("last Wednesday", "2026-03-11", "2026-03-11"),
        ("this week", "2026-03-16", "2026-03-22"),
        ("last week", "2026-03-09", "2026-03-15"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("in March", "2026-03-01", "2026-03-31"),
        ("in May", "2025-05-01", "2025-05-31"),
        ("in December 2024", "2024-12-01", "2024-12-31"),
        ("on 7 May 2023", "2023-05-07", "2023-05-07"),
        ("on 2026-01-31", "2026-01-31", "2026-01-31"),
    ],
)
def test_time_words_mean_days(text: str, first: str, last: str) -> None:
    assert days(text) == (first, last)


def test_hours_ago_are_around_that_hour() -> None:
    span = read_time("two hours ago", NOW)[1]
    assert span is not None
    assert span.has(int((NOW - timedelta(hours=2)).timestamp() * 1000))
    assert not span.has(int(NOW.timestamp() * 1000))


def test_a_day_is_one_of_the_users_zone() -> None:
    east = timezone(timedelta(hours=9))
    span = read_time("yesterday", datetime(2026, 3, 18, 1, 0, tzinfo=east))[1]
    assert span is not None
    assert span.start == int(datetime(2026, 3, 16, 15, 0, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    "text", ["the retry limit", "may I see it", "march through the list", "on 31 June", "Tuesday.py"]
)
def test_other_words_mean_no_time(text: str) -> None:
    assert read_time(text, NOW) == (text, None)


def test_time_words_are_not_looked_for_as_words_if_others_remain() -> None:
    assert read_query("which tests failed last week", now=NOW).stems == ("test", "fail")
    assert read_query("yesterday", now=NOW).stems == ("yesterda",)
    assert read_query("what did we do yesterday", now=NOW).span is not None


def test_a_message_of_the_named_time_comes_first_and_others_are_found_too(sqlite_store: SqliteStore) -> None:
    written = [datetime(2023, 5, day, 12, tzinfo=UTC) for day in (1, 7, 20)]
    failed = [
        Record(position=at, timestamp=int(time.timestamp() * 1000), event=message(f"m{at}", "the build failed"))
        for at, time in enumerate(written, 1)
    ]
    sqlite_store.create("s", [Record(position=0, timestamp=0, event=SessionCreated()), *failed])
    hits = [hit.message_id for hit in sqlite_store.search("why did the build fail on 7 May 2023")]
    assert hits[0] == "m2"
    assert set(hits) == {"m1", "m2", "m3"}
    assert sqlite_store.search("the build on May 1, 2023")[0].message_id == "m1"


def test_a_stretch_of_time_has_its_beginning_and_not_its_end() -> None:
    span = Span(1_000, 2_000)
    assert [span.has(time) for time in (999, 1_000, 1_999, 2_000)] == [False, True, True, False]
