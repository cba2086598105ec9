from typing import Any

from msgspec.structs import replace

from support.foreign import messages_of, to_lines
from support.growing_files import expect_a_growing_log_to_only_add_records, expect_every_split_to_read_alike
from ullage.agents.kimi_code import FORMAT
from ullage.agents.transcripts import companions_of, read, read_document
from ullage.formats.parsing import Document, parse_document
from ullage.model.events import WindowReported

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


TURN = (
    record("turn.prompt", input=[{"type": "text", "text": "list"}]),
    said("u1", "list"),
    said("i1", "<system-reminder>noon</system-reminder>", "injection"),
    *answered("s1", {"type": "think", "think": "look"}, called("c1"), result("c1", note="<system>2 lines</system>")),
    *answered("s2", {"type": "text", "text": "Two."}, prompt=120),
)


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


def windows(*asked: int) -> list[int | None]:
    """The windows that a log says whose requests ask for these tokens. Each answer leaves 162, 262 and so on."""
    lines = [*HEAD, said("u1", "list")]
    for number, tokens in enumerate(asked):
        begin, request, *rest = answered(f"s{number}", {"type": "text", "text": "Yes."}, prompt=100 * (number + 1))
        lines += [begin, request | {"maxTokens": tokens}, *rest]
    events = read(to_lines(*lines), "/k/sessions/w/s/agents/main/wire.jsonl").events
    return [event.size for event in events if isinstance(event, WindowReported)]


def test_requests_that_ask_for_what_is_left_show_the_window() -> None:
    assert windows(262_144, 262_144 - 162, 262_144 - 262)[-1] == 262_144


def test_a_limit_of_the_answers_alone_is_no_window() -> None:
    assert windows(100_000, 100_000, 100_000) == []
    assert windows(262_144, 99_000, 98_000) == []
