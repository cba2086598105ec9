"""Why an agent compacted: its reader says so, and only a compaction at the threshold shows where that is."""

from typing import Any

import pytest

from support.claude_log import ClaudeLog
from support.codex_files import call, compacted, counted, event, output, said, session
from support.foreign import read_lines
from support.session_log import boundary, line, result, say, summary
from support.session_log import call as claude_call
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import parse_document
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.model.events import CompactionCause, CompactionEdit, ContextEdited, EditTrigger
from ullage.model.message import Role, TextBlock, ToolUseBlock
from ullage.model.words import edited

HOUR_LATER, AFTER_THE_PROMPT = "2026-01-02T04:04:05.678Z", "2026-01-02T04:04:06.003Z"
PROMPT, ANSWERED = line("user", "u1", None, "question"), line("assistant", "a1", "u1", [say("Done.")])
CALLED = line("assistant", "a1", "u1", [say("I look."), claude_call("t1")], stop_reason="tool_use")
FOUND = line("user", "r1", "a1", [result("t1")])
SHOWN = line("user", "u2", "a1", "<local-command-stdout>Context: 24 %</local-command-stdout>")
STOPPED = line("user", "u2", "a1", [say("[Request interrupted by user]")])
ASKED = line("user", "u2", "a1", "And now?")


def causes(transcript: ImportedTranscript) -> list[CompactionCause]:
    edits = [event.edit for event in transcript.events if isinstance(event, ContextEdited)]
    return [edit.cause for edit in edits if isinstance(edit, CompactionEdit)]


@pytest.mark.parametrize(
    ("before", "metadata", "at", "cause"),
    [
        ([PROMPT, ANSWERED], {"trigger": "manual"}, "", CompactionCause.BY_HAND),
        ([PROMPT, CALLED, FOUND], {"trigger": "auto"}, "", CompactionCause.THRESHOLD),
        ([PROMPT, CALLED], {"trigger": "auto"}, HOUR_LATER, CompactionCause.THRESHOLD),
        ([PROMPT, ANSWERED, ASKED], {"trigger": "auto"}, "", CompactionCause.THRESHOLD),
        ([PROMPT, ANSWERED], {"trigger": "auto"}, HOUR_LATER, CompactionCause.IDLE),
        ([PROMPT, ANSWERED, SHOWN], {"trigger": "auto"}, HOUR_LATER, CompactionCause.IDLE),
        ([PROMPT, ANSWERED, STOPPED], {"trigger": "auto"}, HOUR_LATER, CompactionCause.IDLE),
        ([PROMPT, ANSWERED], {"trigger": "auto", "precomputed": True}, "", CompactionCause.UNKNOWN),
        ([PROMPT, CALLED, FOUND], {"trigger": "auto", "precomputed": True}, "", CompactionCause.UNKNOWN),
        ([PROMPT, ANSWERED], {"trigger": "auto"}, "", CompactionCause.UNKNOWN),
        ([PROMPT, CALLED, FOUND], {"trigger": "plugin"}, "", CompactionCause.PLUGIN),
        ([PROMPT, CALLED, FOUND], {"trigger": "whim"}, "", CompactionCause.UNKNOWN),
    ],
)
def test_claude_codes_cause_follows_from_the_trigger_and_from_what_was_due(
    before: list[dict[str, Any]], metadata: dict[str, Any], at: str, cause: CompactionCause
) -> None:
    last = before[-1]["uuid"]
    begun = boundary("c", last, preTokens=240_100, **metadata) | {"timestamp": at or "2026-01-02T03:04:06.678Z"}
    assert causes(read_lines(*before, begun, summary("s", "c", "All is well."))) == [cause]


@pytest.mark.parametrize(
    ("written", "cause"),
    [
        # When the conversation had idled for nine tenths of an hour, before the next prompt.
        ("2026-01-02T03:58:05.802Z", CompactionCause.IDLE),
        # Right after the answer, and after the prompt.
        ("2026-01-02T03:06:40.000Z", CompactionCause.UNKNOWN),
        (AFTER_THE_PROMPT, CompactionCause.UNKNOWN),
    ],
)
def test_a_summary_written_while_claude_code_idled_is_used_with_the_next_prompt(
    written: str, cause: CompactionCause
) -> None:
    back = line("user", "u2", "a1", "I am back.", timestamp=HOUR_LATER)
    begun = boundary("c", "u2", preTokens=240_022, trigger="auto", precomputed=True) | {"timestamp": AFTER_THE_PROMPT}
    used = summary("s", "c", "All is well.", timestamp=written)
    assert causes(read_lines(PROMPT, ANSWERED, back, begun, used)) == [cause]


def test_an_idle_compaction_leaves_the_next_prompt_and_threshold_as_they_were() -> None:
    log = ClaudeLog().ask().answer(120_000).compact(120_050).ask().answer(30_000).ask().compact(167_100)
    transcript = read_document(parse_document(log.data, "log"))
    assert causes(transcript) == [CompactionCause.IDLE, CompactionCause.THRESHOLD]


TURN = [said("user", "question"), said("assistant", "answer"), counted(120_000)]
CALLS = [said("user", "question"), call("c1"), counted(120_000), output("c1")]
KEPT = said("user", "All is well.")


@pytest.mark.parametrize(
    ("before", "message", "cause"),
    [
        (CALLS, "All is well.", CompactionCause.THRESHOLD),
        (TURN, "All is well.", CompactionCause.POST_TURN),
        ([*TURN, event("task_started")], "All is well.", CompactionCause.BY_HAND),
        ([*TURN[:2], counted(250_000), event("task_started")], "All is well.", CompactionCause.THRESHOLD),
        ([*TURN, said("user", "more")], "All is well.", CompactionCause.THRESHOLD),
        (TURN, "", CompactionCause.NEW_WINDOW),
        (CALLS, "", CompactionCause.NEW_WINDOW),
    ],
)
def test_codexs_cause_follows_from_the_turn(before: list[dict[str, Any]], message: str, cause: CompactionCause) -> None:
    assert causes(read_lines(session(), *before, compacted(message, KEPT))) == [cause]


@pytest.mark.parametrize(
    ("last", "cause", "trigger"),
    [
        ((Role.USER, TextBlock(text="question")), CompactionCause.THRESHOLD, EditTrigger.AUTOMATIC),
        (
            (Role.ASSISTANT, ToolUseBlock(id="c", name="Read", input={})),
            CompactionCause.THRESHOLD,
            EditTrigger.AUTOMATIC,
        ),
        ((Role.ASSISTANT, TextBlock(text="answer")), CompactionCause.UNKNOWN, EditTrigger.AUTOMATIC),
    ],
)
def test_of_an_agent_that_names_no_cause_a_compaction_tells_only_if_a_request_was_due(
    last: tuple[Role, Any], cause: CompactionCause, trigger: EditTrigger
) -> None:
    builder = TranscriptBuilder("f", "n")
    builder.add(last[0], (last[1],))
    builder.compact("All is well.", before=90_000)
    (edit,) = [event.edit for event in builder.events if isinstance(event, ContextEdited)]
    assert isinstance(edit, CompactionEdit)
    assert (edit.cause, edit.trigger) == (cause, trigger)


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (CompactionCause.IDLE, "Compacted 1 message because it idled"),
        (CompactionCause.PLUGIN, "Compacted 1 message because a plugin asked"),
        (CompactionCause.POST_TURN, "Compacted 1 message after a turn"),
        (CompactionCause.OVERFLOW, "Compacted 1 message after a request was refused as too long"),
        (CompactionCause.NEW_WINDOW, "Compacted 1 message: a new context began without a summary"),
        (CompactionCause.THRESHOLD, "Compacted 1 message"),
        (CompactionCause.BY_HAND, "Compacted 1 message"),
    ],
)
def test_the_list_of_edits_says_why_an_agent_compacted(cause: CompactionCause, text: str) -> None:
    builder = TranscriptBuilder("f", "log")
    builder.add(Role.USER, (TextBlock(text="question"),))
    builder.compact("All is well.", cause=cause)
    (edit,) = [event.edit for event in builder.events if isinstance(event, ContextEdited)]
    assert edited(edit) == text
