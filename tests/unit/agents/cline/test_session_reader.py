from typing import Any

from support.foreign import messages_of, reports_of
from support.growing_files import expect_every_split_to_read_alike
from ullage.agents.cline.messages import FORMAT
from ullage.agents.transcripts import companions_of, read_document
from ullage.formats.parsing import Document
from ullage.model.blocks import ResourceBlock, ToolResultBlock, ToolUseBlock
from ullage.transcript.fold import project

T = 1_790_000_000_000


def said(message_id: str, role: str, *content: Any, **more: Any) -> dict[str, Any]:
    blocks = [{"type": "text", "text": item} if isinstance(item, str) else item for item in content]
    return {"id": message_id, "role": role, "content": blocks, "ts": T} | more


def answered(message_id: str, *content: Any, prompt: int = 900) -> dict[str, Any]:
    metrics = {"inputTokens": prompt, "outputTokens": 20, "cacheReadTokens": 300, "cacheWriteTokens": 100}
    return said(message_id, "assistant", *content, modelInfo={"id": "m1", "provider": "p"}, metrics=metrics)


TURN = [
    said("u1", "user", "list", {"type": "file", "path": "/home/ann/a.md", "content": "# A"}),
    answered("a1", {"type": "tool_use", "id": "t1", "name": "run_commands", "input": {"commands": ["ls"]}}),
    said("r1", "user", {"type": "tool_result", "tool_use_id": "t1", "content": [{"query": "ls", "result": "a.md"}]}),
    answered("a2", "One file.", prompt=1_000),
    said("u2", "user", "thanks"),
]
COMPACTION = {
    "updated_at": "2026-09-21T14:13:20.000Z",
    "conversation_id": "s-1",
    "source_message_count": 4,
    "messages": [
        said("", "user", "Summary: one file.", metadata={"kind": "compaction_summary"}) | {"id": None},
        TURN[3],
    ],
}


def session(messages: list[dict[str, Any]], *companions: Document, session_id: str = "s-1") -> Document:
    value = {
        "version": 1,
        "updated_at": "2026-09-21T14:13:20.000Z",
        "sessionId": session_id,
        "origin": {"version": "3.1.0"},
        "system_prompt": "Be brief.",
        "messages": messages,
    }
    return Document(
        name=f"/home/ann/.cline/data/sessions/s-1/{session_id}.messages.json", value=value, companions=companions
    )


def test_a_session_has_messages_files_calls_and_the_usage_of_each_request() -> None:
    about = Document(name="s-1.json", value={"cwd": "/home/ann", "metadata": {"title": "Files"}})
    transcript = read_document(session(TURN, about))
    system, prompt, call, results, last, _ = messages_of(transcript)
    assert system.text == "Be brief."
    assert prompt.content[1] == ResourceBlock(uri="/home/ann/a.md", text="# A")
    assert isinstance(call.content[0], ToolUseBlock)
    assert isinstance(results.content[0], ToolResultBlock)
    assert last.timestamp == T
    reports = reports_of(transcript)
    assert [(report.message_id, report.usage.prompt, report.usage.total) for report in reports] == [
        ("a1", 900, 920),
        ("a2", 1_000, 1_020),
    ]
    assert (reports[0].usage.cache_read_input_tokens, reports[0].usage.cache_creation_input_tokens) == (300, 100)
    assert (transcript.agent, transcript.version, transcript.model) == ("Cline", "3.1.0", "m1")
    assert (transcript.session_id, transcript.cwd, transcript.title) == ("s-1", "/home/ann", "Files")


def test_a_compaction_beside_the_session_leaves_the_summary_and_what_it_kept() -> None:
    transcript = read_document(session(TURN, Document(name="s-1.compaction.json", value=COMPACTION)))
    view = project(transcript.events)
    assert [message.id for message in view] == ["m0001", "compaction1-marker", "a2", "u2"]
    assert view[1].compaction is not None
    assert view[1].compaction.summary == "Summary: one file."
    # The program's own figure is an estimate; that of the last request is not.
    assert view[1].compaction.context_size_before == 1_020
    assert len(messages_of(transcript)) == 6


def test_a_folder_is_the_session_in_it() -> None:
    alone = session(TURN)
    folder = Document(name="/home/ann/s-1", companions=(Document(name="s-1.messages.json", value=alone.value),))
    assert messages_of(read_document(folder)) == messages_of(read_document(alone))


def test_a_sub_agents_session_names_its_parent() -> None:
    assert read_document(session(TURN, session_id="s-1__agent_2")).parent == "s-1"
    assert read_document(session(TURN)).parent == ""


def test_the_files_beside_a_session_are_known_by_its_name() -> None:
    assert companions_of("/x/s-1/s-1.messages.json") == ("s-1.json", "s-1.compaction.json")
    assert companions_of("/x/s-1/s-1.json") == ()


def test_a_message_without_content_or_of_an_unknown_role_is_told() -> None:
    transcript = read_document(session([*TURN, said("x", "user"), said("y", "oracle", "hm")]))
    assert [(s.reason, s.expected) for s in transcript.skipped] == [
        ("message 6 has no content", True),
        ("message 7 has no known role: 'oracle'", False),
    ]


def test_a_session_reads_alike_in_every_two_pieces() -> None:
    expect_every_split_to_read_alike(FORMAT, session(TURN, Document(name="s-1.compaction.json", value=COMPACTION)))
