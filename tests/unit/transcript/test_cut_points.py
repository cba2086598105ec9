from support.build import assistant, results, system, thinking, user, uses
from ullage.transcript.view import cut_points, groups, turn_starts, without_oldest


def test_an_empty_transcript_has_the_one_cut() -> None:
    assert cut_points([]) == [0]


def test_plain_messages_may_be_cut_anywhere() -> None:
    assert cut_points([user("u1"), assistant("a1"), user("u2")]) == [0, 1, 2, 3]


def test_a_tool_use_is_not_parted_from_its_result() -> None:
    assert cut_points([user("u1"), uses("a1", "t1"), results("r1", "t1"), user("u2")]) == [0, 1, 3, 4]


def test_parallel_uses_stay_together_until_the_last_result() -> None:
    messages = [uses("a1", "t1", "t2"), results("r1", "t2"), user("u1"), results("r2", "t1"), user("u2")]
    assert cut_points(messages) == [0, 4, 5]


def test_a_use_that_still_waits_for_its_result_stays_in_the_tail() -> None:
    assert cut_points([user("u1"), uses("a1", "t1"), user("u2"), user("u3")]) == [0, 1, 4]


def test_a_result_lost_for_good_holds_nothing_together() -> None:
    messages = [uses("a1", "t1"), user("u1"), assistant("a2"), user("u2")]
    assert cut_points(messages) == [0, 1, 2, 3, 4]


def test_a_result_without_its_use_binds_nothing() -> None:
    assert cut_points([user("u1"), results("r1", "gone"), user("u2")]) == [0, 1, 2, 3]


def test_a_tool_id_used_twice_pairs_with_the_use_before_each_result() -> None:
    messages = [uses("a1", "t"), results("r1", "t"), user("u1"), uses("a2", "t"), results("r2", "t")]
    assert cut_points(messages) == [0, 2, 3, 5]


def test_thinking_is_not_parted_from_what_it_led_to_even_across_a_system_note() -> None:
    assert cut_points([user("u1"), thinking("h1"), system("s1"), uses("a1", "t1"), results("r1", "t1")]) == [0, 1, 5]


def test_an_answer_in_two_messages_is_not_cut_in_the_middle() -> None:
    assert cut_points([user("u1"), assistant("a1"), assistant("a2"), user("u2")]) == [0, 1, 3, 4]


def test_groups_cover_everything_once() -> None:
    messages = [user("u1"), uses("a1", "t1"), results("r1", "t1"), assistant("a2")]
    assert groups(messages) == [range(1), range(1, 3), range(3, 4)]


def test_a_turn_starts_where_the_user_typed_something() -> None:
    messages = [user("u1"), uses("a1", "t1"), results("r1", "t1"), assistant("a2"), user("u2")]
    assert turn_starts(messages) == [0, 4]


# Dropping the oldest groups


MESSAGES = [system("s"), user("p"), uses("u", "t"), results("r", "t"), assistant("a"), user("q"), assistant("b")]


def ids(count: int, stays: frozenset[str] = frozenset({"s", "p"})) -> str:
    return "".join(message.id for message in without_oldest(MESSAGES, stays, count))


def test_whole_groups_go_oldest_first_and_those_that_stay_do_not_count() -> None:
    assert [ids(count) for count in range(4)] == ["spuraqb", "spaqb", "spqb", "spb"]


def test_the_last_group_always_stays() -> None:
    assert ids(99) == "spb"
