from typing import Any

import pytest

from support.codex_files import call, compacted, counted, event, item, line, output, said, session, usage
from support.foreign import messages_of, read_lines, reports_of, texts_of, unexplained
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.blocks import NO_SUMMARY, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.edits import CompactionEdit, EditTrigger
from ullage.model.events import ContextEdited, ToolsDeclared, WindowReported
from ullage.model.message import Message
from ullage.transcript.fold import project


def compaction_of(transcript: ImportedTranscript) -> CompactionEdit:
    (edit,) = [event_.edit for event_ in transcript.events if isinstance(event_, ContextEdited)]
    assert isinstance(edit, CompactionEdit)
    return edit


def context_of(transcript: ImportedTranscript) -> list[str]:
    return [message.compaction.summary if message.compaction else message.text for message in view_of(transcript)]


def view_of(transcript: ImportedTranscript) -> tuple[Message, ...]:
    return project(transcript.events)


def test_a_session_file_is_read_by_its_items() -> None:
    transcript = read_lines(
        session(id="x", instructions="Be brief."),
        line("turn_context", cwd="/home/dev/shop", model="gpt-5-codex"),
        said("user", "question"),
        event("user_message", message="question"),
        item("reasoning", summary=[{"type": "summary_text", "text": "thinking"}], encrypted_content="x"),
        call("c1"),
        counted(50),
        counted(50),
        output("c1"),
        said("assistant", "Done."),
        line("compacted", message="The story so far."),
        said("user", "next"),
    )
    assert texts_of(messages_of(transcript)) == [
        "system: Be brief.",
        "user: question",
        "assistant: ",
        "user: ",
        "assistant: Done.",
        "user: next",
    ]
    (report,) = reports_of(transcript)
    assert (report.usage.prompt, report.usage.input_tokens) == (50, 25)
    facts = (transcript.model, transcript.cwd, transcript.agent, transcript.version, transcript.session_id)
    assert facts == ("gpt-5-codex", "/home/dev/shop", "Codex", "0.99.0", "x")
    assert unexplained(transcript) == []
    assert context_of(transcript) == ["Be brief.", "The story so far.", "question", "next"]


def test_the_window_is_the_one_that_the_file_names() -> None:
    transcript = read_lines(session(), event("task_started", model_context_window=258_400), said("user", "one"))
    assert [each.size for each in transcript.events if isinstance(each, WindowReported)] == [258_400]


def test_instructions_that_a_message_repeats_are_not_added_twice() -> None:
    transcript = read_lines(
        session(instructions="Use tabs."),
        said("user", "<user_instructions>\n\nUse tabs.\n\n</user_instructions>"),
        said("user", "question"),
    )
    assert [message.role.value for message in messages_of(transcript)] == ["user", "user"]


def test_messages_have_the_ids_of_their_items() -> None:
    transcript = read_lines(
        session(), said("user", "question", id="msg_1"), said("assistant", "I look.", id="msg_2"), call("c", id="fc_1")
    )
    assert [message.id for message in messages_of(transcript)] == ["msg_1", "msg_2"]


def test_a_tool_search_is_a_call_with_the_found_tools_as_its_result() -> None:
    transcript = read_lines(
        session(),
        item("tool_search_call", call_id="t", arguments={"query": "tickets"}),
        item("tool_search_output", call_id="t", tools=[{"name": "open_ticket"}]),
        said("assistant", "Found."),
    )
    asked, found, _ = messages_of(transcript)
    assert asked.content == (ToolUseBlock(id="t", name="tool_search", input={"query": "tickets"}),)
    result = found.content[0]
    assert isinstance(result, ToolResultBlock)
    assert "open_ticket" in join_texts(block for block in result.content)


def test_calls_and_results_without_ids_are_paired_by_their_names() -> None:
    def called(command: str) -> dict[str, Any]:
        return item("tool_call", function={"name": "shell"}, arguments={"command": command})

    results = [item("tool_result", name="shell", result={"stdout": text}) for text in ("first", "second")]
    transcript = read_lines(session(), said("user", "go"), called("one"), called("two"), *results)
    asked, given = messages_of(transcript)[1:]
    ids = [block.id for block in asked.content if isinstance(block, ToolUseBlock)]
    answered = [
        (block.tool_use_id, join_texts(block.content)) for block in given.content if isinstance(block, ToolResultBlock)
    ]
    assert answered == [(ids[0], '{"stdout": "first"}'), (ids[1], '{"stdout": "second"}')]
    assert unexplained(transcript) == []


def test_a_message_of_another_agent_is_in_the_context() -> None:
    sent = [{"type": "input_text", "text": "The tests pass."}, {"type": "encrypted_content", "encrypted_content": "x"}]
    transcript = read_lines(
        session(),
        said("user", "go"),
        item("agent_message", author="/root/tester", recipient="/root", content=sent),
        line("inter_agent_communication", author="/root", recipient="/root/tester", content="Thank you."),
    )
    texts = texts_of(messages_of(transcript))[1:]
    assert texts == [
        'user: {"author": "/root/tester", "recipient": "/root"}\nThe tests pass.',
        'user: {"author": "/root", "recipient": "/root/tester"}\nThank you.',
    ]


def test_what_codex_keeps_for_itself_is_explained_and_what_is_new_is_told() -> None:
    transcript = read_lines(
        session(),
        said("user", "go"),
        line("world_state", full=True, state={}),
        line("security_risk_score", score=1),
        line("inter_agent_communication_metadata", trigger_turn=False),
        item("ghost_snapshot", ghost_commit={"id": "0"}),
        event("sub_agent_activity"),
        line("telepathy"),
        item("hologram"),
        event("teleported"),
        "{broken",
    )
    assert len(messages_of(transcript)) == 1
    told = unexplained(transcript)
    assert told[:3] == ["unknown line type 'telepathy'", "unknown item 'hologram'", "teleported event"]
    assert len(told) == 4


def test_a_compaction_keeps_the_messages_that_its_new_context_repeats() -> None:
    permissions, typed = said("developer", "You may write."), said("user", "fix the test")
    summary = "Another model wrote: the cask leaks."
    transcript = read_lines(
        session(base_instructions={"text": "Be brief."}),
        permissions,
        said("user", "<environment_context>\n  <cwd>/home/dev/shop</cwd>\n</environment_context>"),
        typed,
        said("assistant", "I look."),
        call("c"),
        output("c"),
        counted(240_000),
        compacted(
            summary,
            permissions,
            said("user", "<environment_context>now</environment_context>"),
            typed,
            said("user", summary),
        ),
        said("assistant", "On it."),
    )
    edit = compaction_of(transcript)
    block = edit.marker.compaction
    assert block is not None
    assert (edit.trigger, block.context_size_before) == (EditTrigger.AUTOMATIC, 240_007)
    assert context_of(transcript) == [
        "Be brief.",
        "You may write.",
        summary,
        "fix the test",
        "<environment_context>now</environment_context>",
        "On it.",
    ]
    assert len(messages_of(transcript)) == 8


def test_an_encrypted_compaction_says_that_it_cannot_be_read() -> None:
    sealed = item("compaction", id="cmp", encrypted_content="eA==")
    transcript = read_lines(
        session(), said("user", "one"), said("assistant", "two"), compacted("", said("user", "one"), sealed)
    )
    summary, kept = context_of(transcript)
    assert "Only OpenAI can read" in summary
    assert kept == "one"
    assert unexplained(transcript) == []


@pytest.mark.parametrize("history", [{}, {"replacement_history": [said("developer", "Lineage: b")["payload"]]}])
def test_a_new_context_window_without_a_summary_says_that_there_is_none(history: dict[str, Any]) -> None:
    new_window = line("compacted", message="", **history)
    transcript = read_lines(session(), said("user", "one"), said("assistant", "two"), new_window)
    block = compaction_of(transcript).marker.compaction
    assert block is not None
    assert block.summary == NO_SUMMARY


def test_the_answer_to_the_request_for_a_summary_does_not_change_the_size_before_the_compaction() -> None:
    def record(prompt: int) -> dict[str, Any]:
        return line("token_usage_record", usage=usage(prompt), thread_token_usage={"total_tokens": prompt})

    transcript = read_lines(
        session(),
        event("task_started"),
        said("user", "one"),
        said("assistant", "two"),
        record(30_000),
        counted(30_000),
        event("task_started"),
        said("assistant", "The story."),
        record(500),
        counted(500),
        compacted("Preamble. The story.", said("user", "one"), said("user", "Preamble. The story.")),
    )
    edit = compaction_of(transcript)
    block = edit.marker.compaction
    assert block is not None
    # No prompt began the turn, and the window is far from full.
    assert (edit.trigger, block.context_size_before) == (EditTrigger.MANUAL, 30_007)


def test_a_rollback_leaves_out_the_last_turns_and_loses_nothing() -> None:
    transcript = read_lines(
        session(),
        *(said("user", "one"), said("assistant", "first")),
        *(said("user", "two"), said("assistant", "second")),
        *(said("user", "three"), said("assistant", "third")),
        event("thread_rolled_back", num_turns=2),
        said("user", "four"),
    )
    assert context_of(transcript) == ["one", "first", "four"]
    assert len(messages_of(transcript)) == 7
    assert unexplained(transcript) == []


def test_a_rollback_over_a_compaction_takes_it_back() -> None:
    transcript = read_lines(
        session(),
        *(said("user", "one"), said("assistant", "first"), said("user", "two")),
        compacted("so far", said("user", "one"), said("user", "two"), said("user", "so far")),
        said("assistant", "second"),
        event("thread_rolled_back", num_turns=1),
    )
    assert context_of(transcript) == ["one", "first"]


def test_a_forked_session_names_its_parent_and_keeps_its_own_id() -> None:
    transcript = read_lines(
        session(id="child", forked_from_id="parent"), session(id="parent", cwd="/other"), said("user", "one")
    )
    assert (transcript.session_id, transcript.parent, transcript.cwd) == ("child", "parent", "/home/dev/shop")


def test_a_sub_agent_names_the_conversation_that_started_it() -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "main", "depth": 1}}}
    assert read_lines(session(source=source), said("user", "one")).parent == "main"


def test_a_later_name_is_the_title_or_else_what_the_user_typed_first() -> None:
    named = [event("thread_name_updated", thread_id="thread", thread_name=name) for name in ("First", "Casks")]
    typed = said("user", "<environment_context>shop</environment_context>"), said("user", "Go on?\nAt once.")
    assert read_lines(session(), *typed, *named).title == "Casks"
    assert read_lines(session(), *typed).title == "Go on?"


def test_tools_that_a_client_adds_are_declared() -> None:
    nested = {"type": "namespace", "name": "casks", "tools": [{"name": "fill", "inputSchema": {"type": "object"}}]}
    later: dict[str, Any] = {"name": "drain", "inputSchema": {}, "deferLoading": True}
    transcript = read_lines(session(dynamic_tools=[nested, later]), said("user", "one"))
    (declared,) = [each for each in transcript.events if isinstance(each, ToolsDeclared)]
    assert [(tool.name, tool.input_schema) for tool in declared.tools] == [("fill", {"type": "object"})]


def test_a_file_of_an_early_version_has_bare_items() -> None:
    transcript = read_lines(
        {"id": "early", "timestamp": "2025-06-01T00:00:00Z", "instructions": "Be brief."},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "question"}]},
        {"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "out"},
    )
    assert [message.role.value for message in messages_of(transcript)] == ["system", "user", "assistant", "user"]
    assert (transcript.session_id, unexplained(transcript)) == ("early", [])


@pytest.mark.parametrize("url", [None, ""])
def test_an_image_without_an_address_is_no_image(url: str | None) -> None:
    content = [{"type": "input_image", "image_url": url}]
    (message,) = messages_of(read_lines(session(), item("message", role="user", content=content)))
    assert "input_image" in message.text
