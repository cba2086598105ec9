"""Event logs of Copilot CLI: answers, usages, compactions and sub-agents."""

from pathlib import Path
from typing import Any

import pytest

from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from support.transcripts import ROOT
from ullage.agents.transcripts import read, read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import ContextEstimated, UsageReported
from ullage.model.message import Role
from ullage.system.transcript_files import read_transcript_file
from ullage.transcript.fold import project

COUNTER = iter(range(1_000_000))


def event(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    number = next(COUNTER)
    line = {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-01-01T00:00:00.000Z"}
    return line | ({"agentId": agent} if agent else {})


def start(**data: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "sessionId": "s",
        "copilotVersion": "1.0.102",
        "selectedModel": "m",
        "context": {"cwd": "/home/dev/shop"},
    }
    return event("session.start", **(facts | data))


def asked(text: str, agent: str = "") -> dict[str, Any]:
    return event("user.message", agent, content=text, messageId=f"u-{text}", transformedContent=f"<now/>{text}")


def used(call: str, prompt: int, agent: str = "") -> dict[str, Any]:
    usage = {
        "inputTokens": prompt,
        "outputTokens": 5,
        "cacheReadTokens": 10,
        "reasoningTokens": 2,
        "apiCallId": call,
        "model": "m",
    }
    return event("session.usage_record", agent, usage=usage)


def answered(text: str, call: str = "", tools: tuple[str, ...] = (), agent: str = "", **data: Any) -> dict[str, Any]:
    requests = [{"toolCallId": tool, "name": "bash", "arguments": {"command": "ls"}} for tool in tools]
    facts: dict[str, Any] = {
        "content": text,
        "messageId": f"a-{text}",
        "apiCallId": call,
        "toolRequests": requests,
        "model": "m",
    }
    return event("assistant.message", agent, **(facts | data))


def done(tool: str, text: str = "out", agent: str = "", **data: Any) -> dict[str, Any]:
    return event("tool.execution_complete", agent, **({"toolCallId": tool, "result": {"content": text}} | data))


def context_of(transcript: ImportedTranscript) -> list[str]:
    view = project(transcript.events)
    return [message.compaction.summary if message.compaction else message.text for message in view]


def test_a_usage_belongs_to_the_answer_of_its_request() -> None:
    transcript = read_lines(
        start(),
        asked("go"),
        event("system.message", role="system", content="Be brief."),
        used("c1", 100),
        answered("", "c1", ("t1", "t2"), reasoningText="hm"),
        done("t2", "two", success=False),
        done("t1", "one"),
        used("c2", 150),
        answered("Done.", "c2"),
        event("system.message", role="system", content="Be brief."),
    )
    assert texts_of(messages_of(transcript)) == [
        "user: <now/>go",
        "system: Be brief.",
        "assistant: ",
        "user: ",
        "assistant: Done.",
    ]
    answer, results = messages_of(transcript)[2:4]
    assert answer.content[0] == ThinkingBlock(thinking="hm")
    assert [block.id for block in answer.content if isinstance(block, ToolUseBlock)] == ["t1", "t2"]
    failed = {block.tool_use_id: block.is_error for block in results.content if isinstance(block, ToolResultBlock)}
    assert failed == {"t2": True, "t1": False}
    reports = [(report.message_id, report.usage.prompt, report.usage.input_tokens) for report in reports_of(transcript)]
    assert reports == [("a-", 100, 90), ("a-Done.", 150, 140)]
    facts = (transcript.agent, transcript.version, transcript.model, transcript.cwd, transcript.session_id)
    assert facts == ("Copilot CLI", "1.0.102", "m", "/home/dev/shop", "s")
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


def test_parts_of_an_answer_are_one_message() -> None:
    transcript = read_lines(start(), answered("one", messageId="a"), answered("two", messageId="a", tools=("t",)))
    (answer,) = messages_of(transcript)
    assert (answer.id, answer.text, len(answer.content)) == ("a", "one\ntwo", 3)


def test_a_compaction_keeps_what_was_said_while_the_summary_was_written() -> None:
    transcript = read_lines(
        start(),
        asked("one"),
        answered("first", tools=("t",)),
        event("session.compaction_start", trigger="threshold"),
        done("t"),
        answered("second"),
        event("session.compaction_complete", success=True, summaryContent="The story.", preCompactionTokens=900),
        asked("two"),
    )
    assert context_of(transcript) == ["The story.", "", "second", "<now/>two"]
    assert len(messages_of(transcript)) == 5


def test_a_cancelled_compaction_changes_nothing() -> None:
    transcript = read_lines(
        start(),
        asked("one"),
        event("session.compaction_start"),
        event("session.compaction_complete", success=False, outcome="cancelled"),
        answered("first"),
    )
    assert context_of(transcript) == ["<now/>one", "first"]


def test_messages_that_the_agent_drops_without_a_summary_leave_the_context() -> None:
    dropped: dict[str, Any] = {"messagesRemovedDuringTruncation": 2, "postTruncationMessagesLength": 2}
    transcript = read_lines(
        start(),
        event("system.message", content="Be brief."),
        *(asked("one"), answered("first"), asked("two")),
        event("session.truncation", **dropped),
        answered("second"),
    )
    assert context_of(transcript)[0] == "Be brief."
    assert "2 older messages" in context_of(transcript)[1]
    assert context_of(transcript)[2:] == ["<now/>two", "second"]


LOG = (
    start(),
    asked("go"),
    answered("", "c1", ("t",)),
    event("subagent.started", "helper", toolCallId="t", agentDisplayName="Look around"),
    asked("look", "helper"),
    used("c2", 70, "helper"),
    answered("Seen.", "c2", agent="helper"),
    event("subagent.completed", "helper", toolCallId="t"),
    done("t", "Seen."),
    used("c3", 90),
    answered("Done.", "c3"),
)


def test_a_sub_agent_is_a_conversation_of_its_own() -> None:
    main = read_lines(*LOG)
    assert [message.text for message in messages_of(main)] == ["<now/>go", "", "", "Done."]
    assert [report.usage.prompt for report in reports_of(main)] == [90]
    assert ["another conversation: Look around" in part.reason for part in main.skipped if part.line == 5] == [True]
    helper = read(to_lines(*LOG), "log", run=2)
    assert [message.text for message in messages_of(helper)] == ["<now/>look", "Seen."]
    assert [report.usage.prompt for report in reports_of(helper)] == [70]
    assert (helper.session_id, helper.parent) == ("helper", "s")


def test_a_result_without_its_call_is_kept_as_text() -> None:
    (message,) = messages_of(read_lines(start(), done("unknown", "out")))
    assert (message.role, message.text) == (Role.USER, "out")


def test_an_unknown_event_is_named() -> None:
    transcript = read_lines(start(), asked("one"), event("session.levitated"))
    assert [part.reason for part in transcript.skipped if not part.expected] == ["session.levitated event"]


def test_the_title_is_the_one_of_the_workspace_file(tmp_path: Path) -> None:
    folder = tmp_path / "session-state" / "s"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(to_lines(start(), asked("go")))
    (folder / "workspace.yaml").write_text("id: s\ncwd: /home/dev/shop\nname: 'Casks: a plan'\nuser_named: true\n")
    transcript = read_document(read_transcript_file(folder / "events.jsonl"))
    assert (transcript.title, transcript.cwd) == ("Casks: a plan", "/home/dev/shop")
    assert [part for part in transcript.skipped if not part.expected] == []


FILES = sorted([*ROOT.glob("live/copilot-cli/*/events.jsonl"), *ROOT.glob("agent_fixtures/copilot__*")])


@pytest.mark.skipif(not FILES, reason="no recorded event logs on this machine (set ULLAGE_TRANSCRIPTS)")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_recorded_logs_have_no_unexplained_line_and_end_with_their_last_usage(path: Any) -> None:
    transcript = read(path.read_bytes(), path.name)
    assert [part for part in transcript.skipped if not part.expected] == []
    answers = [message for message in messages_of(transcript) if message.role is Role.ASSISTANT]
    reports = [one for one in transcript.events if isinstance(one, UsageReported)]
    if reports:
        assert reports[-1].message_id == answers[-1].id


@pytest.mark.parametrize("has_usage", [True, False])
def test_the_figure_at_the_end_of_a_session_is_taken_only_where_no_request_reports_one(has_usage: bool) -> None:
    usages = [used("c1", 30_000)] if has_usage else []
    ended = event("session.shutdown", currentTokens=41_500)
    transcript = read_lines(start(), asked("One"), *usages, answered("Two", "c1"), ended)
    assert any(isinstance(one, ContextEstimated) for one in transcript.events) is not has_usage
