"""The tools as a client lists them and as a model calls them."""

import json
from typing import Any

import pytest
from msgspec import to_builtins

from ullage.jsonrpc.envelope import RpcError
from ullage.mcp.looking_up import Asked, call_tool
from ullage.mcp.tool_table import TOOLS, CallToolParams, LostInput, listed_tools

LOST = next(tool for tool in TOOLS if tool.name == "lost")


@pytest.mark.parametrize("has_team", [True, False])
def test_a_schema_has_neither_a_choice_of_types_nor_the_name_of_a_struct(has_team: bool) -> None:
    for tool in listed_tools(has_team=has_team):
        schema = json.dumps(to_builtins(tool.input_schema))
        assert "anyOf" not in schema
        assert '"title"' not in schema
        assert '"null"' not in schema


def test_the_scope_of_a_team_is_listed_only_where_there_is_a_team() -> None:
    for has_team in (True, False):
        search = next(tool for tool in listed_tools(has_team=has_team) if tool.name == "ullage_search")
        scope = search.input_schema["properties"]["scope"]
        assert ("team" in scope["enum"], "team" in scope["description"]) == (has_team, has_team)


@pytest.mark.parametrize(
    ("given", "kind"),
    [({"kind": "problems"}, "problem"), ({"kind": "words"}, "words"), ({"kind": None}, None), ({}, None)],
)
def test_a_kind_may_be_written_in_the_plural_and_may_be_left_out(given: dict[str, str | None], kind: Any) -> None:
    assert LOST.read(given) == LostInput(kind=kind)


async def test_a_word_that_is_none_is_answered_with_the_words_that_there_are() -> None:
    async def never() -> Asked:
        raise AssertionError

    result = await call_tool(CallToolParams(name="lost", arguments={"kind": "errors"}), never)
    assert result.is_error
    assert "check, commit, earlier, file, job, problem, said, task, words" in result.content[0].text


@pytest.mark.parametrize("name", ["lost", "ullage_lost"])
async def test_a_tool_is_called_by_its_listed_name_or_without_our_prefix(name: str) -> None:
    async def never() -> Asked:
        raise AssertionError

    result = await call_tool(CallToolParams(name=name, arguments={"kind": "errors"}), never)
    assert "lost: Invalid enum value" in result.content[0].text


async def test_an_unknown_tool_is_answered_with_the_names_as_they_are_listed() -> None:
    async def never() -> Asked:
        raise AssertionError

    with pytest.raises(RpcError, match="ullage_search, ullage_open, ullage_context, ullage_lost"):
        await call_tool(CallToolParams(name="find"), never)
