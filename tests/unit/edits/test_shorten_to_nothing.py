"""What is left of blocks that are shortened as far as possible."""

from support.build import STAMP, assistant, counted, user, words
from ullage.edits.shorten import cap_blocks, shorten
from ullage.formats.requests.anthropic import write_anthropic


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
