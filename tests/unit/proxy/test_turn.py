"""The updates of a turn, folded into messages that a provider would accept."""

from typing import Any

import pytest

from support.build import assistant, user, words
from ullage import get_counter
from ullage.model.errors import AnswerBroken
from ullage.model.events import EditTrigger
from ullage.model.message import (
    ImageBlock,
    Message,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.proxy.compactions import NativeCompaction, check_summary, own_words, watched
from ullage.proxy.turn_messages import Turn


def chunk(kind: str, text: str) -> dict[str, Any]:
    return {"sessionUpdate": f"{kind}_chunk", "content": {"type": "text", "text": text}}


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, **fields}


def done(call_id: str, text: str, status: str = "completed") -> dict[str, Any]:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status, "content": content}


def fold(*updates: dict[str, Any]) -> list[Message]:
    turn = Turn()
    return [*(message for update in updates for message in turn.take(update)), *turn.end()]


def test_chunks_of_one_kind_are_one_block() -> None:
    (answer,) = fold(
        chunk("agent_thought", "Let me "),
        chunk("agent_thought", "think."),
        chunk("agent_message", "It is "),
        chunk("agent_message", "fine."),
    )
    assert answer.content == (ThinkingBlock(thinking="Let me think."), TextBlock(text="It is fine."))


def test_what_is_said_after_the_results_is_a_message_of_its_own() -> None:
    first, results, second = fold(
        chunk("agent_message", "I look."),
        call("t1", kind="read", title="Read", locations=[{"path": "a.py"}]),
        done("t1", "def f"),
        chunk("agent_message", "Done."),
    )
    assert first.content == (TextBlock(text="I look."), ToolUseBlock(id="t1", name="read_file", input={"path": "a.py"}))
    assert results.content == (ToolResultBlock(tool_use_id="t1", content=(TextBlock(text="def f"),)),)
    assert (second.role, second.text) == (Role.ASSISTANT, "Done.")


def test_a_call_after_the_results_of_others_begins_a_new_round() -> None:
    roles = [message.role for message in fold(call("t1"), done("t1", "one"), call("t2"), done("t2", "two"))]
    assert roles == [Role.ASSISTANT, Role.USER, Role.ASSISTANT, Role.USER]


def test_calls_that_run_at_once_stay_together() -> None:
    said, results = fold(call("t1"), call("t2"), done("t2", "two"), done("t1", "one"))
    assert [block.id for block in said.content if isinstance(block, ToolUseBlock)] == ["t1", "t2"]
    assert [block.tool_use_id for block in results.content if isinstance(block, ToolResultBlock)] == ["t1", "t2"]


def test_a_call_that_never_ended_has_a_result_that_says_so() -> None:
    _, results = fold(call("t1", title="Run it", kind="execute"))
    (result,) = results.content
    assert isinstance(result, ToolResultBlock)
    assert result.is_error


def test_a_command_is_named_so_that_the_ledger_knows_it() -> None:
    said, results = fold(call("t1", kind="execute", title="`make test`"), done("t1", "2 failed", "failed"))
    assert said.content == (ToolUseBlock(id="t1", name="bash", input={"command": "make test"}),)
    (result,) = results.content
    assert isinstance(result, ToolResultBlock)
    assert result.is_error


def test_a_diff_names_the_file_and_its_change() -> None:
    diff = {"type": "diff", "path": "a.py", "oldText": "1", "newText": "2"}
    said, results = fold(call("t1", kind="edit", title="Edit"), {**done("t1", ""), "content": [diff]})
    assert said.content == (ToolUseBlock(id="t1", name="edit_file", input={"path": "a.py"}),)
    assert results.content == (ToolResultBlock(tool_use_id="t1", content=(TextBlock(text="a.py:\n2"),)),)


def test_a_replayed_question_ends_the_answer_before_it() -> None:
    texts = [message.text for message in fold(chunk("user_message", "A?"), chunk("agent_message", "B."))]
    assert texts == ["A?", "B."]
    again = fold(chunk("agent_message", "B."), chunk("user_message", "C?"), chunk("agent_message", "D."))
    assert [message.text for message in again] == ["B.", "C?", "D."]


def test_other_content_is_kept_as_what_it_is() -> None:
    picture = {"sessionUpdate": "user_message_chunk", "content": {"type": "image", "data": "QQ==", "mimeType": "a/b"}}
    link = {
        "sessionUpdate": "user_message_chunk",
        "content": {"type": "resource_link", "uri": "file:///a", "name": "a"},
    }
    (asked,) = fold(picture, link)
    assert asked.content == (ImageBlock(media_type="a/b", data="QQ=="), ResourceBlock(uri="file:///a"))


def test_an_endless_answer_is_kept_in_parts() -> None:
    turn = Turn()
    messages = [message for _ in range(40) for message in turn.take(chunk("agent_message", "x" * 100_000))]
    assert [len(message.text) for message in messages] == [1_100_000] * 3


def shown_as_terminal(call_id: str, *pieces: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the updates of a command whose output is only in `_meta`, as agents send them to clients that draw
    terminals themselves."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id}
    named = [{"type": "terminal", "terminalId": call_id}]
    return [
        call(call_id, kind="execute", title="make", status="in_progress", content=named),
        *({**update, "_meta": piece} for piece in pieces),
        {**update, "status": "completed", "content": named, "_meta": {"terminal_exit": {"terminal_id": call_id}}},
    ]


@pytest.mark.parametrize("name", ["terminal_output", "terminal_output_delta"])
def test_the_output_of_a_command_that_is_shown_as_a_terminal_is_its_result(name: str) -> None:
    pieces = ({name: {"terminal_id": "t1", "data": data}} for data in ("cc -c cask.c\n", "2 warnings\n"))
    _, results = fold(*shown_as_terminal("t1", *pieces))
    (result,) = results.content
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock(text="cc -c cask.c\n2 warnings\n"),)


def test_the_output_of_a_command_that_the_client_runs_is_its_result() -> None:
    turn = Turn()
    named = [{"type": "terminal", "terminalId": "term-7"}]
    messages = list(turn.take(call("t1", kind="execute", title="make", status="in_progress", content=named)))
    for output in ("cc -c cask.c\n", "cc -c cask.c\n2 warnings\n"):
        turn.show_terminal("term-7", output)
    ended = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}
    messages += [*turn.take(ended), *turn.end()]
    (result,) = messages[-1].content
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock(text="cc -c cask.c\n2 warnings\n"),)


# What an agent's updates say about its own compaction


BEGUN: dict[str, Any] = {"sessionUpdate": "compaction_update", "status": "in_progress"}


def test_an_update_of_another_kind_begins_none() -> None:
    assert watched(None, {"sessionUpdate": "agent_message_chunk", "content": {"text": "x"}}, 900) is None


def test_an_unrequested_compaction_begins_with_its_first_update() -> None:
    assert watched(None, BEGUN, 900) == NativeCompaction(used_before=900)


def test_the_summary_comes_whole_or_in_chunks() -> None:
    whole = watched(None, {**BEGUN, "summary": [{"type": "text", "text": "A cask."}]}, 900)
    chunk = {"sessionUpdate": "compaction_summary_chunk", "content": {"type": "text", "text": "A "}}
    parts = watched(watched(None, chunk, 900), {**chunk, "content": {"type": "text", "text": "cask."}}, 0)
    assert whole == parts == NativeCompaction(used_before=900, summary="A cask.")


def test_it_stays_completed_and_keeps_who_asked_for_it() -> None:
    asked = NativeCompaction(used_before=900, trigger=EditTrigger.MANUAL, asked=True, copy="c")
    done = watched(asked, {**BEGUN, "status": "completed"}, 100)
    again = watched(done, BEGUN, 100)
    assert again == NativeCompaction(used_before=900, trigger=EditTrigger.MANUAL, asked=True, copy="c", completed=True)


# A summary that an agent writes for a handover is judged before it replaces the conversation


COUNTER = get_counter("gpt-4o").engine
FILES = ["src/app.py", "src/http/client.py", "tests/test_app.py", "docs/setup.md", "pyproject.toml", "MAX_RETRIES"]
TALK = [
    message
    for at, file in enumerate(FILES)
    for message in (user(f"u{at}", f"Look at {file}. {words(300)}"), assistant(f"a{at}", f"{file} is fine."))
]
GOOD = "The user has the project reviewed, file by file. src/app.py and docs/setup.md are fine. " + words(80)


def test_a_summary_of_the_conversation_is_taken() -> None:
    check_summary(GOOD, TALK, COUNTER)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the summary has 0 tokens"),
        ("I looked at src/app.py and fixed line 16183.", "at least"),
        ("Done.", "at least"),
        (f"I cannot do that. {words(200)}", "names no path"),
        (f"src/app.py {words(9_000)}", "8,192 are allowed"),
    ],
)
def test_what_cannot_be_a_summary_is_refused(text: str, reason: str) -> None:
    with pytest.raises(AnswerBroken, match=reason):
        check_summary(text, TALK, COUNTER)


def test_a_short_conversation_may_have_a_short_summary() -> None:
    check_summary("They said hello.", [user("u", "Hello"), assistant("a", "Hello!")], COUNTER)


def test_the_users_messages_stay_verbatim_the_first_and_the_newest_ones() -> None:
    kept = own_words(TALK, GOOD, 1_000, COUNTER)
    assert [next(file for file in FILES if file in text) for text in kept] == [FILES[0], FILES[4], FILES[5]]
    assert kept[0] == TALK[0].text
    assert own_words(TALK, "\n".join(message.text for message in TALK), 1_000, COUNTER) == []
