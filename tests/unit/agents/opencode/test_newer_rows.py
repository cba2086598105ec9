"""Rows of the shape that opencode 1.18.33 wrote when its server was asked by the second interface."""

import json
from typing import Any

from support.databases import database
from support.foreign import messages_of, reports_of
from support.growing_files import expect_every_split_to_read_alike, read_pieces
from ullage.agents.opencode.messages import CLEARED, FORMAT
from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document
from ullage.model.blocks import CompactionBlock, ImageBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import ContextEdited, ModelChanged
from ullage.model.message import Role
from ullage.transcript.fold import project

T = 1_790_000_000_000
SESSION = {
    "id": "ses_1",
    "project_id": "global",
    "parent_id": None,
    "directory": "/home/ann/barrels",
    "title": "New session - 2026-11-22T17:14:44.349Z",
    "version": "1.18.33",
    "model": '{"id":"m","providerID":"wire"}',
    "revert": None,
    "time_created": T,
    "time_updated": T,
}
TOKENS = {"input": 2154, "output": 32, "reasoning": 5, "cache": {"read": 1077, "write": 0}}
MODEL = {"id": "m", "providerID": "wire", "variant": "default"}


def row(kind: str, seq: int, at: int = 0, **data: Any) -> tuple[str, dict[str, Any]]:
    known = {"time": {"created": T + (at or seq) * 1_000}} | data
    columns = {"id": f"msg_{seq}", "session_id": "ses_1", "type": kind, "seq": seq, "data": json.dumps(known)}
    return "session_message", columns | {"time_created": T, "time_updated": T}


def answer(seq: int, *content: dict[str, Any], **data: Any) -> tuple[str, dict[str, Any]]:
    time = {"created": T + seq * 1_000, "completed": T + seq * 1_000 + 500}
    known: dict[str, Any] = {
        "agent": "build",
        "model": MODEL,
        "finish": "stop",
        "cost": 0,
        "tokens": TOKENS,
        "time": time,
    }
    return row("assistant", seq, 0, **(known | {"content": list(content)} | data))


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "id": "text-0", "text": words}


def call(**state: Any) -> dict[str, Any]:
    done = {
        "status": "completed",
        "input": {"command": "ls"},
        "content": [{"type": "text", "text": "cask.py"}, {"type": "text", "text": "Command exited with code 0."}],
        "outputPaths": [],
        "structured": {"exit": 0},
    }
    time = {"created": T, "ran": T, "completed": T}
    return {"type": "tool", "id": "call_1", "name": "bash", "state": done | state, "time": time}


TALK = [
    row("user", 2, text="Which port?"),
    row("system", 4, text="Skills provide specialized instructions."),
    answer(5, {"type": "reasoning", "id": "r", "text": "look"}, call(), finish="tool-calls"),
    answer(6, text("8042.")),
]


def stored(*rows: tuple[str, dict[str, Any]], **session: Any) -> Document:
    return database("opencode.db", ("session", SESSION | session), *rows)


def test_prompts_answers_and_tools_are_read_with_model_usage_times_and_folder() -> None:
    transcript = read_document(stored(*TALK))
    assert (transcript.format, transcript.session_id, transcript.cwd) == ("opencode", "ses_1", "/home/ann/barrels")
    assert (transcript.agent, transcript.model, transcript.version) == ("opencode", "m", "1.18.33")
    prompt, system, first, results, last = messages_of(transcript)
    assert (prompt.text, prompt.role, prompt.timestamp) == ("Which port?", Role.USER, T + 2_000)
    assert (system.text, system.role) == ("Skills provide specialized instructions.", Role.SYSTEM)
    assert first.content == (
        ThinkingBlock(thinking="look"),
        ToolUseBlock(id="call_1", name="bash", input={"command": "ls"}),
    )
    output = TextBlock(text="cask.py\nCommand exited with code 0.")
    assert results.content == (ToolResultBlock(tool_use_id="call_1", content=(output,)),)
    assert (last.text, last.timestamp) == ("8042.", T + 6_000)
    usages = [(report.usage.input_tokens, report.usage.cache_read_input_tokens) for report in reports_of(transcript)]
    assert usages == [(2154, 1077), (2154, 1077)]
    assert [report.usage.output_tokens for report in reports_of(transcript)] == [37, 37]
    assert transcript.skipped == ()


def test_a_title_made_of_the_time_is_no_title() -> None:
    assert read_document(stored(*TALK)).title == ""
    assert read_document(stored(*TALK, title="Ports of casks")).title == "Ports of casks"


def test_a_compaction_leaves_its_summary_and_the_newest_messages_as_text() -> None:
    compaction = row("compaction", 8, reason="auto", summary="The port is 8042.", recent="[User]: And now?")
    transcript = read_document(stored(*TALK, row("user", 7, text="And now?"), compaction, answer(9, text("Go on."))))
    (edit,) = [event.edit for event in transcript.events if isinstance(event, ContextEdited)]
    assert edit.id == "msg_8"
    system, marker, last = project(transcript.events)
    block = marker.content[0]
    assert isinstance(block, CompactionBlock)
    assert block.summary == "The port is 8042.\n\n[User]: And now?"
    assert block.context_size_before == 2154 + 1077 + 37
    assert (system.role, last.text) == (Role.SYSTEM, "Go on.")
    assert [message.text for message in messages_of(transcript)][-2:] == ["And now?", "Go on."]


def test_a_compaction_that_runs_or_failed_leaves_the_context_as_it_is() -> None:
    ids = [message.id for message in messages_of(read_document(stored(*TALK)))]
    for status in ("running", "failed"):
        told = row("compaction", 7, status=status, reason="manual", summary="Half of", recent="")
        transcript = read_document(stored(*TALK, told))
        assert [message.id for message in project(transcript.events)] == ids
        assert not any(isinstance(event, ContextEdited) for event in transcript.events)


def test_what_else_the_model_is_sent_is_read_too() -> None:
    image = {"uri": "data:image/png;base64,aGVsbG8=", "mime": "image/png", "name": "cask.png"}
    shell = row("shell", 8, command="ls", output={"output": "cask.py"}, time={"created": T, "completed": T})
    others = [
        row("user", 6, text="Look.", files=[image]),
        row("synthetic", 7, text="The file was changed."),
        shell,
        row("skill", 9, skill="s", name="ports", text="How to read ports."),
    ]
    transcript = read_document(stored(*others))
    first, *rest = messages_of(transcript)
    assert isinstance(first.content[1], ImageBlock)
    assert [message.text for message in rest] == [
        "The file was changed.",
        "Shell command: ls\n\ncask.py",
        "How to read ports.",
    ]
    assert {message.role for message in rest} == {Role.USER}


def test_a_failed_call_has_its_error_and_a_pruned_result_is_cleared() -> None:
    failed = call(status="error", content=[], error={"type": "unknown", "message": "no such file"})
    transcript = read_document(stored(row("user", 2, text="ls"), answer(3, failed)))
    result = messages_of(transcript)[-1].content[0]
    assert isinstance(result, ToolResultBlock)
    assert (result.is_error, result.content) == (True, (TextBlock(text="no such file"),))
    pruned = call()
    pruned["time"]["pruned"] = T + 9_000
    transcript = read_document(stored(row("user", 2, text="ls"), answer(3, pruned), answer(4, text("Done."))))
    shown = project(transcript.events)[2].content[0]
    assert isinstance(shown, ToolResultBlock)
    assert shown.content == (TextBlock(text=CLEARED),)


def test_a_switched_model_answers_from_there_on() -> None:
    other = {"id": "m-large", "providerID": "wire"}
    switch = [row("model-switched", 7, model=other), row("agent-switched", 8, agent="plan")]
    transcript = read_document(stored(*TALK, *switch, answer(9, text("Yes."), model=other)))
    assert [event.model for event in transcript.events if isinstance(event, ModelChanged)] == ["m-large"]
    assert all(skipped.expected for skipped in transcript.skipped)


def test_a_prompt_that_waited_comes_where_the_model_got_it() -> None:
    waited = row("user", 7, at=5, text="Wait for it.")
    texts = [message.text for message in messages_of(read_document(stored(*TALK, waited)))]
    assert texts[-2:] == ["8042.", "Wait for it."]


def test_a_reverted_message_is_out_of_the_context() -> None:
    reverted = stored(*TALK, row("user", 7, text="Wrong."), revert='{"messageID":"msg_7"}')
    assert [message.text for message in project(read_document(reverted).events)][-1] == "8042."


def test_a_type_that_is_not_known_is_told() -> None:
    reasons = [part.reason for part in read_document(stored(*TALK, row("robot", 7))).skipped if not part.expected]
    assert reasons == ["message of unknown role 'robot'"]


def test_a_message_that_both_tables_hold_is_read_once() -> None:
    old = (
        "message",
        {"id": "msg_2", "session_id": "ses_1", "data": json.dumps({"role": "user", "time": {"created": T}})},
    )
    part = ("part", {"id": "p", "message_id": "msg_2", "session_id": "ses_1", "data": json.dumps(text("Which port?"))})
    messages = messages_of(read_document(stored(old, part, *TALK)))
    assert (messages[0].text, len(messages)) == ("Which port?", 5)


def test_an_answer_that_is_being_written_is_read_when_it_is_complete() -> None:
    assert FORMAT.records is not None
    growing = answer(5, call(status="running", content=[]), time={"created": T + 5_000})
    before = FORMAT.records(stored(*TALK[:2], growing)).lines
    after = FORMAT.records(stored(*TALK)).lines
    assert read_pieces(FORMAT, [before, after[3:]]) == read_pieces(FORMAT, [after])


def test_rows_read_in_pieces_are_the_same_as_at_once() -> None:
    compaction = row("compaction", 8, reason="manual", summary="The port is 8042.", recent="")
    expect_every_split_to_read_alike(FORMAT, stored(*TALK, compaction, row("user", 9, text="Go on.")))


def second(**session: Any) -> tuple[str, dict[str, Any]]:
    return "session_v2", SESSION | {"version": "2.0.12", "title": "Ports of casks"} | session


def test_the_tables_of_opencode_2_are_read_without_and_with_older_ones() -> None:
    for older in ([], [("session", SESSION | {"id": "ses_0", "title": "Old", "time_updated": T - 9})]):
        transcript = read_document(database("opencode.db", *older, second(), *TALK))
        assert (transcript.session_id, transcript.version, transcript.title) == ("ses_1", "2.0.12", "Ports of casks")
        assert [report.usage.output_tokens for report in reports_of(transcript)] == [37, 37]


def test_where_opencode_2_has_written_a_session_older_rows_of_it_do_not_count() -> None:
    older = {"id": "msg_0", "session_id": "ses_1", "data": json.dumps({"role": "user", "time": {"created": T}})}
    part = {"id": "p", "message_id": "msg_0", "session_id": "ses_1", "data": json.dumps(text("Older."))}
    rows = [("session", SESSION | {"title": "Old"}), ("message", older), ("part", part)]

    def texts(*newer: tuple[str, dict[str, Any]]) -> tuple[str, list[str]]:
        transcript = read_document(database("opencode.db", *rows, *newer))
        return transcript.title, [message.text for message in messages_of(transcript)][:1]

    assert texts() == ("Old", ["Older."])
    # The second interface of earlier versions adds to a session that the older tables have.
    assert texts(*TALK) == ("Old", ["Older."])
    assert texts(second(), *TALK) == ("Ports of casks", ["Which port?"])
    assert texts(second()) == ("Ports of casks", ["Older."])
