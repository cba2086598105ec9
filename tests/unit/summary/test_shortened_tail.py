"""What a summary says of messages that stay in the context, but not whole."""

from msgspec.structs import replace

from support.conversations import agent, call, places, user
from support.counting import LengthCounter
from ullage.model.blocks import TextBlock
from ullage.summary.choosing.composition import compose
from ullage.summary.summary_request import SummaryRequest

SESSION = (user("Shorten the texts in src/cut.py."), agent("`shorten_29` is the last of them, I will read it again."))


def test_what_a_shortened_message_of_the_tail_lost_is_quoted() -> None:
    source = "\n".join(f"def shorten_{number}(text, limit): return cut_{number}(text)" for number in range(30))
    asked, answered = call("Read", {"file_path": "src/cut.py"}, source)
    left = replace(answered, content=(replace(answered.content[0], content=(TextBlock(text=source[:200]),)),))
    request = SummaryRequest(messages=SESSION, indices=places(SESSION), max_tokens=1500, tail=(asked, left))
    assert "def shorten_29(" not in compose(request, LengthCounter()).summary
    details = compose(replace(request, whole=(asked, answered)), LengthCounter()).summary.split("## Details\n")[1]
    assert f"- src/cut.py (#{len(SESSION) + 2})" in details
    assert "def shorten_29(" in details
