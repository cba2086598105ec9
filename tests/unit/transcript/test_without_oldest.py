"""Dropping the oldest groups."""

from support.build import assistant, results, system, user, uses
from ullage.transcript.view import without_oldest

MESSAGES = [system("s"), user("p"), uses("u", "t"), results("r", "t"), assistant("a"), user("q"), assistant("b")]


def ids(count: int, stays: frozenset[str] = frozenset({"s", "p"})) -> str:
    return "".join(message.id for message in without_oldest(MESSAGES, stays, count))


def test_whole_groups_go_oldest_first_and_those_that_stay_do_not_count() -> None:
    assert [ids(count) for count in range(4)] == ["spuraqb", "spaqb", "spqb", "spb"]


def test_the_last_group_always_stays() -> None:
    assert ids(99) == "spb"
