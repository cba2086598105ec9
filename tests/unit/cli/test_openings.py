"""One line says what a message is."""

from ullage.cli.commands.messages import Openings
from ullage.model.message import (
    Block,
    CompactionBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)


def said(*blocks: Block) -> Message:
    return Message(id="m", role=Role.USER, content=blocks)


def result(text: str, *, is_error: bool = False) -> Message:
    return said(ToolResultBlock(tool_use_id="t1", content=(TextBlock(text=text),), is_error=is_error))


def test_a_message_is_described_by_the_first_line_that_is_not_blank() -> None:
    assert Openings().describe(said(TextBlock(text="\n  Fix it.\nPlease."))) == "Fix it."


def test_a_result_is_named_after_its_call_with_the_path_from_the_sessions_folder() -> None:
    openings = Openings("/home/me/project")
    call = said(ToolUseBlock(id="t1", name="Read", input={"file_path": "/home/me/project/src/a.py"}))
    assert openings.describe(call) == "→ Read src/a.py"
    assert openings.describe(result("import os")) == "Read src/a.py: import os"
    assert openings.describe(result("no such file", is_error=True)) == "Read src/a.py: failed: no such file"


def test_several_results_are_all_named_and_what_failed_is_marked() -> None:
    openings = Openings()
    calls = [ToolUseBlock(id=name, name="Read", input={"file_path": f"{name}.py"}) for name in ("a", "b", "c")]
    openings.describe(said(*calls))
    results = [ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text="1 " * 400),)) for call in calls[:2]]
    message = said(*results, ToolResultBlock(tool_use_id="c", content=(), is_error=True))
    assert openings.describe(message) == "Read a.py · Read b.py · Read c.py (failed)"


def test_of_a_long_path_the_end_is_shown() -> None:
    call = said(ToolUseBlock(id="t1", name="Read", input={"path": "/opt/a/b/c/d.py"}))
    assert Openings().describe(call) == "→ Read …/b/c/d.py"
    command = said(ToolUseBlock(id="t2", name="Bash", input={"command": "ls /opt/a/b/c /opt/a"}))
    assert Openings().describe(command) == "→ Bash ls /opt/a/b/c /opt/a"


def test_a_command_given_as_words_is_shown_as_it_was_meant() -> None:
    wrapped = said(ToolUseBlock(id="t1", name="shell", input={"command": ["bash", "-lc", "npm test"]}))
    assert Openings().describe(wrapped) == "→ shell npm test"
    plain = said(ToolUseBlock(id="t1", name="shell", input={"timeout": 9, "command": ["git", "status"]}))
    assert Openings().describe(plain) == "→ shell git status"


def test_thinking_is_named_only_where_nothing_is_said() -> None:
    thought = ThinkingBlock(thinking="hmm")
    assert Openings().describe(said(thought, TextBlock(text="Done."))) == "Done."
    assert Openings().describe(said(thought)) == "(thinking)"


def test_a_marker_says_how_many_messages_it_stands_for() -> None:
    block = CompactionBlock(
        compaction_number=2, timestamp=0, summary="s", messages_archived=1_207, context_size_before=9
    )
    assert Openings().describe(said(block)) == "Compaction 2: a summary of 1,207 messages"


def test_a_message_with_results_alone_is_the_tools_and_one_with_the_users_words_is_the_users() -> None:
    assert result("12 passed").speaker == "tool"
    words = TextBlock(text="And now?")
    assert said(*result("12 passed").content, words).speaker == said(words).speaker == said().speaker == "user"
