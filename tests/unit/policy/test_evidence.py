"""What a log shows of window, compactions and growth, event by event."""

from collections.abc import Sequence
from typing import Any

from support.build import user
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.model.events import (
    ClearThinkingEdit,
    CompactionCause,
    ContextEdited,
    Event,
    MessageAppended,
    ModelChanged,
    UsageReported,
    WindowReported,
)
from ullage.model.usage import Usage
from ullage.policy.evidence import RECENT_CALLS, Compacted, Evidence


def report(prompt: int, answer: str, output: int = 10, *, is_copied: bool = False) -> UsageReported:
    usage = Usage(input_tokens=prompt, output_tokens=output)
    return UsageReported(usage=usage, message_id=answer, is_copied=is_copied)


def after(events: Sequence[Event], model: str = "m", version: str = "1.0") -> Evidence:
    evidence = Evidence()
    for event in events:
        evidence = evidence.after(event, model, version)
    return evidence


def compacted(before: int, cause: CompactionCause = CompactionCause.THRESHOLD) -> ContextEdited:
    builder = TranscriptBuilder("f", "n")
    builder.compact("All is well.", before=before, cause=cause)
    event = builder.events[-1]
    assert isinstance(event, ContextEdited)
    return event


def test_growth_is_what_one_call_added() -> None:
    events = [report(1_000, "a"), report(1_500, "b"), report(1_490, "c"), report(2_000, "d")]
    assert after(events).growths == (500, 510)


def test_a_usage_that_is_corrected_is_no_call_and_a_message_no_evidence() -> None:
    events = [report(1_000, "a"), MessageAppended(message=user("u")), report(1_500, "b"), report(1_501, "b")]
    assert after(events).growths == (500,)


def test_no_growth_is_measured_over_an_edit_or_a_change_of_model() -> None:
    clearing = ContextEdited(edit=ClearThinkingEdit(id="e", timestamp=0, replacements=()))
    assert after([report(1_000, "a"), clearing, report(1_500, "b")]).growths == ()
    assert after([report(1_000, "a"), ModelChanged(model="n"), report(1_500, "b")]).growths == ()
    assert after([report(1_000, "a"), compacted(900), report(1_500, "b")]).growths == ()


def test_only_recent_calls_are_remembered() -> None:
    assert len(after([report(1_000 * n, f"a{n}") for n in range(1, 100)]).growths) == RECENT_CALLS


def test_the_agents_compactions_are_kept_with_version_model_and_cause() -> None:
    evidence = after([report(150_000, "a"), compacted(167_094), compacted(90_000, CompactionCause.BY_HAND)])
    assert evidence.largest == {}
    assert evidence.compactions == (
        Compacted(tokens=167_094, version="1.0", model="m", cause=CompactionCause.THRESHOLD, id="compaction1"),
        Compacted(tokens=90_000, version="1.0", model="m", cause=CompactionCause.BY_HAND, id="compaction1"),
    )


def test_a_compaction_of_unknown_size_teaches_nothing() -> None:
    assert after([compacted(0)]).compactions == ()


def test_what_the_agent_said_of_one_model_is_not_said_of_another() -> None:
    said = WindowReported(size=258_400, compacts_at=200_000)
    assert after([said]).said == 258_400
    changed = after([said, ModelChanged(model="n")])
    assert (changed.said, changed.compacts_at) == (None, None)


def one_of(conversation: str, tokens: int = 167_094, at: int = 5, **more: Any) -> Compacted:
    return Compacted(tokens=tokens, model="m", cause=CompactionCause.THRESHOLD, id=conversation, at=at, **more)


def test_a_compaction_that_a_copied_log_repeats_under_another_id_counts_once() -> None:
    evidence = Evidence(compactions=(one_of("copy"),))
    assert evidence.joined((one_of("original"),)).compactions == (one_of("copy"),)
    other = one_of("elsewhere", at=6)
    assert evidence.joined((other,)).compactions == (other, one_of("copy"))
    # Agents that name no compactions all have a first one.
    assert len(evidence.joined((one_of("copy", at=9),)).compactions) == 2


def test_a_compaction_of_a_context_that_another_conversation_filled_is_no_second_piece_of_evidence() -> None:
    resumed = [report(166_800, "a", is_copied=True), compacted(167_100)]
    (one,) = after(resumed).compactions
    assert one.is_copied
    assert after(resumed).joined(()).compactions == (one,)
    assert after(resumed).joined((one_of("original"),)).compactions == (one_of("original"),)
    far = one_of("another", tokens=90_000)
    assert after(resumed).joined((far,)).compactions == (far, one)
    own = after([*resumed, report(150_000, "b"), compacted(167_300)]).compactions
    assert [each.is_copied for each in own] == [True, False]
