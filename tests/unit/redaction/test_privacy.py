"""Private passages are redacted in every text, and nothing else changes; what was made of texts is remembered within a
bound."""

from collections.abc import Callable

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
from ullage.redaction.remembering import len_of, memory_of, remembering
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


def counted(most: int) -> tuple[Callable[[str], str], list[str]]:
    """Returns a function that remembers, and the texts for which it was computed."""
    computed: list[str] = []

    @remembering(most, len_of)
    def upper(text: str) -> str:
        computed.append(text)
        return text.upper()

    return upper, computed


def test_a_text_is_read_once_while_few_others_come() -> None:
    upper, computed = counted(1_000)
    for _ in range(3):
        assert [upper(text) for text in ("cask", "walnut")] == ["CASK", "WALNUT"]
    assert computed == ["cask", "walnut"]


def test_what_is_used_again_and_again_stays_among_many_others() -> None:
    upper, computed = counted(1_000)
    for number in range(400):
        upper(f"{number:010}")
        upper("cask")
    assert computed.count("cask") == 1


def test_no_more_texts_are_remembered_than_have_the_bound() -> None:
    upper, computed = counted(1_000)
    texts = [f"{number:0100}" for number in range(40)]
    for text in texts:
        upper(text)
    del computed[:]
    for text in reversed(texts):
        upper(text)
    assert 30 <= len(computed) < 40


def test_what_was_made_of_a_text_is_made_again_once_it_is_forgotten() -> None:
    upper, computed = counted(1_000)
    upper("cask")
    getattr(upper, "cache_clear")()  # noqa: B009 - a type checker knows no such attribute
    assert upper("cask") == "CASK"
    assert computed == ["cask", "cask"]


def test_a_text_that_is_longer_than_half_of_the_bound_is_read_all_the_same_and_displaces_no_other() -> None:
    upper, computed = counted(1_000)
    upper("cask")
    assert [upper("walnut" * 100) for _ in range(2)] == ["WALNUT" * 100] * 2
    upper("cask")
    assert computed == ["cask", "walnut" * 100, "walnut" * 100]


@pytest.mark.parametrize(("letter", "most"), [("a", 20), ("字", 10)])
def test_a_bound_of_memory_holds_whatever_the_script_of_the_texts(letter: str, most: int) -> None:
    read: list[str] = []

    @remembering(24_000, memory_of)
    def remembers(text: str) -> None:
        read.append(text)

    texts = [letter * 1_000 + str(number) for number in range(100)]
    for text in [*texts, *reversed(texts)]:
        remembers(text)
    assert most // 2 <= 200 - len(read) <= most
