"""Settings from a client: every way to send them, and how faulty ones are handled."""

from typing import Any

import pytest

from support.lsp_rig import Rig
from ullage.api.session_methods import read_settings
from ullage.model.errors import InvalidRequest
from ullage.model.settings import ContextSettings, Settings

SECTION = {"context": {"warnAt": 0.7}}
WANTED = Settings(context=ContextSettings(warn_at=0.7))
PULLS = {"workspace": {"configuration": True}}


async def in_force(rig: Rig) -> Settings:
    """Opens the workspace, which reads the settings at its first use, and returns its settings."""
    await rig.settle()
    await rig.ask("ullage/ping", {})
    return rig.toy.settings[-1]


@pytest.fixture
def rig() -> Rig:
    return Rig()


@pytest.mark.parametrize(
    "options",
    [
        SECTION,
        {"ullage": SECTION},
        {"settings": SECTION},
        {"settings": {"ullage": SECTION}},
        {"client": "nvim", "trace": {"server": "off"}, **SECTION},
        {**SECTION, "models": []},
    ],
)
async def test_initialization_options_are_settings(rig: Rig, options: Any) -> None:
    await rig.initialize(options=options)
    assert await in_force(rig) == WANTED


async def test_options_count_before_initialized_is_sent(rig: Rig) -> None:
    await rig.ask("initialize", {"capabilities": {}, "initializationOptions": SECTION})
    assert await in_force(rig) == WANTED


@pytest.mark.parametrize("options", [None, {}, [], {"settings": None}, {"ullage": {}}, {"client": "vscode"}])
async def test_no_options_are_the_defaults(rig: Rig, options: Any) -> None:
    await rig.initialize(options=options)
    assert await in_force(rig) == Settings()
    assert rig.notified("window/showMessage") == []


@pytest.mark.parametrize(
    ("options", "path"),
    [
        ({"context": {"warnAt": 7}}, "$.context.warnAt"),
        ({"context": {"warnAt": "0.7"}}, "$.context.warnAt"),
        ({"context": {"warmAt": 0.7}}, "$.context.warmAt"),
        ({"contxt": {"warnAt": 0.7, "compactAt": {"x": 1}}}, "$.contxt"),
        ({"providers": {"mine": {}}}, "$.providers.mine"),
        ({"models": {"gpt-4o": {"window": -1}}}, "$.models.gpt-4o.window"),
        ({"providers": {"mine": {"baseUrl": "http://localhost"}}}, "$.providers.mine"),
        ({"context": 5}, "$.context"),
        ("text", "$"),
    ],
)
async def test_a_bad_value_warns_once_and_keeps_the_settings(rig: Rig, options: Any, path: str) -> None:
    await rig.initialize(options=options)
    rig.notify("workspace/didChangeConfiguration", {"settings": {"ullage": options}})
    assert await in_force(rig) == Settings()
    (message,) = rig.notified("window/showMessage")
    assert message["type"] == 2
    begins = "Ullage takes all settings but these, which stay as they were: "
    assert message["message"].startswith(f"{begins}{path} cannot be used (")
    assert message["message"].endswith("Correct it or remove it to get the default.")


async def test_a_bad_value_stays_as_it_was_and_takes_no_other_setting_with_it(rig: Rig) -> None:
    await rig.initialize(options={"context": {"warnAt": 0.6, "compactAt": 0.8}, "models": {"mine": {"window": 9_000}}})
    wrong = {
        "context": {"warnAt": "much", "compactAt": 0.85, "bringBack": 3},
        "models": {"mine": {"window": 7_000, "maxOutput": "all"}, "other": {"window": 5_000}},
        "providers": {"here": {"kind": "scripted"}, "there": {"kind": "telepathy"}},
    }
    rig.notify("workspace/didChangeConfiguration", {"settings": {"ullage": wrong}})
    found = await in_force(rig)
    assert (found.context.warn_at, found.context.compact_at, found.context.bring_back) == (0.6, 0.85, "references")
    assert {name: (model.window, model.max_output) for name, model in found.models.items()} == {
        "mine": (7_000, None),
        "other": (5_000, None),
    }
    assert set(found.providers) == {"here"}
    (message,) = rig.notified("window/showMessage")
    for path in ("context.warnAt", "context.bringBack", "models.mine.maxOutput", "providers.there.kind"):
        assert f"$.{path} cannot be used (" in message["message"]
    assert message["message"].count("cannot be used") == 4


async def test_settings_that_contradict_each_other_are_named_and_the_others_taken(rig: Rig) -> None:
    await rig.initialize(options={"context": {"warnAt": 0.9, "compactAt": 0.5}, "model": "mine"})
    assert (await in_force(rig)).model == "mine"
    (message,) = rig.notified("window/showMessage")
    assert "context.warnAt (0.9) must be at most context.compactAt (0.5)" in message["message"]


async def test_a_changed_setting_reaches_the_open_workspace_before_the_next_request(rig: Rig) -> None:
    await rig.initialize()
    await rig.ask("ullage/ping", {})
    rig.notify("workspace/didChangeConfiguration", {"settings": {"ullage": SECTION}})
    await rig.ask("ullage/ping", {})
    assert rig.toy.settings == [Settings(), WANTED]


async def test_settings_are_asked_for_where_the_client_answers(rig: Rig) -> None:
    rig.answers["workspace/configuration"] = lambda params: [
        SECTION if params["items"][0]["section"] == "ullage" else 0
    ]
    await rig.initialize(PULLS)
    assert await in_force(rig) == WANTED


async def test_a_hint_of_changed_settings_asks_for_them() -> None:
    answers: list[Any] = [None, SECTION]
    rig = Rig()
    rig.answers["workspace/configuration"] = lambda _: [answers.pop(0)]
    await rig.initialize(PULLS)
    assert await in_force(rig) == Settings()
    rig.notify("workspace/didChangeConfiguration", {"settings": None})
    assert await in_force(rig) == WANTED


async def test_a_client_that_refuses_to_answer_keeps_what_it_sent(rig: Rig) -> None:
    await rig.initialize(PULLS, SECTION)
    request = await rig.until(lambda message: message.get("method") == "workspace/configuration")
    rig.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no"}})
    assert await in_force(rig) == WANTED


async def test_changes_are_subscribed_to_where_the_client_wants_it(rig: Rig) -> None:
    rig.answers["client/registerCapability"] = lambda _: None
    await rig.initialize({"workspace": {"didChangeConfiguration": {"dynamicRegistration": True}}})
    (request,) = [message for message in rig.sent if message.get("method") == "client/registerCapability"]
    assert request["params"]["registrations"][0]["method"] == "workspace/didChangeConfiguration"


def test_a_bad_value_is_named_by_its_path() -> None:
    with pytest.raises(InvalidRequest, match=r"\$\.context\.keepToolUses cannot be used \(expected `int` >= 0\)"):
        read_settings({"context": {"keepToolUses": -1}})


# Whether the workspace trusts the projects that it opens, by what the client declares


async def trusts(capabilities: Any, options: Any) -> bool:
    rig = Rig()
    await rig.initialize(capabilities, options)
    return rig.server.workspace().trusts_projects


@pytest.mark.parametrize(
    ("declared", "trusted"),
    [
        ({"folderTrusted": False}, False),
        ({"folderTrusted": "false"}, False),
        ({"folderTrusted": True}, True),
        ({}, True),
    ],
)
async def test_a_client_declares_whether_the_folder_is_trusted_in_either_place(declared: Any, trusted: bool) -> None:
    assert await trusts({"experimental": {"ullage": declared}}, None) is trusted
    assert await trusts(None, {"client": declared}) is trusted


@pytest.mark.parametrize(
    ("capabilities", "options"), [({}, None), ({"experimental": {"ullage": True}}, {"client": "nvim"})]
)
async def test_a_client_that_knows_no_trust_is_trusted(capabilities: Any, options: Any) -> None:
    assert await trusts(capabilities, options)


async def test_later_settings_do_not_make_a_folder_trusted(rig: Rig) -> None:
    await rig.initialize({"experimental": {"ullage": {"folderTrusted": False}}})
    settings = {"ullage": {"client": {"folderTrusted": True}, "context": {"warnAt": 0.7}}}
    rig.notify("workspace/didChangeConfiguration", {"settings": settings})
    await rig.settle()
    assert not rig.server.workspace().trusts_projects
