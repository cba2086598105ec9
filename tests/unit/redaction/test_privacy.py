"""Private passages are redacted in every text, and nothing else of a value changes."""

import pytest

from support.build import results, user, uses
from ullage.model.message import (
    ArtifactLedger,
    CommandArtifact,
    CompactionBlock,
    FileAction,
    FileArtifact,
    ImageBlock,
    Message,
    Outcome,
    Role,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.redaction import REDACTED
from ullage.redaction.clean import hide, hide_text
from ullage.summary.summary_request import SummaryRequest

PATTERNS = (r"Project \w+", r"(?i)acme", r"\bread\b")


def test_matches_go_from_texts_results_and_inputs_however_deep() -> None:
    message = Message(
        id="acme-1",
        role=Role.ASSISTANT,
        content=(
            TextBlock(text="Project Bluebird is for ACME."),
            ToolUseBlock(id="acme", name="search", input={"query": ["acme", {"in": "Project Bluebird"}]}),
            ToolResultBlock(tool_use_id="acme", content=(TextBlock(text="acme.py"), ImageBlock(data="acmeQ=="))),
        ),
    )
    assert hide(message, PATTERNS) == Message(
        id="acme-1",
        role=Role.ASSISTANT,
        content=(
            TextBlock(text="[redacted] is for [redacted]."),
            ToolUseBlock(id="acme", name="search", input={"query": ["[redacted]", {"in": "[redacted]"}]}),
            ToolResultBlock(tool_use_id="acme", content=(TextBlock(text="[redacted].py"), ImageBlock(data="acmeQ=="))),
        ),
    )


def test_matches_go_from_an_earlier_marker_and_its_ledger() -> None:
    ledger = ArtifactLedger(
        files=(FileArtifact(path="acme/app.py", action=FileAction.READ),),
        commands=(CommandArtifact(command="deploy acme", outcome=Outcome.PASSED, detail="acme is up"),),
    )
    block = CompactionBlock(
        compaction_number=1,
        timestamp=1,
        summary="For acme.",
        messages_archived=3,
        context_size_before=9,
        kept=("acme-1",),
        ledger=ledger,
    )
    request = SummaryRequest(
        messages=(user("m1", "acme"),), indices=(0,), max_tokens=10, previous=block, kept=("acme",)
    )
    hidden = hide(request, PATTERNS)
    assert hidden.messages[0].text == "[redacted]"
    assert hidden.previous is not None
    assert (hidden.kept, hidden.previous.kept) == (("acme",), ("acme-1",))
    assert hidden.previous.summary == "For [redacted]."
    assert hidden.previous.ledger.files[0] == FileArtifact(path="[redacted]/app.py", action=FileAction.READ)
    assert hidden.previous.ledger.commands[0].command == "deploy [redacted]"


def test_without_a_pattern_or_a_match_a_value_stays_as_it_is() -> None:
    messages = (uses("m1", "t1", path="a.py"), results("m2", "t1", text="broken \ud800 pair"))
    request = SummaryRequest(messages=messages, indices=(0, 1), max_tokens=10)
    assert hide(request, ()) is request
    assert hide(request, ("never",)) == request
    assert hide_text("as it is", ()) == "as it is"


def test_a_pattern_that_takes_for_ever_hides_the_whole_text_and_ends() -> None:
    harmless, slow = "The tests pass.", "a" * 60 + "b"
    assert hide_text(slow, ["(a|aa)+$"]) == REDACTED
    assert hide_text(harmless, ["(a|aa)+$"]) == harmless


@pytest.mark.parametrize(("late", "shown"), [(3, "The tests pass."), (4, REDACTED)])
def test_a_pattern_that_takes_for_ever_on_four_texts_is_tried_on_no_other_and_all_are_hidden(
    late: int, shown: str
) -> None:
    texts = (*("a" * 60 + "b" for _ in range(late)), "The tests pass.")
    message = Message(id="m", role=Role.USER, content=tuple(TextBlock(text=text) for text in texts), timestamp=0)
    hidden = [block.text for block in hide(message, ["(a|aa)+$"]).content if isinstance(block, TextBlock)]
    assert hidden == [*(REDACTED for _ in range(late)), shown]
