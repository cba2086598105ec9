"""A real agent that speaks version 2 of the protocol, with the real proxy and a model on the loopback."""

import json
from pathlib import Path

from support.acp_end import is_ours
from support.acp_schema import faults_in_params, has_schema
from support.agents.launch import RIG_AGENTS, need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.scenario import Place
from support.systems import needs_linux
from ullage.app.compose import open_workspace

# The share of the window that the agent takes for used: enough for a warning.
_FULL = 0.85
AGENT = RIG_AGENTS["codex-acp"]


@needs_linux
async def test_a_conversation_is_recorded_warned_of_and_compacted(tmp_path: Path) -> None:
    need(AGENT)
    async with ModelServer().serving() as model:
        launch = AGENT.launch(tmp_path / "home", model.url)
        place = Place(model=model, launch=launch, folder=tmp_path, version=2)
        async with place.proxy() as end:
            session_id = await place.begin(end)
            model.inflated = int(end.updates("usage_update")[-1]["size"] * _FULL)
            await end.prompt(session_id, "And the one beside it?")
            model.inflated = 0
            await end.prompt(session_id, "/compact")
            request = await place.sent(end, session_id, "Go on with the second cask")
        errors = (tmp_path / "errors").read_text(encoding="utf-8")
    assert any("full" in notice["title"] for notice in end.updates("notice"))
    assert SUMMARY in request
    assert "forwards everything" not in errors
    with open_workspace(tmp_path / "sessions.db") as workspace:
        transcript = workspace.open(session_id).transcript
    assert transcript.compactions == 1
    assert [item.message.text for item in transcript.items][-2:-1] == ["Go on with the second cask"]
    if has_schema():
        told = [json.loads(line) for line in end.lines if is_ours(line) and b'"method"' in line]
        assert [fault for one in told for fault in faults_in_params(one["method"], one["params"], 2)] == []
