"""What a user chooses in a session without a model: slash commands, and config options."""

from typing import Any

import pytest

from support.acp_rig import ALL_CAPABILITIES, AcpRig, MakeRig
from support.lsp_client import RpcFailure
from ullage.api.context_methods import find_command
from ullage.model.settings import ModelSettings, Settings

TALK = ["Fix the login page in src/login.py " + "please " * 300, "I changed src/login.py. " * 150] * 6


@pytest.fixture
async def session_id(rig: AcpRig) -> str:
    await rig.initialize()
    session_id = await rig.new_session()
    await rig.say(session_id, *TALK)
    rig.sent.clear()
    return session_id


def named(text: Any) -> tuple[str, str] | None:
    found = find_command([{"type": "text", "text": text}])
    return (found.command.name, found.argument) if found else None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/context", ("context", "")),
        ("  /context \n", ("context", "")),
        ("/compact the login page", ("compact", "the login page")),
        ("/compact\nline one\nline two", ("compact", "line one\nline two")),
        ("/compacted", None),
        ("/context/x", None),
        ("compact", None),
        ("see /context", None),
        ("/unknown x", None),
        ("/", None),
        (7, None),
    ],
)
def test_a_command_is_a_known_name_after_a_slash_at_the_very_beginning(text: Any, expected: Any) -> None:
    assert named(text) == expected


def test_a_prompt_that_does_not_begin_with_text_is_no_command() -> None:
    assert find_command([]) is None
    assert find_command([{"type": "resource_link", "uri": "x", "name": "/context"}]) is None


async def test_every_command_is_offered_and_known(rig: AcpRig) -> None:
    await rig.initialize()
    session_id = await rig.new_session()
    offered = (await rig.update(session_id, "available_commands_update"))["availableCommands"]
    names = [command["name"] for command in offered]
    assert names == ["context", "compact", "undo", "memory", "recall"]
    assert all(named(f"/{name}") == (name, "") for name in names)


async def test_compact_makes_room_and_undo_takes_it_back(rig: AcpRig, session_id: str) -> None:
    before = (await rig.ask("_ullage/context/get", sessionId=session_id))["used"]
    assert await rig.prompt(session_id, "/compact src/login.py") == {"stopReason": "end_turn"}
    assert rig.text().startswith("Compacted ")
    assert rig.updates("usage_update")[-1]["used"] < before
    rig.sent.clear()
    await rig.prompt(session_id, "/undo")
    assert rig.text().startswith("Undone: ")
    assert rig.updates("usage_update")[-1]["used"] == before


async def test_what_cannot_be_done_is_said_where_an_answer_would_stand(rig: AcpRig) -> None:
    await rig.initialize()
    session_id = await rig.new_session()
    assert await rig.prompt(session_id, "/compact") == {"stopReason": "end_turn"}
    assert "Nothing to compact" in rig.text()
    rig.sent.clear()
    assert await rig.prompt(session_id, "/undo") == {"stopReason": "end_turn"}
    assert rig.text() != ""


async def test_recall_finds_archived_words_and_reads_a_message_by_its_id(rig: AcpRig, session_id: str) -> None:
    await rig.prompt(session_id, "/compact")
    rig.sent.clear()
    await rig.prompt(session_id, "/recall src/login.py")
    assert "login" in rig.text()
    assert "archived" in rig.text()
    entries = (await rig.ask("_ullage/context/messages", sessionId=session_id, scope="transcript", limit=1))["entries"]
    rig.sent.clear()
    await rig.prompt(session_id, f"/recall {entries[0]['message']['id']}")
    assert "Page 1 of 1." in rig.text()
    rig.sent.clear()
    await rig.prompt(session_id, "/recall")
    assert "Say what to look for" in rig.text()


async def test_memory_shows_what_is_kept(rig: AcpRig, session_id: str) -> None:
    await rig.prompt(session_id, "/memory")
    assert "/memories" in rig.text()
    rig.sent.clear()
    await rig.prompt(session_id, "/memory /memories/nothing.md")
    assert "nothing.md" in rig.text()


async def test_commands_leave_the_transcript_as_it_is(rig: AcpRig, session_id: str) -> None:
    for command in ("/context", "/memory", "/recall login"):
        await rig.prompt(session_id, command)
    assert (await rig.ask("_ullage/context/messages", sessionId=session_id))["total"] == len(TALK)


async def test_a_slash_that_is_no_command_of_ours_is_for_the_model(rig: AcpRig, session_id: str) -> None:
    with pytest.raises(RpcFailure) as failure:
        await rig.prompt(session_id, "/init")
    assert failure.value.data == {"kind": "NoModelConfigured"}


def option(options: list[dict[str, Any]], config_id: str) -> dict[str, Any]:
    return next(each for each in options if each["id"] == config_id)


async def options_of(rig: AcpRig) -> tuple[str, list[dict[str, Any]]]:
    result = await rig.ask("session/new", cwd="/project", mcpServers=[])
    return result["sessionId"], result["configOptions"]


async def test_a_client_without_switches_gets_a_choice_of_two(rig: AcpRig) -> None:
    await rig.initialize()
    session_id, options = await options_of(rig)
    assert (option(options, "auto_compact")["type"], option(options, "auto_compact")["currentValue"]) == (
        "select",
        "on",
    )
    changed = await rig.ask("session/set_config_option", sessionId=session_id, configId="auto_compact", value="off")
    assert option(changed["configOptions"], "auto_compact")["currentValue"] == "off"


async def test_switching_compaction_off_is_a_setting_of_the_session(rig: AcpRig) -> None:
    await rig.initialize(ALL_CAPABILITIES)
    session_id, _ = await options_of(rig)
    await rig.ask(
        "session/set_config_option", sessionId=session_id, configId="auto_compact", type="boolean", value=False
    )
    got = await rig.ask("_ullage/context/get", sessionId=session_id)
    assert got["_meta"]["ullage"]["level"] == "off"


async def test_thresholds_change_one_by_one_and_the_figures_follow(rig: AcpRig) -> None:
    await rig.initialize()
    session_id, _ = await options_of(rig)
    await rig.ask("session/set_config_option", sessionId=session_id, configId="warn_at", value="60")
    rig.sent.clear()
    changed = await rig.ask("session/set_config_option", sessionId=session_id, configId="compact_at", value="75")
    assert option(changed["configOptions"], "warn_at")["currentValue"] == "60"
    told = (await rig.update(session_id, "usage_update"))["_meta"]["ullage"]
    assert (told["warnAt"], told["compactAt"]) == (108_000, 135_000)


async def test_a_threshold_that_settings_gave_is_offered_too(make_rig: MakeRig) -> None:
    rig = make_rig(Settings())
    await rig.initialize(settings={"context": {"warnAt": 0.725}})
    _, options = await options_of(rig)
    assert option(options, "warn_at")["currentValue"] == "72.5"
    assert "72.5" in [choice["value"] for choice in option(options, "warn_at")["options"]]
    assert rig.faults == []


async def test_another_model_is_another_window(make_rig: MakeRig) -> None:
    rig = make_rig(Settings(model="gpt-4o", models={"small": ModelSettings(window=10_000)}))
    await rig.initialize()
    session_id, options = await options_of(rig)
    assert [choice["value"] for choice in option(options, "model")["options"]] == ["gpt-4o", "small"]
    rig.sent.clear()
    await rig.ask("session/set_config_option", sessionId=session_id, configId="model", value="small")
    assert (await rig.update(session_id, "usage_update"))["size"] == 10_000
    assert rig.faults == []


async def test_without_any_model_there_is_none_to_choose(make_rig: MakeRig) -> None:
    rig = make_rig(Settings())
    await rig.initialize()
    _, options = await options_of(rig)
    assert "model" not in [each["id"] for each in options]


@pytest.mark.parametrize(
    ("config_id", "value"),
    [("warn_at", "81"), ("warn_at", True), ("model", "gpt-9"), ("auto_compact", "maybe"), ("colour", "red")],
)
async def test_what_was_not_offered_is_refused(rig: AcpRig, config_id: str, value: Any) -> None:
    await rig.initialize()
    session_id, _ = await options_of(rig)
    with pytest.raises(RpcFailure) as failure:
        await rig.ask("session/set_config_option", sessionId=session_id, configId=config_id, value=value)
    assert failure.value.code == -32602
