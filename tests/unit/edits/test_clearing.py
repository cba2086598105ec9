"""Clearing, as Anthropic's context editing defines it."""

from support.build import STAMP, assistant, counted, results, thinking, user, uses, words
from ullage.edits.clear import (
    ClearOptions,
    Measure,
    Trigger,
    clear_thinking,
    clear_tool_uses,
    cleared_elsewhere,
)
from ullage.edits.counted import CountedView
from ullage.model.events import ClearToolUsesEdit
from ullage.model.message import Message, ThinkingBlock, ToolUseBlock

LONG = words(500)


def calls(number: int, **given: str) -> list[Message]:
    return [
        message
        for i in range(number)
        for message in (uses(f"u{i}", f"t{i}", name="run", **given), results(f"r{i}", f"t{i}", text=LONG))
    ]


def cleared(view: CountedView, options: ClearOptions, untouched: tuple[str, ...] = ()) -> list[str]:
    edit = clear_tool_uses(view, options, STAMP, untouched)
    return [each.message_id for each in edit.replacements] if edit else []


def test_the_oldest_results_go_and_the_last_three_stay() -> None:
    assert cleared(counted(*calls(5)), ClearOptions()) == ["r0", "r1"]


def test_nothing_happens_until_the_trigger_is_exceeded() -> None:
    view = counted(*calls(5))
    at = view.used
    assert cleared(view, ClearOptions(trigger=Trigger(value=at))) == []
    assert cleared(view, ClearOptions(trigger=Trigger(value=at - 1))) == ["r0", "r1"]
    assert cleared(view, ClearOptions(trigger=Trigger(type=Measure.TOOL_USES, value=5))) == []
    assert cleared(view, ClearOptions(trigger=Trigger(type=Measure.TOOL_USES, value=4))) == ["r0", "r1"]


def test_if_clearing_would_save_too_little_no_edit_is_made() -> None:
    view = counted(*calls(5))
    edit = clear_tool_uses(view, ClearOptions(), STAMP)
    assert isinstance(edit, ClearToolUsesEdit)
    assert cleared(view, ClearOptions(clear_at_least=edit.tokens_saved)) == ["r0", "r1"]
    assert cleared(view, ClearOptions(clear_at_least=edit.tokens_saved + 1)) == []


def test_excluded_tools_and_messages_keep_their_results() -> None:
    view = counted(*calls(5))
    assert cleared(view, ClearOptions(exclude_tools=frozenset({"run"}))) == []
    assert cleared(view, ClearOptions(), untouched=("r0",)) == ["r1"]


def test_what_a_provider_cleared_is_cleared_here_once_but_for_what_must_stay() -> None:
    view = counted(*calls(5))
    edit = cleared_elsewhere(view, 3, ClearOptions(), STAMP, untouched=("r1",))
    assert edit is not None
    assert [each.message_id for each in edit.replacements] == ["r0", "r2"]
    assert cleared_elsewhere(view.after(edit), 3, ClearOptions(), STAMP, untouched=("r1",)) is None
    assert cleared_elsewhere(view, 3, ClearOptions(exclude_tools=frozenset({"run"})), STAMP) is None


def test_inputs_go_too_if_asked_for_all_tools_or_some() -> None:
    messages = calls(4, command=words(600), note="short")
    view = counted(*messages)
    assert cleared(view, ClearOptions()) == ["r0"]
    for wanted in (True, frozenset({"run"})):
        assert cleared(view, ClearOptions(clear_tool_inputs=wanted)) == ["r0", "u0"]
    assert cleared(view, ClearOptions(clear_tool_inputs=frozenset({"other"}))) == ["r0"]
    edit = clear_tool_uses(view, ClearOptions(clear_tool_inputs=True), STAMP)
    assert edit is not None
    block = view.after(edit).messages[0].content[0]
    assert isinstance(block, ToolUseBlock)
    assert block.input == {"command": "[cleared]", "note": "short"}


def test_the_output_of_a_fenced_command_is_a_result() -> None:
    messages = [
        message
        for i in range(5)
        for message in (
            assistant(f"a{i}", f"Next.\n```bash\nmake part{i}\n```"),
            user(f"o{i}", f"<returncode>0</returncode>\n<output>\n{LONG}\n</output>"),
        )
    ]
    assert cleared(counted(*messages), ClearOptions()) == ["o0", "o1"]
    assert cleared(counted(*messages), ClearOptions(exclude_tools=frozenset({"bash"}))) == []


def thoughts(view: CountedView, keep: int) -> list[str]:
    edit = clear_thinking(view, keep, STAMP)
    after = view.after(edit) if edit else view
    return [
        block.thinking
        for message in after.messages
        for block in message.content
        if isinstance(block, ThinkingBlock) and block.thinking
    ]


def test_the_last_turns_with_thinking_keep_it() -> None:
    turns = [[user(f"p{i}"), thinking(f"k{i}", f"thought {i}"), assistant(f"a{i}")] for i in range(4)]
    quiet = [user("p9"), assistant("a9")]
    view = counted(*(message for turn in turns for message in turn), *quiet)
    assert thoughts(view, 1) == ["thought 3"]
    assert thoughts(view, 3) == ["thought 1", "thought 2", "thought 3"]
    assert clear_thinking(view, 4, STAMP) is None


def test_a_tool_loop_is_one_turn_and_keeps_all_its_thinking() -> None:
    loop = [
        message
        for i in range(3)
        for message in (thinking(f"k{i}", f"step {i}"), uses(f"u{i}", f"t{i}"), results(f"r{i}", f"t{i}"))
    ]
    view = counted(user("p0"), thinking("k", "before"), assistant("a"), user("p1"), *loop)
    assert thoughts(view, 1) == ["step 0", "step 1", "step 2"]


def test_cleared_thinking_is_not_sent() -> None:
    view = counted(
        user("p0"), thinking("k0", "old"), assistant("a0"), user("p1"), thinking("k1", "new"), assistant("a1")
    )
    edit = clear_thinking(view, 1, STAMP)
    assert edit is not None
    assert edit.cleared_thinking_turns == 1
    assert view.after(edit).messages[1].content == (ThinkingBlock(thinking=""),)
