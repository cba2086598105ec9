"""What a team shares, searched by the real `ullage mcp`, `ullage lsp` and Neovim: as the command line finds it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support import started_program
from support.agents.panes import HAS_TMUX, panes
from support.command_line import ullage
from support.editors import EDITORS, NEOVIMS, neovim, neovim_environment
from support.lsp_client import LspClient, RpcFailure, start_server
from support.mcp_client import mcp_client, talk
from support.postgres_server import PostgresServer, needs_postgres
from support.team import Member, Team, make_team, said
from ullage.model.message import Role
from ullage.store.team.team_archive import copy_id

pytestmark = needs_postgres
SECRET = "correct-horse-9Zq"
NVIM = neovim(NEOVIMS[-1])


@pytest.fixture
def team(postgres_server: PostgresServer, tmp_path: Path) -> Team:
    """A team in which Anna shares one folder and has another one."""
    team = make_team(postgres_server, tmp_path)
    team.anna.keep(
        "one",
        "/orchard",
        said("m1", "Where do we plant the walnut?"),
        said("m2", f"By the well.\nWALNUT_PASSWORD={SECRET}", Role.ASSISTANT),
        title="Trees",
    )
    team.anna.keep("two", "/cellar", said("m1", "The walnut of the cellar."))
    share = ("team", "share", "/orchard", "--archive", team.anna.archive, "--with", team.boris.role)
    assert ullage(*share, env=team.anna.env).status == 0
    return team


@asynccontextmanager
async def language_server(member: Member, **options: object) -> AsyncGenerator[LspClient]:
    async with start_server(started_program.stand_in("lsp"), env=member.env) as client:
        await client.initialize(options=options)
        yield client


async def open_editor(member: Member, **settings: object) -> None:
    """Opens and closes an editor with these settings."""
    async with language_server(member, **settings) as server:
        # Settings are taken after the answer to `initialize`.
        await server.request("ullage/session/list", {})
        assert await server.shutdown() == 0


async def test_an_agents_search_of_the_team_quotes_what_is_shared_and_says_whose_it_is(
    team: Team, project: Path
) -> None:
    home = Path(team.boris.env["HOME"])
    talk(home, project)
    async with mcp_client(home, project, greet=True, **team.boris.env | {"ULLAGE_TEAM": team.boris.archive}) as client:
        found, failed = await client.call("search", query="where is the walnut planted", scope="team")
        assert not failed
        whose = f"> {team.anna.role} · /orchard · Trees"
        copy = copy_id("one")
        assert f"{whose}\n{copy}#1 user:\n> Where do we plant the walnut?" in found
        assert "cellar" not in found
        assert SECRET not in found
        assert len(found.encode()) <= 4_096
        nothing, failed = await client.call("search", query="zeppelin", scope="team")
        assert ("Nothing in the team's archive matches" in nothing, failed) == (True, False)
        opened, failed = await client.call("open", ref=f"{copy}#1-2")
        assert not failed
        assert (
            f"{whose}\n{copy}#1 user:\n> Where do we plant the walnut?\n\n{copy}#2 assistant:\n> By the well." in opened
        )
        assert SECRET not in opened
        for ref, why in ((f"{copy}#3", "the messages are #1 to #2"), ("t_0#1", "no conversation 't_0'")):
            text, failed = await client.call("open", ref=ref)
            assert (failed, why in text) == (True, True)


async def test_without_an_archive_no_door_searches_a_team(team: Team, project: Path) -> None:
    home = Path(team.boris.env["HOME"])
    talk(home, project)
    async with mcp_client(home, project, greet=True, **team.boris.env) as client:
        text, failed = await client.call("search", query="walnut", scope="team")
        assert (failed, "which team's archive?" in text) == (True, True)
    async with language_server(team.boris) as server:
        with pytest.raises(RpcFailure, match=r"search\.teamArchive"):
            await server.request("ullage/team/search", {"query": "walnut"})


async def test_an_editor_searches_the_archive_of_its_settings_and_follows_their_change(team: Team) -> None:
    async with language_server(team.boris, search={"teamArchive": team.boris.archive}) as server:
        found = await server.request("ullage/team/search", {"query": "walnut well"})
        assert {(hit["owner"], hit["folder"], hit["title"]) for hit in found["hits"]} == {
            (team.anna.role, "/orchard", "Trees")
        }
        assert SECRET not in str(found)
        hit = next(hit for hit in found["hits"] if "By the well." in hit["text"])
        opened = await server.request("ullage/team/open", {"sessionId": hit["sessionId"], "index": hit["index"]})
        assert opened["text"].startswith("By the well.\nWALNUT_PASSWORD=")
        assert (opened["owner"], opened["role"], opened["messages"]) == (team.anna.role, "assistant", 2)
        assert SECRET not in str(opened)
        # What was shared meanwhile is found, by the same server.
        assert ullage("team", "share", "/cellar", "--with", team.boris.role, env=team.anna.env).status == 0
        found = await server.request("ullage/team/search", {"query": "walnut cellar"})
        assert found["hits"][0]["folder"] == "/cellar"
        await server.notify("workspace/didChangeConfiguration", {"settings": {"ullage": {"search": {}}}})
        with pytest.raises(RpcFailure, match="which team's archive"):
            await server.request("ullage/team/search", {"query": "walnut"})


@pytest.mark.slow
@pytest.mark.editor
@pytest.mark.skipif(NVIM is None, reason="Neovim is not installed (scripts/rigs/nvim.sh)")
@pytest.mark.skipif(not HAS_TMUX, reason="tmux is not installed")
async def test_neovim_lists_what_the_team_shares_and_opens_it(team: Team, tmp_path: Path) -> None:
    variables = {**neovim_environment(tmp_path), **team.boris.env, "LC_ALL": "C.UTF-8"}
    with panes(tmp_path) as opened:
        init = EDITORS / "nvim" / "tests" / "init.lua"
        pane = opened.open(
            "nvim", [str(NVIM), "--clean", "-u", str(init)], variables | {"ULLAGE_TEAM": team.boris.archive}, tmp_path
        )
        await pane.type(":Ullage! search walnut")
        await pane.until("found in the team’s archive: walnut")
        screen = await pane.until("Where do we plant the walnut?")
        assert f"{team.anna.role}  /orchard  Trees  #1 user" in screen
        assert SECRET not in screen
        # Below the hit of the question is that of the answer.
        await pane.type("/By the well")
        await pane.type("")
        whole = await pane.until("of 2 messages, q closes")
        assert f"{team.anna.role}  /orchard  Trees  #2 assistant" in whole
        assert SECRET not in whole
        await pane.type("q:qall!")


async def test_what_an_editors_settings_call_private_stays_here_when_the_command_line_sends(team: Team) -> None:
    anna = team.anna
    assert "walnut" in team.everything()
    context = {"privatePatterns": ["(?i)walnut"]}
    await open_editor(anna, context=context, models={"m": {"context": {"privatePatterns": ["well"]}}})
    (sent,) = ullage("team", "send", "--json", env=anna.env).json["folders"]
    assert sent["sent"] == 1
    reached = team.everything()
    assert ("walnut" in reached.lower(), "well" in reached, "do we plant the" in reached) == (False, False, True)
    listed = ullage("team", env=anna.env).out
    assert "call private: (?i)walnut well" in listed
    # An editor that sends its settings without them no longer has any.
    await open_editor(anna, context={})
    assert ullage("team", "send", env=anna.env).status == 0
    assert "walnut" in team.everything()
