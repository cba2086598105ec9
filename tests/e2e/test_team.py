"""A team's archive with two roles of a real server: what one shares by the command line, the other finds, redacted."""

from pathlib import Path

import pytest

from support.command_line import ullage
from support.corpus import cases, leaks, line_of
from support.logs import conversation
from support.panes import wait_until
from support.postgres_server import PostgresServer, needs_postgres
from support.team import Team, make_team, said
from ullage.model.events import MessageAppended, Record
from ullage.model.message import Message, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.store import open_store
from ullage.store.postgres.postgres_store import open_postgres
from ullage.store.team.team_archive import Sharing, copy_id, send_folder

pytestmark = needs_postgres


@pytest.fixture
def team(postgres_server: PostgresServer, tmp_path: Path) -> Team:
    return make_team(postgres_server, tmp_path)


def test_who_shares_before_anything_is_kept_is_told_how_conversations_come_into_the_store(team: Team) -> None:
    shared = ullage("team", "share", "--archive", team.boris.archive, "--with", team.anna.role, env=team.boris.env)
    assert (shared.status, "`ullage search WORDS` reads agents' conversations" in shared.err) == (2, True)


def test_what_one_shares_of_a_folder_the_other_finds_with_whose_it_is_until_it_is_unshared(team: Team) -> None:
    anna, boris = team.anna, team.boris
    anna.keep("one", "/orchard", said("m1", "Where do we plant the walnut?"), title="Trees")
    anna.keep("two", "/orchard/deep", said("m1", "The walnut needs water."))
    anna.keep("three", "/orchard-private", said("m1", "The walnut is a secret."))
    search = ("search", "walnut", "--team", "--archive", boris.archive, "--json")
    assert ullage("team", env=anna.env).out.startswith("Nothing is shared.")
    assert ullage(*search, env=boris.env).json["hits"] == []
    share = ("team", "share", "/orchard", "--archive", anna.archive, "--json")
    assert "--with ROLE" in ullage(*share, env=anna.env).err
    (shared,) = ullage(*share, "--with", boris.role, env=anna.env).json["folders"]
    assert (shared["sessions"], shared["sent"]) == (2, 2)
    hits = ullage(*search, env=boris.env).json["hits"]
    assert sorted((hit["owner"], hit["folder"], hit["title"]) for hit in hits) == [
        (anna.role, "/orchard", "Trees"),
        (anna.role, "/orchard/deep", ""),
    ]
    drawn = ullage("search", "walnut", "--team", env=boris.env | {"ULLAGE_TEAM": boris.archive}).out
    assert f"{anna.role}  /orchard  Trees" in drawn
    # Only what is new is sent, and what is gone is removed.
    with open_store(anna.store) as store:
        store.append(
            "one", [Record(position=2, timestamp=2, event=MessageAppended(message=said("m2", "By the well.")))]
        )
        store.delete("two")
    (sent,) = ullage("team", "send", "--json", env=anna.env).json["folders"]
    assert (sent["sessions"], sent["sent"], sent["removed"]) == (1, 1, 1)
    (again,) = ullage("team", "send", "--json", env=anna.env).json["folders"]
    assert (again["sent"], again["removed"]) == (0, 0)
    # The other one's own store has nothing of it, and the other one can't take it away.
    assert ullage("search", "walnut", "--json", env=boris.env).json["hits"] == []
    with open_postgres(boris.archive) as own:
        assert own.list() == ()
    assert f"/orchard: shared with {boris.role}" in ullage("team", env=anna.env).out
    (removed,) = ullage("team", "unshare", "/orchard", "--json", env=anna.env).json["folders"]
    assert removed["removed"] == 1
    assert ullage(*search, env=boris.env).json["hits"] == []
    assert "walnut" not in team.everything()
    assert ullage("team", env=anna.env).out.startswith("Nothing is shared.")


def test_a_store_is_not_its_own_archive_by_whatever_address(team: Team) -> None:
    anna = team.anna
    with open_postgres(anna.archive) as store:
        store.create("one", conversation("Where do we plant the walnut?", cwd="/orchard"))
        # As if it had been empty when it was chosen.
        sharing = Sharing(folder="/orchard", members=(team.boris.role,))
        for _ in range(2):
            assert send_folder(store, store, sharing, lambda _, __: None).sessions == 1
    for address in (anna.archive, f"{anna.archive}&connect_timeout=9"):
        share = ("team", "share", "/orchard", "--archive", address, "--with", team.boris.role)
        assert "the archive is the store itself" in ullage(*share, "--store", anna.archive, env=anna.env).err
    assert ullage("team", env=anna.env).out.startswith("Nothing is shared.")


def test_a_message_that_was_found_is_opened_whole_by_members_alone_and_until_it_is_unshared(team: Team) -> None:
    anna, boris = team.anna, team.boris
    long = "\n".join(["By the well.", *(f"Row {number} of the plan." for number in range(400))])
    anna.keep(
        "one", "/orchard", said("m1", "Where does the walnut go?"), said("m2", long, Role.ASSISTANT), title="Trees"
    )
    share = ("team", "share", "/orchard", "--archive", anna.archive)
    assert ullage(*share, "--with", boris.role, env=anna.env).status == 0
    env = boris.env | {"ULLAGE_TEAM": boris.archive}
    found = ullage("search", "walnut", "--team", env=env).out
    assert f"ullage search --team --conversation {copy_id('one')} --show 1" in found
    opened = ("search", "--team", "--conversation", copy_id("one")[:10], "--show", "2")
    message = ullage(*opened, "--json", env=env).json
    assert (message["owner"], message["number"], message["role"], message["messages"]) == (anna.role, 2, "assistant", 2)
    assert message["text"] == long
    drawn = ullage(*opened, env=env).out
    assert f"{anna.role}  /orchard  Trees\n#2 of 2, assistant\nBy the well." in drawn
    assert "Row 399 of the plan." in drawn
    assert "together" in ullage("search", "walnut", "--team", "--conversation", copy_id("one"), env=env).err
    for number, why in (("3", "the messages are #1 to #2"), ("m2", "by its number")):
        assert why in ullage(*opened[:-1], number, env=env).err
    # One who is no member any more, or after the end of the sharing.
    assert ullage(*share, "--with", "pg_monitor", env=anna.env).status == 0
    assert "no conversation" in ullage(*opened, env=env).err
    own = ullage(*opened, env=anna.env)
    assert (own.status, "By the well." in own.out) == (0, True)
    assert ullage("team", "unshare", "/orchard", env=anna.env).status == 0
    assert "no conversation" in ullage(*opened, env=anna.env).err


def test_a_members_search_asks_of_no_record_by_itself_whether_it_is_shared(team: Team) -> None:
    with open_postgres(team.anna.archive) as archive:
        for number in range(20):
            texts = (f"The walnut {number} and the {word}." for word in ("well", *("fence",) * 99))
            archive.create(f"t_{number}", conversation(*texts))
            archive.share(f"t_{number}", "w")
        archive.set_members("w", [team.boris.role])
        while archive.index_some():
            pass
    before = team.function_calls(team.boris.role)
    with open_postgres(team.boris.archive, is_team=True) as archive:
        assert len(archive.find_passages("well", limit=10)) == 10
    wait_until(lambda: team.function_calls(team.boris.role) > before)
    assert team.function_calls(team.boris.role) - before < 50


def test_no_secret_and_no_private_text_reaches_the_archive_and_the_own_store_keeps_them(team: Team) -> None:
    anna = team.anna
    planted = cases("secrets.json")
    lines = [line_of(case) for case in planted]
    messages = [
        said("system", "\n".join(lines), Role.SYSTEM),
        *(said(f"m{at}", f"orchard\n{line}") for at, line in enumerate(lines)),
        *(
            Message(
                id=f"t{at}",
                role=Role.ASSISTANT,
                content=(ToolUseBlock(id=f"u{at}", name="Bash", input={"data": line, "in": [{"id": line}]}),),
            )
            for at, line in enumerate(lines)
        ),
        *(
            Message(
                id=f"r{at}",
                role=Role.USER,
                content=(ToolResultBlock(tool_use_id=f"u{at}", content=(TextBlock(text=f"{line}\nProject Quince"),)),),
            )
            for at, line in enumerate(lines)
        ),
    ]
    folder = "/orchard/Project Quince"
    anna.keep("one", folder, *messages, title=f"Project Quince {lines[0]}")
    share = ("team", "share", folder, "--archive", anna.archive, "--with", team.boris.role)
    assert ullage(*share, "--private", "(?i)project quince", env=anna.env).status == 0
    reached = team.everything()
    assert "orchard" in reached
    assert [case["kind"] for case in planted if leaks(case, reached)] == []
    assert "uince" not in reached
    with open_store(anna.store) as store:
        assert store.read_messages("one", 1, 2)[0].event == MessageAppended(message=messages[1])
    assert ullage("search", "quince", "--json", env=anna.env).json["hits"] != []
