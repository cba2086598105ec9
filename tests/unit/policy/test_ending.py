"""What contexts hold after an agent's compaction, by the compactions that are known."""

from msgspec.structs import replace

from ullage.model.events import (
    CompactionEdit,
    ContextEdited,
    ConversationImported,
    MessageAppended,
    ModelChanged,
    Record,
)
from ullage.model.message import CompactionBlock, Message, Role, TextBlock
from ullage.policy.evidence import Compacted, ending
from ullage.service.conversation.projection import Projection
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import get_counter
from ullage.tokens.tracker import Ending


def seen(added: int, hidden: int = 40_000, *, version: str = "2", model: str = "m") -> Compacted:
    return Compacted(tokens=167_000, version=version, model=model, rest=hidden + added, hidden=hidden)


def test_the_median_of_three_compactions_of_the_same_version_and_model_is_expected() -> None:
    known = [seen(5_000), seen(8_000), seen(20_000, hidden=42_000), *[seen(1, version="1")] * 4]
    assert ending(known, "2", "m") == Ending(hidden=40_000, added=8_000, deviation=5_000)


def test_with_fewer_those_of_other_versions_then_of_other_models_count() -> None:
    versions = [seen(5_000), seen(6_000, version="1"), seen(7_000, version="1")]
    found = ending([*versions, *[seen(99, model="n")] * 9], "2", "m")
    assert found is not None
    assert found.added == 6_000
    models = ending([seen(5_000), seen(6_000, model="n"), seen(7_000, model="n")], "2", "m")
    assert models is not None
    assert models.added == 6_000


def test_nothing_is_expected_of_fewer_than_three_or_of_those_that_do_not_say_what_was_hidden() -> None:
    assert ending([seen(5_000), seen(6_000)], "2", "m") is None
    assert ending([seen(5_000), seen(6_000), seen(0), Compacted(tokens=1, version="2", model="m")], "2", "m") is None


def test_what_is_known_of_files_that_come_back_is_no_part_of_what_is_learned() -> None:
    files = (1_000, 4_000, 9_000)
    known = [replace(seen(2_000 + tokens), attached=tokens) for tokens in files]
    assert ending([*known, seen(90_000)], "2", "m", knows_files=True) == Ending(hidden=40_000, added=2_000, deviation=0)
    assert ending([*known[:2], seen(90_000)], "2", "m", knows_files=True) is None
    assert ending(known, "2", "m") == Ending(hidden=40_000, added=6_000, deviation=2_667)


def test_a_conversation_that_was_compacted_learns_what_others_end_at_until_its_next_report() -> None:
    others: list[Compacted] = []
    counter = get_counter("gpt-4o")
    projection = Projection(counter, Calibration.prior(counter.error_share), others=lambda _format: tuple(others))
    block = CompactionBlock(
        compaction_number=1, timestamp=1, summary="Done.", messages_archived=1, context_size_before=90_000
    )
    marker = Message(id="s", role=Role.USER, content=(block,))
    compaction = CompactionEdit(id="e", timestamp=1, start=0, end=1, marker=marker, by_agent=True)
    events = (
        ConversationImported(format="claude-code", agent="Claude Code", version="2"),
        ModelChanged(model="m"),
        MessageAppended(message=Message(id="a", role=Role.USER, content=(TextBlock(text="Fix the tax."),))),
        ContextEdited(edit=compaction),
    )
    projection.apply([Record(position=place, timestamp=0, event=event) for place, event in enumerate(events)])
    before = projection.used
    others += [seen(5_000), seen(5_000), seen(6_000)]
    assert projection.used == before + 5_000
