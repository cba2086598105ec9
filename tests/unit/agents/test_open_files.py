"""The commands of SWE-agent's editor are changes of the file that is open."""

import pytest

from support.calls import tool_calls
from support.conversations import agent, call, user
from ullage.agents.calls import ToolCall, open_file, touches_of
from ullage.ledger.folding import fold
from ullage.ledger.ledger_entry import Life
from ullage.model.message import FileAction, Message

STATE = "(Open file: /w/katy/seed.py)\n(Current directory: /w/katy)\nbash-$"
SHOWN = f"[File: /w/katy/seed.py (2 lines total)]\n1:from z3 import *\n2:\n{STATE}"


def fenced(command: str, output: str) -> tuple[Message, Message]:
    return agent(f"Now the solver.\n```\n{command}\n```"), user(output)


def only_call(messages: tuple[Message, Message]) -> ToolCall:
    (found,) = tool_calls(messages)
    return found


@pytest.mark.parametrize(
    ("command", "action"),
    [
        ("create seed.py", FileAction.CREATED),
        ("open seed.py 12", FileAction.READ),
        ("edit 1:1\nfrom z3 import *\nend_of_edit", FileAction.MODIFIED),
        ("edit 1:9\nend_of_edit", FileAction.MODIFIED),
    ],
)
def test_a_fenced_command_of_the_editor_touches_the_open_file(command: str, action: FileAction) -> None:
    found = only_call(fenced(command, SHOWN))
    assert touches_of(found) == [("/w/katy/seed.py", action)]
    assert found.command == ""


def test_an_edit_has_the_text_that_it_writes() -> None:
    found = only_call(fenced("edit 1:1\nfrom z3 import *\n\ns = Solver()\nend_of_edit", SHOWN))
    assert found.input["new_string"] == "from z3 import *\n\ns = Solver()"


def test_an_edit_that_the_editor_refused_changes_nothing() -> None:
    said = f"Your proposed edit has introduced new syntax error(s).\nE999 IndentationError\n{STATE}"
    found = only_call(fenced("edit 1:1\n  x\nend_of_edit", said))
    assert found.failed
    assert touches_of(found) == []


def test_a_command_for_the_shell_stays_one() -> None:
    assert only_call(fenced("python seed.py", f"sat\n{STATE}")).command == "python seed.py"
    assert only_call(fenced("open seed.py", "<returncode>1</returncode>\n<output>\nno open\n</output>")).command


def test_a_change_without_a_path_is_one_of_the_open_file() -> None:
    given = {"search": "int(", "replace": "round("}
    messages = call("edit", given, f"Text replaced.\r\n[File: seed.py (2 lines total)]\r\n1:x\n{STATE}")
    (file,) = fold(messages).files
    assert (file.text, file.life) == ("/w/katy/seed.py", Life.CHANGED)


def test_no_file_is_open_where_the_result_says_so_or_says_nothing() -> None:
    assert open_file("sat\n(Open file: n/a)\n(Current directory: /w)\nbash-$") == ""
    assert open_file("(Open file: a.py) is what it prints") == ""
