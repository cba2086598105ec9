"""The meaning of tool calls: the cases on which the readers once disagreed, and the edges of the table."""

from typing import Any

import pytest

from support.build import results, uses
from ullage.agents.calls import ToolCall, touches_of
from ullage.agents.file_reads import file_reads
from ullage.agents.tools import Action, action_of, command_of, path_of, paths_of
from ullage.ledger.folding import fold
from ullage.model.message import (
    INSTRUCTION_FILES,
    FileAction,
    Message,
    ResourceBlock,
    Role,
    ToolResultBlock,
    is_instruction_file,
    is_memory_file,
)


def both(name: str, **given: Any) -> tuple[list[str], list[str]]:
    """Returns the paths that the ledger and deduplication see."""
    messages = [uses("u", "t", name=name, **given), results("r", "t", text="x = 1")]
    return [file.text for file in fold(messages).files], [read.path for read in file_reads(messages)]


def touches(name: str, failed: bool | None = None, **given: Any) -> list[tuple[str, FileAction]]:
    return touches_of(ToolCall(index=0, name=name, input=given, failed=failed))


@pytest.mark.parametrize("name", ["create_pull_request", "memory", "reader", "viewport_resize", "insert_row"])
def test_a_tool_that_only_begins_like_one_of_the_table_touches_no_file(name: str) -> None:
    assert both(name, path="/src/app.py", command="view") == ([], [])


def test_several_files_are_all_touched_and_none_is_taken_for_the_others() -> None:
    given = {"paths": ["/a.py", "/b.py", "src/*.py"]}
    assert paths_of(given) == ("/a.py", "/b.py")
    assert path_of(given) == ""
    assert both("read_many_files", **given) == (["/a.py", "/b.py"], [])


def test_the_command_of_an_editor_overrules_its_name() -> None:
    assert action_of("str_replace_editor", {"command": "view"}) is Action.READ
    assert action_of("str_replace_editor", {"command": "polish"}) is Action.EDIT
    assert action_of("bash", {"command": "view"}) is Action.RUN
    assert action_of("grep", {"command": "create"}) is Action.SEARCH


def test_several_commands_of_one_call_are_lines_of_one_command() -> None:
    assert command_of("run_commands", {"commands": ["cd /repo", ["ls", "-l"], {"command": "pwd"}]}) == (
        "cd /repo\nls -l\npwd"
    )
    assert command_of("read_file", {"command": "ls"}) == ""


PATCH = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Update File: b.py\n*** Move to: c.py\n*** Delete File: d.py"
PATCHED = [
    ("a.py", FileAction.CREATED),
    ("b.py", FileAction.MODIFIED),
    ("c.py", FileAction.CREATED),
    ("d.py", FileAction.DELETED),
]


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("apply_patch", {"input": PATCH}),
        ("shell", {"command": ["apply_patch", PATCH]}),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\n*** End Patch\nEOF"]}),
    ],
)
def test_a_patch_touches_its_files_however_it_is_applied(name: str, given: dict[str, Any]) -> None:
    assert touches(name, **given) == PATCHED


def test_a_call_that_failed_changed_nothing() -> None:
    assert touches("apply_patch", failed=True, input=PATCH) == []
    assert touches("read", failed=True, path="/a.py") == [("/a.py", FileAction.READ)]


@pytest.mark.parametrize(
    ("result", "applied"),
    [
        ("error: Failed to find expected lines in b.py:\nx", False),
        ("failed in sandbox: denied, exit code: 1, stdout: , stderr: a here-document ended early", False),
        ("Exit code 1\nerror: invalid hunk at line 2", False),
        ("Exit code 1\nSuccess. Updated the following files:\nM b.py\n1 test failed", True),
        ("Done", True),
    ],
)
def test_a_patch_that_could_not_be_applied_changed_nothing(result: str, applied: bool) -> None:
    call = ToolCall(index=0, name="shell", input={"command": ["apply_patch", PATCH]}, result=result)
    assert touches_of(call) == (PATCHED if applied else [])


def test_a_resource_in_a_result_is_part_of_its_text_for_the_ledger_too() -> None:
    resource = ResourceBlock(uri="file:///a", text="Error: no such table")
    answer = Message(id="r", role=Role.USER, content=(ToolResultBlock(tool_use_id="t", content=(resource,)),))
    failed = Message(
        id="r", role=Role.USER, content=(ToolResultBlock(tool_use_id="t", content=(resource,), is_error=True),)
    )
    for message, problems in ((answer, []), (failed, ["`make db` failed: Error: no such table"])):
        ledger = fold([uses("u", "t", name="bash", command="make db"), message])
        assert [problem.text for problem in ledger.problems] == problems


@pytest.mark.parametrize(
    "path", [*INSTRUCTION_FILES, "/repo/AGENTS.md", "file:///repo/sub/CLAUDE.md", "C:\\r\\GEMINI.md"]
)
def test_an_instruction_file_is_known_in_any_folder_and_counts_as_memory(path: str) -> None:
    assert is_instruction_file(path)
    assert is_memory_file(path)


def test_an_agents_own_notes_are_memory_and_no_instructions() -> None:
    for path in ("/memories/plan.md", "memories/plan.md", "/x/MEMORY.md"):
        assert (is_memory_file(path), is_instruction_file(path)) == (True, False)
    for path in ("MYAGENTS.md", "/repo/AGENTS.md.bak", "README.md"):
        assert not is_memory_file(path)
