from typing import Any

from msgspec.structs import replace

from support.foreign import messages_of, read_lines, reports_of, texts_of, to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.kimi_code.wire_log import FORMAT
from ullage.agents.transcripts import companions_of, read, read_document
from ullage.formats.parsing import Document, parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import ImageBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import project

T = 1_790_000_000_000
HEAD = (
    {"type": "metadata", "protocol_version": "1.5", "created_at": T},
    {"type": "profile.bind", "systemPrompt": "Be brief.", "environmentDisclosure": {"cwd": "/home/ann"}, "time": T},
)


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": name, "agentId": "main", "time": T} | fields


def said(message_id: str, words: str, origin: str = "user") -> dict[str, Any]:
    message = {"role": "user", "content": [{"type": "text", "text": words}], "id": message_id, "toolCalls": []}
    return record("context.append_message", message=message | {"origin": {"kind": origin}})


def event(kind: str, **fields: Any) -> dict[str, Any]:
    return record("context.append_loop_event", event={"type": kind} | fields)


def answered(step: str, *parts: dict[str, Any], prompt: int = 100, **end: Any) -> tuple[dict[str, Any], ...]:
    usage = {"inputOther": prompt, "output": 9, "inputCacheRead": 50, "inputCacheCreation": 3}
    return (
        event("step.begin", uuid=step),
        record("llm.request", kind="loop", model="k2"),
        *(
            event("content.part", stepUuid=step, part=part) if "think" in part or "text" in part else part
            for part in parts
        ),
        event("step.end", uuid=step, usage=usage, **end),
        record("usage.record", usage=usage, usageScope="turn"),
    )


def called(call: str) -> dict[str, Any]:
    return event("tool.call", toolCallId=call, name="Bash", args={"command": "ls"})


def result(call: str, output: Any = "two files", **more: Any) -> dict[str, Any]:
    return event("tool.result", toolCallId=call, result={"output": output} | more)


def view_of(transcript: ImportedTranscript) -> list[str]:
    return [message.id for message in project(transcript.events)][1:]


TURN = (
    record("turn.prompt", input=[{"type": "text", "text": "list"}]),
    said("u1", "list"),
    said("i1", "<system-reminder>noon</system-reminder>", "injection"),
    *answered("s1", {"type": "think", "think": "look"}, called("c1"), result("c1", note="<system>2 lines</system>")),
    *answered("s2", {"type": "text", "text": "Two."}, prompt=120),
)


def test_a_turn_has_thinking_calls_results_and_the_usage_of_each_request() -> None:
    transcript = read_lines(*HEAD, *TURN)
    system, _, _, call, results, last = messages_of(transcript)
    assert system.text == "Be brief."
    assert call.content == (ThinkingBlock(thinking="look"), ToolUseBlock(id="c1", name="Bash", input={"command": "ls"}))
    assert isinstance(results.content[0], ToolResultBlock)
    assert "two files" in str(results.content)
    assert "2 lines" in str(results.content)
    assert last.text == "Two."
    assert [(r.message_id, r.usage.total) for r in reports_of(transcript)] == [("s1", 162), ("s2", 182)]
    assert (transcript.model, transcript.cwd, transcript.agent) == ("k2", "/home/ann", "Kimi Code")
    assert all(skipped.expected for skipped in transcript.skipped)


def test_messages_that_come_while_an_answer_is_written_follow_its_results() -> None:
    steered = answered("s1", called("c1"), said("u2", "also b"), result("c1"))
    assert view_of(read_lines(*HEAD, said("u1", "list"), *steered)) == ["u1", "s1", "s1-results", "u2"]


def test_an_answer_that_was_cut_off_is_read_as_far_as_it_came() -> None:
    usage = {"inputOther": 70, "output": 2}
    cut = (event("step.begin", uuid="s1"), record("usage.record", usage=usage, usageScope="turn"), called("c1"))
    transcript = read_lines(
        *HEAD,
        said("u1", "list"),
        *cut,
        record("turn.cancel"),
        said("u2", "go on"),
        *answered("s2", {"text": "Yes.", "type": "text"}),
    )
    assert view_of(transcript) == ["u1", "s1", "u2", "s2"]
    assert [report.usage.total for report in reports_of(transcript)] == [72, 162]
    late = read_lines(*HEAD, *answered("s1", called("c1")), result("c1"))
    assert len(messages_of(late)) == 3


def test_a_compaction_keeps_what_the_user_said_before_the_summary() -> None:
    compaction = record("context.apply_compaction", summary="Two files.", compactedCount=5, keptUserMessageCount=1)
    begin = record("full_compaction.begin", source="manual")
    summary_request = record("usage.record", usage={"inputOther": 999, "output": 9}, usageScope="session")
    transcript = read_lines(
        *HEAD,
        *TURN,
        begin,
        summary_request,
        compaction,
        said("u2", "on"),
        *answered("s3", {"type": "text", "text": "Hm."}),
    )
    assert view_of(transcript) == ["u1", "compaction1-marker", "u2", "s3"]
    marker = project(transcript.events)[2].compaction
    assert marker is not None
    assert (marker.summary, marker.context_size_before) == ("Two files.", 182)
    assert [report.usage.total for report in reports_of(transcript)] == [162, 182, 162]


def test_a_compaction_that_left_out_the_middle_keeps_the_first_and_the_newest() -> None:
    many = [said(f"u{number}", str(number)) for number in range(1, 7)]
    compaction = record(
        "context.apply_compaction", contextSummary="All.", keptUserMessageCount=3, keptHeadUserMessageCount=1
    )
    assert view_of(read_lines(*HEAD, *many, compaction)) == ["u1", "u5", "u6", "compaction1-marker"]


def test_an_older_compaction_keeps_the_messages_after_those_it_counts() -> None:
    compaction = record("context.apply_compaction", summary="Two files.", compactedCount=4)
    assert view_of(read_lines(*HEAD, *TURN, compaction)) == ["compaction1-marker", "s2"]


def test_undoing_goes_back_before_what_the_user_said_and_clearing_empties_the_context() -> None:
    second = (said("u2", "on"), *answered("s3", {"type": "text", "text": "Hm."}))
    undone = read_lines(*HEAD, *TURN, *second, record("context.undo", count=1), said("u3", "else"))
    assert view_of(undone) == ["u1", "i1", "s1", "s1-results", "s2", "u3"]
    assert "assistant: Hm." in texts_of(messages_of(undone))
    assert view_of(read_lines(*HEAD, *TURN, *second, record("context.undo", count=2), said("u3", "else"))) == ["u3"]
    assert view_of(read_lines(*HEAD, *TURN, record("context.clear"), said("u3", "else"))) == ["u3"]
    compaction = record("context.apply_compaction", summary="Two.", keptUserMessageCount=1)
    behind = read_lines(*HEAD, *TURN, compaction, said("u2", "on"), record("context.undo", count=5))
    assert view_of(behind) == ["u1", "compaction1-marker"]


def test_messages_of_the_chat_kind_images_and_failures_are_read() -> None:
    picture = {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,AAAA"}}
    assistant = {
        "role": "assistant",
        "content": [],
        "toolCalls": [{"id": "c1", "name": "Read", "arguments": '{"path": "a"}'}],
    }
    tool = {"role": "tool", "content": [{"type": "text", "text": "gone"}], "toolCallId": "c1", "isError": True}
    lines = [record("context.append_message", message=message) for message in (assistant, tool)]
    transcript = read_lines(
        *HEAD, said("u1", "see"), *lines, *answered("s1", called("c2"), result("c2", [picture], isError=True))
    )
    call, failed = messages_of(transcript)[2:4]
    assert call.content == (ToolUseBlock(id="c1", name="Read", input={"path": "a"}),)
    assert isinstance(failed.content[0], ToolResultBlock)
    assert failed.content[0].is_error
    last = messages_of(transcript)[-1].content[0]
    assert isinstance(last, ToolResultBlock)
    assert (last.content[0], last.is_error) == (ImageBlock(media_type="image/png", data="AAAA"), True)


def test_tools_are_declared_and_unknown_records_are_named() -> None:
    tools = record(
        "llm.tools_snapshot", tools=[{"name": "Bash", "description": "runs", "parameters": {"type": "object"}}]
    )
    transcript = read_lines(*HEAD, tools, said("u1", "hi"), record("hologram.show"), event("step.skip"))
    assert "ToolsDeclared" in str(transcript.events)
    assert [s.reason for s in transcript.skipped if not s.expected] == [
        "hologram.show record",
        "loop event 'step.skip' outside of a step",
    ]


def test_the_sessions_state_says_title_folder_and_whose_log_it_is() -> None:
    state = Document(name="state.json", value={"id": "session_9", "cwd": "/home/ann", "title": "Files"})
    log = parse_document(to_lines(*HEAD, *TURN), "/k/sessions/wd/session_9/agents/main/wire.jsonl")
    transcript = read_document(replace(log, companions=(state,)))
    assert (transcript.session_id, transcript.title, transcript.parent) == ("session_9", "Files", "")
    child = [line | {"agentId": "agent-0"} for line in (*HEAD, *TURN)]
    log = parse_document(to_lines(*child), "/k/sessions/wd/session_9/agents/agent-0/wire.jsonl")
    transcript = read_document(replace(log, companions=(state,)))
    assert (transcript.session_id, transcript.parent) == ("session_9/agent-0", "session_9")
    assert companions_of("/k/sessions/wd/session_9/agents/main/wire.jsonl") == ("../../state.json",)


def test_a_sessions_folder_gives_the_main_agent_and_names_the_others() -> None:
    main = parse_document(to_lines(*HEAD, *TURN), "agents/main/wire.jsonl")
    child = parse_document(to_lines(*HEAD, said("u1", "count") | {"agentId": "agent-0"}), "agents/agent-0/wire.jsonl")
    folder = Document(name="/k/session_9", companions=(child, main))
    transcript = read_document(folder)
    assert len(messages_of(transcript)) == 6
    assert [skipped.reason for skipped in transcript.skipped if "another" in skipped.reason] == [
        "another conversation: agent-0"
    ]
    assert len(messages_of(read_document(replace(folder, run=1)))) == 2


def test_a_log_reads_alike_in_every_two_pieces() -> None:
    compaction = record("context.apply_compaction", summary="Two files.", keptUserMessageCount=1)
    data = to_lines(*HEAD, *TURN, compaction, said("u2", "on"), record("context.undo", count=1), said("u3", "else"))
    document = parse_document(data, "wire.jsonl")
    expect_every_split_to_read_alike(FORMAT, document)
    expect_a_growing_log_to_only_add_records(FORMAT, document)
    assert read(data).format == "kimi-code"
