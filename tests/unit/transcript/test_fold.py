"""The fold of a log to a view, and the places at which a view may be cut."""

from support.build import append, assistant, log, results, system, thinking, user, uses
from ullage.model.events import (
    ClearToolUsesEdit,
    CompactionEdit,
    ContextEdited,
    DropEdit,
    DuplicateReadsEdit,
    Edit,
    EditReverted,
    Event,
    MessagePinned,
    ModelChanged,
    Replacement,
    SessionCreated,
    SessionForked,
    SessionRenamed,
    ToolsDeclared,
)
from ullage.model.message import (
    CompactionBlock,
    ImageBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.transcript.fold import fold, project
from ullage.transcript.view import cut_points, groups, turn_starts, without_oldest


def compaction(number: int, start: int, end: int, leading: tuple[str, ...] = (), kept: tuple[str, ...] = ()) -> Edit:
    block = CompactionBlock(
        compaction_number=number,
        timestamp=0,
        summary=f"summary {number}",
        messages_archived=end - start,
        context_size_before=100,
    )
    marker = Message(id=f"marker{number}", role=Role.USER, content=(block,))
    return CompactionEdit(
        id=f"c{number}", timestamp=number, start=start, end=end, marker=marker, leading=leading, kept=kept
    )


def ids(messages: tuple[Message, ...]) -> list[str]:
    return [message.id for message in messages]


TALK = append(system("s"), user("u1"), assistant("a1"), user("u2"), assistant("a2"), user("u3"))


def test_without_edits_the_view_is_the_transcript() -> None:
    assert ids(project(TALK)) == ["s", "u1", "a1", "u2", "a2", "u3"]


def test_a_compaction_puts_its_marker_after_the_leading_messages_and_before_the_tail() -> None:
    events = [*TALK, ContextEdited(edit=compaction(1, 0, 4, leading=("s", "u1"), kept=("u2",)))]
    assert ids(project(events)) == ["s", "u1", "marker1", "u2", "a2", "u3"]


def test_a_second_compaction_takes_the_first_ones_marker_with_it() -> None:
    first = ContextEdited(edit=compaction(1, 0, 3, leading=("s", "u1")))
    second = ContextEdited(edit=compaction(2, 0, 5, leading=("s", "u1")))
    transcript = fold(log([*TALK, first, second]))
    assert ids(transcript.view) == ["s", "u1", "marker2", "u3"]
    assert (transcript.compactions, transcript.active, transcript.messages) == (2, 3, 6)


def test_messages_appended_after_a_compaction_follow_it() -> None:
    events = [*TALK, ContextEdited(edit=compaction(1, 0, 6)), *append(assistant("a3"))]
    assert ids(project(events)) == ["marker1", "a3"]


def test_a_drop_leaves_its_notice_where_the_gap_is() -> None:
    notice = user("notice")
    edit = DropEdit(id="d", timestamp=0, message_ids=("a1", "u2"), notice=notice)
    assert ids(project([*TALK, ContextEdited(edit=edit)])) == ["s", "u1", "notice", "a2", "u3"]


def test_a_drop_of_nothing_present_changes_nothing() -> None:
    edit = DropEdit(id="d", timestamp=0, message_ids=("gone",), notice=user("notice"))
    assert project([*TALK, ContextEdited(edit=edit)]) == project(TALK)


def test_replacements_keep_the_blocks_kind_and_ties() -> None:
    talk = append(uses("a", "t", text="x"), results("r", "t", text="long"))
    edit = ClearToolUsesEdit(
        id="k",
        timestamp=0,
        replacements=(
            Replacement(message_id="r", block=0, text="short"),
            Replacement(message_id="a", block=0, input={"text": "y"}),
            Replacement(message_id="a", block=7, text="there is no such block"),
        ),
    )
    use, result = project([*talk, ContextEdited(edit=edit)])
    assert use.content == (ToolUseBlock(id="t", name="run", input={"text": "y"}),)
    assert result.content == (ToolResultBlock(tool_use_id="t", content=(TextBlock(text="short"),)),)


def test_rewritten_thinking_loses_its_signature_and_an_image_becomes_text() -> None:
    message = Message(
        id="m", role=Role.ASSISTANT, content=(ThinkingBlock(thinking="a", signature="s"), ImageBlock(data="aGk="))
    )
    edit = ClearToolUsesEdit(
        id="k",
        timestamp=0,
        replacements=(
            Replacement(message_id="m", block=0, text="b"),
            Replacement(message_id="m", block=1, text="[picture]"),
        ),
    )
    (after,) = project([*append(message), ContextEdited(edit=edit)])
    assert after.content == (ThinkingBlock(thinking="b"), TextBlock(text="[picture]"))


def test_the_fold_gathers_what_the_session_is() -> None:
    tool = ToolDefinition(name="run")
    transcript = fold(
        log(
            [
                SessionCreated(cwd="/p", title="one", model="m1"),
                ToolsDeclared(tools=(tool,)),
                *TALK,
                ModelChanged(model="m2"),
                SessionRenamed(title="two"),
                MessagePinned(message_id="a1"),
                MessagePinned(message_id="a2"),
                MessagePinned(message_id="a1", pinned=False),
            ]
        )
    )
    assert (transcript.cwd, transcript.title, transcript.model) == ("/p", "two", "m2")
    assert (transcript.tools, transcript.pinned, transcript.first_user_id) == ((tool,), {"a2"}, "u1")
    assert transcript.messages == 6


def test_a_fork_names_its_parent() -> None:
    transcript = fold(log([SessionCreated(title="one"), SessionForked(parent_id="p", position=0, title="two")]))
    assert (transcript.parent_id, transcript.title) == ("p", "two")


def test_messages_that_notices_point_to_are_known_as_long_as_they_are_in_the_view() -> None:
    repeats = DuplicateReadsEdit(
        id="r",
        timestamp=0,
        replacements=(Replacement(message_id="u1", block=0, text="[later]"),),
        shown_in=("a2", "u3"),
    )
    events: list[Event] = [*TALK, ContextEdited(edit=repeats)]
    assert fold(log(events)).relied == fold(log(events)).state.relied == {"a2", "u3"}
    assert fold(log([*events, ContextEdited(edit=compaction(1, 0, 5))])).relied == {"u3"}
    assert fold(log([*events, EditReverted(edit_id="r")])).relied == set()


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


def ids_without(count: int, stays: frozenset[str] = frozenset({"s", "p"})) -> str:
    return "".join(message.id for message in without_oldest(MESSAGES, stays, count))


def test_whole_groups_go_oldest_first_and_those_that_stay_do_not_count() -> None:
    assert [ids_without(count) for count in range(4)] == ["spuraqb", "spaqb", "spqb", "spb"]


def test_the_last_group_always_stays() -> None:
    assert ids_without(99) == "spb"
