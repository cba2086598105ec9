"""Chat sessions of VS Code, as one object and as a log of operations."""

import json
from pathlib import Path
from typing import Any

from support.foreign import messages_of, read_lines, read_value, reports_of, texts_of
from ullage.agents.transcripts import read_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import ResourceBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.events import WindowReported
from ullage.system.transcript_files import read_transcript_file
from ullage.transcript.fold import project

ROUNDS: dict[str, Any] = {
    "promptTokens": 900,
    "outputTokens": 20,
    "resolvedModel": "claude-sonnet-4-6",
    "renderedUserMessage": [{"type": 1, "text": "<context>today</context>"}, {"type": 1, "text": "fix it"}],
    "toolCallRounds": [
        {
            "id": "r1",
            "response": "I look.",
            "thinking": {"id": "t", "text": ["hm", "m"]},
            "toolCalls": [{"id": "c1", "name": "read_file", "arguments": '{"filePath": "/home/dev/shop/a.py"}'}],
        },
        {"id": "r2", "response": "Done.", "toolCalls": []},
    ],
    "toolCallResults": {
        "c1": {"content": [{"$mid": 20, "value": {"node": {"type": 1, "children": [{"text": "line one"}]}}}]}
    },
}


def request(name: str, text: str = "fix it", **facts: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"text": text, "parts": []}
    return {"requestId": name, "message": message, "timestamp": 1_780_000_000_000} | facts


def answered(name: str, text: str, answer: str, **facts: Any) -> dict[str, Any]:
    return request(name, text, response=[{"value": answer}], responseId=f"{name}-answer", **facts)


def session(*requests: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {"version": 3, "sessionId": "s", "responderUsername": "GitHub Copilot", "requests": list(requests)} | facts


def context_of(transcript: ImportedTranscript) -> list[str]:
    view = project(transcript.events)
    return [message.compaction.summary if message.compaction else message.text for message in view]


def test_a_request_is_what_the_model_was_sent_and_answered() -> None:
    selected = {"selectedModel": {"metadata": {"maxInputTokens": 128_000}}}
    value = session(
        request("q1", result={"metadata": ROUNDS}, modelId="copilot/auto"), customTitle="Mending", inputState=selected
    )
    transcript = read_value(value)
    prompt, looked, result, done = messages_of(transcript)
    assert [prompt.text, looked.text, done.text] == ["<context>today</context>\nfix it", "I look.", "Done."]
    assert [message.id for message in (prompt, looked, done)] == ["q1", "r1", "r2"]
    assert looked.content[0] == ThinkingBlock(thinking="hmm")
    assert looked.content[2] == ToolUseBlock(id="c1", name="read_file", input={"filePath": "/home/dev/shop/a.py"})
    (block,) = result.content
    assert isinstance(block, ToolResultBlock)
    assert (block.tool_use_id, join_texts(block.content)) == ("c1", "line one")
    (report,) = reports_of(transcript)
    assert (report.message_id, report.usage.prompt, report.usage.output_tokens) == ("r2", 900, 20)
    facts = (transcript.format, transcript.agent, transcript.model, transcript.title, transcript.session_id)
    assert facts == ("vscode-chat", "GitHub Copilot", "claude-sonnet-4-6", "Mending", "s")
    assert [event.size for event in transcript.events if isinstance(event, WindowReported)] == [128_000]


def test_without_the_models_side_an_answer_is_what_the_user_saw() -> None:
    parts = [
        {"kind": "thinking", "value": "hm"},
        {"kind": "progressMessage", "content": {"value": "Working"}},
        {"value": "See "},
        {"kind": "inlineReference", "inlineReference": {"fsPath": "/home/dev/shop/a.py"}},
        {
            "kind": "toolInvocationSerialized",
            "toolCallId": "c",
            "toolId": "run_in_terminal",
            "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls"}},
            "pastTenseMessage": {"value": "Ran ls"},
        },
    ]
    variables = {"variables": [{"kind": "file", "value": {"fsPath": "/home/dev/shop/b.py"}}]}
    transcript = read_value(session(request("q", response=parts, variableData=variables, modelId="copilot/gpt-5")))
    prompt, answer, result = messages_of(transcript)
    assert prompt.content[1] == ResourceBlock(uri="/home/dev/shop/b.py")
    assert answer.text == "See \n/home/dev/shop/a.py"
    assert answer.content[-1] == ToolUseBlock(id="c", name="run_in_terminal", input={"command": "ls"})
    assert isinstance(result.content[0], ToolResultBlock)
    assert transcript.model == "gpt-5"


def test_a_summary_replaces_everything_up_to_its_round() -> None:
    summary = {"toolCallRoundId": "r1", "text": "The story so far.", "contextLengthBefore": 70_000}
    transcript = read_value(
        session(answered("q0", "hello", "Hi."), request("q1", result={"metadata": ROUNDS | {"summaries": [summary]}}))
    )
    assert context_of(transcript) == ["The story so far.", "Done."]
    assert len(messages_of(transcript)) == 6


def test_a_log_of_operations_gives_the_session_it_makes() -> None:
    transcript = read_lines(
        {"kind": 0, "v": session()},
        {"kind": 1, "k": ["customTitle"], "v": "Casks"},
        {"kind": 2, "k": ["requests"], "v": [request("q1", "one", response=[])]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "Fir"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "First."}], "i": 0},
        {"kind": 1, "k": ["requests", 0, "result"], "v": {"metadata": {"promptTokens": 50}}},
        {"kind": 3, "k": ["requests", 0, "message", "parts"]},
    )
    assert texts_of(messages_of(transcript)) == ["user: one", "assistant: First."]
    assert (transcript.title, reports_of(transcript)[0].usage.prompt) == ("Casks", 50)
    assert [part for part in transcript.skipped if not part.expected] == []


def test_requests_that_the_user_took_back_leave_the_context_and_stay_in_the_transcript() -> None:
    transcript = read_lines(
        {"kind": 0, "v": session(answered("q1", "one", "First."), answered("q2", "two", "Second."))},
        {"kind": 2, "k": ["requests"], "v": [answered("q3", "instead", "Third.")], "i": 1},
    )
    assert context_of(transcript) == ["one", "First.", "instead", "Third."]
    assert len(messages_of(transcript)) == 6


def test_requests_that_are_about_to_be_removed_are_out_of_the_context() -> None:
    hidden = answered("q2", "two", "Second.", shouldBeRemovedOnSend={"requestId": "q2"})
    transcript = read_value(session(answered("q1", "one", "First."), hidden))
    assert context_of(transcript) == ["one", "First."]
    assert len(messages_of(transcript)) == 4


def test_operations_that_cannot_be_applied_are_told() -> None:
    transcript = read_lines(
        {"kind": 0, "v": session(answered("q1", "one", "First."))},
        {"kind": 1, "k": ["requests", 7, "result"], "v": {}},
        {"kind": 9, "k": ["title"], "v": "x"},
        "{broken",
    )
    assert [(part.line, part.expected) for part in transcript.skipped] == [(2, False), (3, False), (4, False)]


def test_the_folder_is_that_of_the_workspace(tmp_path: Path) -> None:
    folder = tmp_path / "workspaceStorage" / "0a1b"
    (folder / "chatSessions").mkdir(parents=True)
    (folder / "workspace.json").write_text('{"folder": "file:///home/dev/my%20project"}')
    file = folder / "chatSessions" / "s.json"
    file.write_text(json.dumps(session(answered("q", "one", "First."))))
    assert read_document(read_transcript_file(file)).cwd == "/home/dev/my project"
