"""Config options: the model, the thresholds, automatic compaction."""

from typing import Any

import pytest

from support.acp_rig import ALL_CAPABILITIES, AcpRig, MakeRig
from support.lsp_client import RpcFailure
from ullage.model.settings import ModelSettings, Settings


def option(options: list[dict[str, Any]], config_id: str) -> dict[str, Any]:
    return next(each for each in options if each["id"] == config_id)


async def options_of(rig: AcpRig) -> tuple[str, list[dict[str, Any]]]:
    result = await rig.ask("session/new", cwd="/project", mcpServers=[])
    return result["sessionId"], result["configOptions"]


async def test_a_new_session_has_every_option_with_its_value(rig: AcpRig) -> None:
    await rig.initialize(ALL_CAPABILITIES)
    _, options = await options_of(rig)
    values = {each["id"]: each["currentValue"] for each in options}
    assert values == {
        "mode": "ask",
        "model": "claude-sonnet-4-5",
        "auto_compact": True,
        "warn_at": "80",
        "compact_at": "90",
    }


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
