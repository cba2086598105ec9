"""For every tool name and input key of the table, all readers agree on what a call read, wrote and ran."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.build import results, uses
from support.conversations import tool_calls
from support.counting import LengthCounter
from support.tables import every
from ullage.agents.calls import touches_of
from ullage.agents.file_reads import file_reads
from ullage.agents.shell import only_looks
from ullage.agents.tools import (
    ACP_KINDS,
    COMMAND_KEYS,
    CONTENT_KEYS,
    EDITOR_COMMANDS,
    FILE_ACTIONS,
    PATH_KEYS,
    PATHS_KEYS,
    TOOLS,
    Action,
    action_of,
    canonical_name,
    plain,
)
from ullage.model.message import FileAction, Message, Role
from ullage.proxy.turn_messages import CallState
from ullage.summary.composition import list_files
from ullage.summary.summary_request import SummaryRequest

PATH = "/repo/src/app.py"
SHOWN = "     1\timport os\n     2\tprint(os.name)"
SNIPPET = f"The file has been updated. Here's the result of running `cat -n` on a snippet of it:\n{SHOWN}"
NAMES = [(name, action) for action, names in TOOLS.items() for name in names]
FILE_TOOLS = [(name, action) for name, action in NAMES if action in FILE_ACTIONS]
KINDS = {action: kind for kind, action in ACP_KINDS.items()}


def spellings(name: str) -> Iterator[str]:
    """Yields a name in the spellings of the agents."""
    words = name.replace(".", "_").split("_")
    pascal = "".join(word.capitalize() for word in words)
    yield from (name, pascal, pascal[0].lower() + pascal[1:], "-".join(words))


def conversation(name: str, given: dict[str, Any], result: str = SHOWN) -> list[Message]:
    return [uses("u", "t", name=name, **given), results("r", "t", text=result)]


def recorded(told: dict[str, Any], result: str = SHOWN) -> list[Message]:
    """Returns the same call as the proxy records it."""
    content = [{"type": "content", "content": {"type": "text", "text": result}}]
    call = CallState(id="t", fields={"toolCallId": "t", "title": "a title", "status": "completed", **told})
    call = call.with_update({"content": content})
    return [
        Message(id="u", role=Role.ASSISTANT, content=(call.use(),)),
        Message(id="r", role=Role.USER, content=(call.result({}),)),
    ]


def every_record(name: str, given: dict[str, Any], result: str = SHOWN) -> Iterator[list[Message]]:
    """Yields a call as read from a transcript, and as the proxy records it by its name and by its kind alone."""
    yield conversation(name, given, result)
    yield recorded({"name": name, "rawInput": given}, result)
    yield recorded({"_meta": {"claudeCode": {"toolName": name}}, "rawInput": given}, result)


def ledger(messages: list[Message]) -> list[tuple[str, FileAction]]:
    request = SummaryRequest(messages=tuple(messages), indices=tuple(range(len(messages))), max_tokens=9_000)
    return [(file.path, file.action) for file in list_files(request, LengthCounter()).files]


def touched(messages: list[Message]) -> list[tuple[str, FileAction]]:
    return [touch for call in tool_calls(messages) for touch in touches_of(call)]


def shown(messages: list[Message]) -> list[tuple[str, bool]]:
    return [(read.path, read.is_input) for read in file_reads(messages)]


def expect_touch(messages: list[Message], action: Action) -> None:
    assert ledger(messages) == touched(messages) == [(PATH, FILE_ACTIONS[action])]


@every("name, action", FILE_TOOLS)
def test_all_readers_agree_on_a_file_tool_whatever_its_spelling(name: str, action: Action) -> None:
    for spelling in (*spellings(name), f"mcp__files__{name}"):
        for messages in every_record(spelling, {"file_path": PATH}):
            expect_touch(messages, action)
            assert shown(messages) == ([(PATH, False)] if action is Action.READ else [])


@every("key", PATH_KEYS)
@every("action", FILE_ACTIONS)
def test_all_readers_know_every_key_of_a_path(action: Action, key: str) -> None:
    for spelling in spellings(key):
        for messages in every_record(canonical_name(action), {spelling: PATH}):
            expect_touch(messages, action)
            assert shown(messages) == ([(PATH, False)] if action is Action.READ else [])


@pytest.mark.parametrize("key", PATHS_KEYS)
def test_all_readers_know_every_key_of_several_paths(key: str) -> None:
    for given in ({key: [PATH]}, {key: [{"path": PATH}]}, {key: [{"file_path": PATH}, "src/**/*.py"]}):
        for messages in every_record("read_files", given):
            expect_touch(messages, Action.READ)
            assert shown(messages) == [(PATH, False)]
    two = conversation("read_files", {key: [PATH, "/repo/b.py"]})
    assert ledger(two) == [(PATH, FileAction.READ), ("/repo/b.py", FileAction.READ)]


@every("key", CONTENT_KEYS)
@every("name", TOOLS[Action.WRITE])
def test_all_readers_agree_on_a_file_that_is_written_whole(name: str, key: str) -> None:
    for messages in every_record(name, {"path": PATH, key: "x = 1"}, result="done"):
        expect_touch(messages, Action.WRITE)
        assert shown(messages) == [(PATH, True)]


@every("name", [*TOOLS[Action.EDIT], *TOOLS[Action.WRITE]])
def test_all_readers_agree_on_an_edit_that_answers_with_a_snippet(name: str) -> None:
    for messages in every_record(name, {"path": PATH}, SNIPPET):
        assert [path for path, _ in ledger(messages)] == [path for path, _ in shown(messages)] == [PATH]


@every("name", [name for name, _ in FILE_TOOLS])
def test_all_readers_agree_on_a_tool_for_several_actions(name: str) -> None:
    wanted = {Action.READ: [(PATH, False)], Action.WRITE: [(PATH, True)]}
    for command, action in EDITOR_COMMANDS.items():
        for messages in every_record(name, {"command": command, "path": PATH, "file_text": "x = 1"}):
            expect_touch(messages, action)
            assert shown(messages) == wanted.get(action, [])


@every("key", COMMAND_KEYS)
@every("name", TOOLS[Action.RUN])
def test_all_readers_agree_on_a_command(name: str, key: str) -> None:
    for line in (f"cat {PATH}", ["bash", "-lc", f"cat {PATH}"] if key != "commands" else [f"cat {PATH}"]):
        for spelling in spellings(name):
            for messages in every_record(spelling, {key: line}):
                expect_touch(messages, Action.READ)
                assert shown(messages) == [(PATH, False)]
                (run,) = tool_calls(messages)
                assert (run.command, only_looks(run.command)) == (f"cat {PATH}", True)


@every("name, action", [(name, action) for name, action in NAMES if action not in FILE_ACTIONS])
def test_no_reader_takes_a_search_for_a_file_that_was_read(name: str, action: Action) -> None:
    for messages in every_record(name, {"path": PATH, "pattern": "x"}):
        assert (ledger(messages), shown(messages)) == ([], [])


@pytest.mark.parametrize("kind", [kind for kind, action in ACP_KINDS.items() if action in FILE_ACTIONS])
def test_the_proxy_reads_a_call_by_its_kind_where_the_tools_name_says_nothing(kind: str) -> None:
    for told in ({}, {"name": "some tool of its own"}):
        messages = recorded({"kind": kind, "rawInput": {"path": PATH}, **told})
        expect_touch(messages, ACP_KINDS[kind])
    located = recorded({"kind": kind, "locations": [{"path": PATH}]})
    expect_touch(located, ACP_KINDS[kind])


@every("name, action", NAMES)
def test_a_name_and_a_kind_of_the_same_action_are_recorded_alike(name: str, action: Action) -> None:
    given = {"command": f"cat {PATH}"} if action is Action.RUN else {"path": PATH}
    if action in KINDS:
        by_name, by_kind = (
            recorded({"name": name, "rawInput": given}),
            recorded({"kind": KINDS[action], "rawInput": given}),
        )
        assert (ledger(by_name), shown(by_name)) == (ledger(by_kind), shown(by_kind))


def test_a_name_and_a_key_stand_in_the_table_once() -> None:
    names = [plain(name) for name, _ in NAMES]
    assert len(names) == len(set(names))
    for keys in (PATH_KEYS, PATHS_KEYS, CONTENT_KEYS, COMMAND_KEYS):
        assert len({plain(key) for key in keys}) == len(keys)
    assert all(action_of(canonical_name(action), {}) is action for action in Action)
