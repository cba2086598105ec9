"""What is PostgreSQL's own in the search: the statements that one makes, the counts of words, the language."""

from typing import Any

import pytest
from psycopg import connect

from support.logs import message, records
from support.postgres_server import needs_postgres
from ullage.model.events import SessionCreated
from ullage.store.postgres.postgres_store import PostgresStore, open_postgres
from ullage.store.postgres.text_index import SharedSql, TextIndex, read_expression
from ullage.store.search.word_index import WantedRows

pytestmark = needs_postgres


@pytest.mark.parametrize(
    "question", ["walnut", "which pears did they plant in the grove", "walnuts by the harbor", "the wallnut treee"]
)
def test_a_search_makes_few_statements_however_many_messages_match(
    postgres_address: str, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    words = ("walnut", "pear", "plum", "grove", "harbor", "plant", "tree")
    made: list[str] = []
    with open_postgres(postgres_address) as store:
        for session in range(12):
            texts = (f"{words[at % 7]} {words[at % 5]} {words[at % 3]} {at}" for at in range(30))
            store.create(
                f"s{session}", records(SessionCreated(), *(message(f"m{at}", one) for at, one in enumerate(texts)))
            )
        while store.index_some():
            pass
        execute = SharedSql.execute

        def count(connection: SharedSql, statement: str, values: Any = (), /) -> Any:
            made.append(statement)
            return execute(connection, statement, values)

        monkeypatch.setattr(SharedSql, "execute", count)
        assert len(store.find_passages(question)) == 10
    assert len(made) <= 16


def test_the_rows_of_words_are_counted_as_they_come_and_go(postgres: PostgresStore, postgres_address: str) -> None:
    def counted() -> list[int]:
        with connect(postgres_address) as connection:
            return TextIndex(connection).count_rows(["walnut", "pear", ""])

    postgres.create("s", records(SessionCreated(), message("m1", "walnut walnut"), message("m2", "walnut pear")))
    postgres.create("t", records(SessionCreated(), message("m3", "walnut\n" * 1_000)))
    postgres.search("walnut")
    assert counted() == [6, 1, 6]
    postgres.delete("s")
    assert counted() == [4, 0, 4]
    postgres.forget_words()
    assert counted() == [4, 0, 4]
    with connect(postgres_address) as connection:
        assert connection.execute("SELECT word FROM message_vocabulary ORDER BY word").fetchall() == [
            ("",),
            ("walnut",),
        ]


def test_the_rows_of_words_are_counted_by_workspace_wherever_their_session_goes(
    postgres: PostgresStore, postgres_address: str
) -> None:
    def counted() -> list[tuple[str, str, int]]:
        with connect(postgres_address) as connection:
            rows = connection.execute("SELECT workspace, word, rows FROM message_vocabulary ORDER BY 1, 2").fetchall()
        return [(workspace, word, count) for workspace, word, count in rows if word]

    postgres.create("s", records(SessionCreated(), message("m1", "walnut pear")))
    postgres.create("t", records(SessionCreated(), message("m2", "walnut")))
    postgres.share("s", "w")
    while postgres.index_some():
        pass
    postgres.append("s", records(message("m3", "walnut\n" * 1_000), start=2))
    while postgres.index_some():
        pass
    assert counted() == [("", "walnut", 1), ("w", "pear", 1), ("w", "walnut", 5)]
    postgres.share("t", "v")
    postgres.share("s", None)
    assert counted() == [("", "pear", 1), ("", "walnut", 5), ("v", "walnut", 1)]
    postgres.forget_words()
    assert counted() == [("", "pear", 1), ("", "walnut", 5), ("v", "walnut", 1)]
    postgres.delete("t")
    assert counted() == [("", "pear", 1), ("", "walnut", 5)]


def test_of_a_word_that_many_rows_have_the_newest_rows_are_found(
    postgres: PostgresStore, postgres_address: str
) -> None:
    # The first ones, so that rows in the range of the newest ids are too few.
    texts = [*["walnut pear"] * 60, *["plum"] * 60, *["walnut"] * 5]
    postgres.create("s", records(SessionCreated(), *(message(f"m{at}", text) for at, text in enumerate(texts))))
    postgres.search("walnut")
    with connect(postgres_address) as connection:
        index = TextIndex(connection)
        last = index.last_record()
        walnut = WantedRows('"walnut"', 0, index.further - 1, 20, 65)
        rare = WantedRows('"walnut" AND "pear"', 0, index.further - 1, 100, 60)
        none = WantedRows('"quince"', index.further, 2**63 - 1, 2_000, 2_001)
        found = index.find_rows([walnut, rare, none])
    assert found[0] == [*range(last, last - 5, -1), *range(last - 65, last - 80, -1)]
    assert (len(found[1]), found[2]) == (60, [])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('"walnut"', "'walnut'"),
        ('"walnut" *', "'walnut':*"),
        ('("a" OR "b") AND ("c")', "('a' | 'b') & ('c')"),
        (r'"it\'s"', r"'it\\''s'"),
        ('"or" OR "AND"', "'or' | 'AND'"),
    ],
)
def test_an_expression_of_the_index_is_written_as_a_text_query(expression: str, expected: str) -> None:
    assert read_expression(expression) == expected
