"""What is left of blocks that have to go altogether."""

from support.build import STAMP, assistant, counted, user, words
from ullage.edits.shorten import cap_blocks, shorten
from ullage.formats.anthropic_request import write_anthropic


def test_words_cut_to_nothing_leave_a_sign_so_that_a_request_keeps_its_messages() -> None:
    view = counted(user("u", words(50)), assistant("a", words(50)), user("v", words(50)))
    edit = shorten(view, 0, STAMP)
    assert edit is not None
    after = view.after(edit)
    assert [message.text for message in after.messages] == ["…", "…", "…"]
    assert len(write_anthropic(after.messages).messages) == 3


def test_a_cap_below_nothing_is_nothing() -> None:
    view = counted(user("u", ""), user("v", words(50)))
    assert cap_blocks(view, -5, STAMP, {"u", "v"}) == cap_blocks(view, 0, STAMP, {"u", "v"})
