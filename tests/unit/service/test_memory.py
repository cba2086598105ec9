"""The memory tool as a model uses it: its calls and its answers."""

from typing import Any

import jsonschema
import pytest

from support.memory_twin import MemoryTwin
from ullage.memory.memory_tool import DEFINITION
from ullage.service.ports.models import ToolOutcome
from ullage.tools.toolbox import run_memory

NOTES = "/memories/notes.md"


def ran(files: MemoryTwin, command: str, **arguments: Any) -> str:
    answer = run_memory(files, {"command": command, **arguments})
    assert not answer.is_error, answer.text
    return answer.text


def test_six_commands_answer_as_the_tool_s_documentation_says() -> None:
    files = MemoryTwin()
    assert ran(files, "create", path=NOTES, file_text="one\ntwo\n") == f"File created successfully at: {NOTES}"
    assert ran(files, "insert", path=NOTES, insert_line=2, insert_text="three") == f"The file {NOTES} has been edited."
    assert ran(files, "str_replace", path=NOTES, old_str="two", new_str="2").startswith(
        "The memory file has been edited."
    )
    assert ran(files, "rename", old_path=NOTES, new_path="/memories/old/n.md") == (
        f"Successfully renamed {NOTES} to /memories/old/n.md"
    )
    assert ran(files, "view", path="/memories/old/n.md").endswith("     1\tone\n     2\t2\n     3\tthree")
    assert ran(files, "delete", path="/memories/old") == "Successfully deleted /memories/old"


def test_listing_shows_two_levels_with_sizes_before_a_tab() -> None:
    files = MemoryTwin()
    for path in ("/memories/a.md", "/memories/b/c.md", "/memories/b/d/e.md"):
        ran(files, "create", path=path, file_text="x" * 1024)
    assert ran(files, "view", path="/memories", view_range=[1, 10]).splitlines()[1:] == [
        "3K\t/memories",
        "1K\t/memories/a.md",
        "2K\t/memories/b/",
        "1K\t/memories/b/c.md",
        "1K\t/memories/b/d/",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"command": "show", "path": "/memories"}, "show"),
        ({"path": "/memories"}, "command"),
        ({"command": "view"}, "path"),
        ({"command": "view", "path": 7}, "path"),
        ({"command": "view", "path": "/memories", "view_range": [1]}, "view_range"),
        ({"command": "insert", "path": NOTES, "insert_line": "x", "insert_text": ""}, "insert_line"),
        ({"command": "rename", "path": NOTES, "new_path": NOTES}, "old_path"),
    ],
)
def test_command_of_the_wrong_shape_is_answered_with_what_is_wrong(arguments: dict[str, Any], said: str) -> None:
    answer = run_memory(MemoryTwin(), arguments)
    assert answer.is_error
    assert said in answer.text


def test_fields_that_a_flat_schema_makes_a_model_fill_are_no_mistake() -> None:
    files = MemoryTwin()
    ran(files, "create", path=NOTES, file_text="one\n", view_range=None, old_str="", insert_line=None)
    assert ran(files, "insert", path=NOTES, insert_line="1", insert_text="two")
    assert files.files[("notes.md",)] == "one\ntwo\n"


def test_definition_describes_each_command_a_model_may_send() -> None:
    sent: list[dict[str, Any]] = [
        {"command": "view", "path": "/memories", "view_range": [1, -1]},
        {"command": "create", "path": NOTES, "file_text": "one\n"},
        {"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "two"},
        {"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "zero"},
        {"command": "rename", "old_path": NOTES, "new_path": "/memories/n.md"},
        {"command": "delete", "path": "/memories/n.md"},
    ]
    files = MemoryTwin()
    for arguments in sent:
        jsonschema.validate(arguments, DEFINITION.input_schema)
        assert not run_memory(files, arguments).is_error
    assert {key for arguments in sent for key in arguments} == set(DEFINITION.input_schema["properties"])


def test_answer_is_a_plain_value() -> None:
    assert run_memory(MemoryTwin(), {"command": "delete", "path": "/memories"}) == ToolOutcome(
        text="/memories", is_error=True
    )
