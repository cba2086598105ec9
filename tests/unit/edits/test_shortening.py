"""Long outputs keep their most useful lines, and a block far too large is shortened wherever it is."""

from base64 import b64encode
from collections.abc import Callable
from functools import partial

import pytest
from msgspec.structs import replace

from support.build import STAMP, assistant, counted, results, user, uses, words
from support.pdf import small_pdf
from support.steps import ends
from ullage.edits.counted import CountedView, count_view
from ullage.edits.shorten import ResultLimits, cap_blocks, excerpt, names, shorten, shorten_results
from ullage.formats.provider import write_anthropic
from ullage.model.message import ImageBlock, Message, ResourceBlock, Role, TextBlock, ThinkingBlock, ToolUseBlock
from ullage.tokens.counter import get_counter
from ullage.transcript.view import Item

LINES = [f"compiling module number {i} of the project" for i in range(400)]
OUTPUT = "\n".join([*LINES[:200], "src/store.py:81: error: no attribute 'flush_all'", *LINES[200:], "BUILD FAILED"])


def test_an_excerpt_keeps_the_head_the_tail_and_what_went_wrong() -> None:
    got = excerpt(OUTPUT, 2_000)
    assert len(got) <= 2_200
    assert got.startswith(LINES[0])
    assert got.endswith("BUILD FAILED")
    assert "error: no attribute 'flush_all'" in got
    assert "lines left out …]" in got


def test_an_excerpt_keeps_the_lines_that_are_asked_for() -> None:
    text = "\n".join([*LINES[:200], "wrote target/out-7f3a.bin", *LINES[200:]])
    assert "out-7f3a.bin" not in excerpt(text, 2_000)
    assert "out-7f3a.bin" in excerpt(text, 2_000, {"target/out-7f3a.bin"})


def test_one_endless_line_loses_its_middle() -> None:
    got = excerpt("x" * 50_000, 1_000)
    assert len(got) <= 1_100
    assert "characters left out" in got


def build(name: str = "run") -> list[Message]:
    return [uses("u", "t", name=name), results("r", "t", text=OUTPUT), assistant("a", "Done."), user("p", "And now?")]


def shortened(messages: list[Message], limits: ResultLimits, untouched: tuple[str, ...] = ()) -> str | None:
    edit = shorten_results(counted(*messages), limits, STAMP, untouched)
    return edit.replacements[0].text if edit else None


def test_a_result_over_its_limit_is_shortened_to_it() -> None:
    view = counted(*build())
    edit = shorten_results(view, ResultLimits(max_result_tokens=300), STAMP)
    assert edit is not None
    assert view.after(edit).tokens[1] <= 301
    assert edit.tokens_saved == view.used - view.after(edit).used


def test_limits_differ_by_tool_and_memory_has_none() -> None:
    assert shortened(build(), ResultLimits(max_result_tokens=10_000)) is None
    assert shortened(build(), ResultLimits(max_result_tokens=10_000, by_tool={"run": 300})) is not None
    assert shortened(build(), ResultLimits(max_result_tokens=300, by_tool={"run": 10_000})) is None
    assert shortened(build("memory"), ResultLimits(max_result_tokens=300)) is None
    assert shortened(build(), ResultLimits(max_result_tokens=300, exclude_tools=frozenset({"run"}))) is None
    assert shortened(build(), ResultLimits(max_result_tokens=300), untouched=("r",)) is None


def test_what_is_to_be_answered_stays_whole() -> None:
    assert shortened(build()[:2], ResultLimits(max_result_tokens=300)) is None


def test_what_the_agent_came_back_to_stays() -> None:
    text = "\n".join([*LINES[:150], "found cache_key_v2 in use", *LINES[150:]])
    messages = [
        uses("u", "t", name="run"),
        results("r", "t", text=text),
        assistant("a", "So cache_key_v2 it is."),
        user("p"),
    ]
    got = shortened(messages, ResultLimits(max_result_tokens=300))
    assert got is not None
    assert "cache_key_v2" in got


def cut(message: Message, limit: int) -> Message:
    counter = get_counter("gpt-4o")
    tokens = [counter.count_message(message)]
    view = CountedView(items=(Item(0, message),), tokens=tokens, fixed=0, measure=counter.count_message)
    edit = shorten(view, limit, STAMP)
    assert edit is not None
    assert view.after(edit).used <= limit
    return view.after(edit).messages[0]


def test_a_huge_tool_input_shares_what_room_there_is() -> None:
    (block,) = cut(uses("u", "t", path="/a.py", content=words(5_000)), 200).content
    assert isinstance(block, ToolUseBlock)
    assert block.input["path"] == "/a.py"
    assert "characters left out" in block.input["content"]


def test_an_input_of_too_many_parts_is_cut_as_one() -> None:
    many = Message(
        id="m",
        role=Role.ASSISTANT,
        content=(ToolUseBlock(id="t", name="run", input={f"key {i}": f"value {i}" for i in range(2_000)}),),
    )
    (block,) = cut(many, 100).content
    assert isinstance(block, ToolUseBlock)
    assert list(block.input) == ["cut"]


def test_pictures_and_encrypted_thinking_go_whole() -> None:
    picture = Message(id="m", role=Role.ASSISTANT, content=(ImageBlock(data="A" * 9_000), TextBlock(text="See?")))
    assert cut(picture, 20).content[1] == TextBlock(text="See?")
    hidden = Message(id="m", role=Role.ASSISTANT, content=(ThinkingBlock(thinking="", redacted="A" * 9_000),))
    assert cut(hidden, 20).content == (ThinkingBlock(thinking=""),)


def test_messages_that_are_to_stay_whole_do() -> None:
    view = counted(user("a", words(500)), user("b", words(500)), user("c", words(500)))
    edit = shorten(view, 1_100, STAMP, {"a"})
    assert edit is not None
    assert [each.message_id for each in edit.replacements] == ["b"]


def test_what_the_user_typed_in_the_newest_message_stays_whole_and_the_results_beside_it_do_not() -> None:
    result = results("r", "t", text=words(500))
    both = replace(result, content=(*result.content, TextBlock(text=words(300))))
    view = counted(user("a", words(500)), uses("u", "t"), both, assistant("b", words(500)))
    edit = shorten(view, 320 + 60, STAMP)
    assert edit is not None
    assert {(each.message_id, each.block) for each in edit.replacements} == {("a", 0), ("r", 0), ("b", 0)}
    assert shorten(counted(user("a", words(500))), 0, STAMP) is None


def test_a_document_that_does_not_fit_is_replaced_by_its_name_and_size() -> None:
    counter = get_counter("claude-sonnet-4-5")
    data = b64encode(small_pdf(pages=200)).decode()
    block = ResourceBlock(uri="file:///project/spec.pdf", mime_type="application/pdf", data=data)
    message = Message(id="m1", role=Role.USER, content=(TextBlock(text="Read this."), block))
    view = count_view([message, user("q", "And now?")], counter)
    assert view.used > 400_000
    edit = shorten(view, 10_000, STAMP)
    assert edit is not None
    item, _ = view.after(edit).items
    (left,) = [part for part in item.message.content if isinstance(part, ResourceBlock)]
    assert (left.data, left.text) == (
        None,
        "[The content of file:///project/spec.pdf (application/pdf, 17 kB) was left out to make room.]",
    )
    # The block of the transcript is as it was.
    assert block.data == data


# Excerpts of long outputs


def test_names_have_a_digit_a_separator_or_a_capital_inside() -> None:
    text = "Please open src/app.py, call setUp and read_all at hello-world; v1.2.3 fails plainly"
    assert names(text) == {"src/app.py", "setUp", "read_all", "v1.2.3", "hello-world"}


@pytest.mark.parametrize("read", [names, partial(excerpt, chars=60_000)], ids=["names", "excerpt"])
def test_a_long_run_of_letters_takes_no_quadratic_work(read: Callable[[str], object]) -> None:
    assert ends(read, "x" * 3_000_000)


# What is left of blocks that are shortened as far as possible


def test_words_cut_to_nothing_leave_a_sign_so_that_a_request_keeps_its_messages() -> None:
    view = counted(user("u", words(50)), assistant("a", words(50)), user("v", words(50)), user("w", "And?"))
    edit = shorten(view, 0, STAMP)
    assert edit is not None
    after = view.after(edit)
    assert [message.text for message in after.messages] == ["…", "…", "…", "And?"]
    assert len(write_anthropic(after.messages).messages) == 3


def test_a_text_whose_beginning_is_blank_is_not_cut_to_a_blank() -> None:
    view = counted(user("u", "        " + words(50)), assistant("a", words(2)))
    for limit in range(view.used):
        edit = shorten(view, limit, STAMP)
        assert edit is not None
        assert all(message.text.strip() for message in view.after(edit).messages)


def test_a_block_just_over_the_limit_is_cut_although_the_notice_costs_what_the_cut_saves() -> None:
    view = counted(assistant("a", words(200)))
    for limit in range(2, view.used):
        edit = shorten(view, limit, STAMP)
        assert edit is not None
        assert view.after(edit).used <= limit
        assert edit.tokens_saved > 0


def test_a_cap_below_nothing_is_nothing() -> None:
    view = counted(user("u", ""), user("v", words(50)))
    assert cap_blocks(view, -5, STAMP, {"u", "v"}) == cap_blocks(view, 0, STAMP, {"u", "v"})
