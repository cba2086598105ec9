"""Event logs of Copilot CLI: answers, usages, compactions and sub-agents."""

from pathlib import Path
from typing import Any

import pytest

from support.foreign import messages_of, read_lines, reports_of, to_lines
from support.transcripts import ROOT
from ullage.agents.transcripts import read, read_document
from ullage.model.events import PromptListed, UsageReported
from ullage.model.message import Role
from ullage.model.usage import HiddenKind, HiddenPart
from ullage.system.transcript_files import read_transcript_file

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


def test_what_it_says_of_its_tools_is_listed_once() -> None:
    counted = used("c1", 60)
    counted["data"]["usage"]["toolTokenCount"] = 40
    again = used("c2", 80)
    again["data"]["usage"]["toolTokenCount"] = 40
    events = read_lines(start(), asked("go"), counted, answered("One.", "c1"), again, answered("Two.", "c2")).events
    listed = [event.parts for event in events if isinstance(event, PromptListed)]
    assert listed == [(HiddenPart(kind=HiddenKind.TOOLS, tokens=40, estimated=False),)]
