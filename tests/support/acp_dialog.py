"""A dialog at the ACP door that is the same every time: the content of `protocol/acp.jsonl`."""

import json
from pathlib import Path
from typing import Any

from support.acp_rig import ALL_CAPABILITIES, AcpRig
from support.lsp_client import RpcFailure
from support.workspace import SMALL_MODEL, CountingIds, FixedClock, OneFile, build_test_workspace, play
from ullage import __version__
from ullage.acp.agent import Agent, AgentHooks
from ullage.acp.announce import Announcer
from ullage.api.methods import METHODS
from ullage.model.settings import Settings, SummarySettings
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Surroundings

DIALOG = Path(__file__).resolve().parents[2] / "protocol" / "acp.jsonl"
_SCRIPT = """
think: The login first.
say: I look.
tool: update_plan {"entries": [{"content": "Read the login", "status": "in_progress", "priority": "high"}]}
tool: read_file {"path": "src/login.py"}
usage: 1200 30
---
when: def login
say: It lacks a check for locked accounts.
usage: 1400 20
---
fail: refused
"""
_ALLOW = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
_LONG = ["Look at src/login.py again, please. " * 40, "I looked at src/login.py: it is fine. " * 40] * 4


async def record_dialog() -> list[str]:
    """Returns the dialog as lines of JSON, each with the sender and the message."""
    rig = AcpRig(scripted_agent())
    await rig.initialize(ALL_CAPABILITIES)
    session_id = await rig.new_session()
    await _ask(rig, session_id)
    await _compact(rig, session_id)
    await _handle(rig, session_id)
    await rig.hang_up()
    return [json.dumps({"from": who, "message": message}, ensure_ascii=False) for who, message in rig.wire]


def scripted_agent() -> Agent:
    """Returns an agent whose model reads a file, answers, and fails at the second prompt."""

    def open_workspace(announcer: Announcer, _: Settings) -> Workspace:
        live = play(_SCRIPT, OneFile("src/login.py", "def login(): ..."))
        workspace = build_test_workspace(FixedClock(), CountingIds(), live=live)
        workspace.bus.listen(announcer)
        return workspace

    hooks = AgentHooks(
        open=open_workspace,
        warm_up=lambda: None,
        check_model=lambda _: None,
        look_around=lambda cwd: Surroundings(platform="Linux", date="2026-11-20", branch="main", folders=(cwd,)),
        settings=Settings(model=SMALL_MODEL, summary=SummarySettings(writer="offline")),
    )
    return Agent(hooks, METHODS, __version__)


async def _ask(rig: AcpRig, session_id: str) -> None:
    rig.answers["session/request_permission"] = lambda _: _ALLOW
    await rig.prompt(session_id, "What does the login lack?")
    await _fail(rig, "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "And now?"}])


async def _compact(rig: AcpRig, session_id: str) -> None:
    await rig.say(session_id, *_LONG)
    for command in ("/context", "/compact the login", "/undo", "/compact"):
        await rig.prompt(session_id, command)


async def _handle(rig: AcpRig, session_id: str) -> None:
    await rig.ask("session/set_config_option", sessionId=session_id, configId="warn_at", value="70")
    await rig.ask("session/load", sessionId=session_id, cwd="/project", mcpServers=[])
    await rig.ask("session/list", cwd="/project")
    await rig.ask("session/close", sessionId=session_id)
    await _fail(rig, "session/resume", sessionId="s_none", cwd="/project")
    await rig.ask("session/set_mode", sessionId=session_id, modeId="ask")
    await _fail(rig, "session/set_mode", sessionId=session_id, modeId="none")


async def _fail(rig: AcpRig, method: str, **params: Any) -> None:
    try:
        await rig.ask(method, **params)
    except RpcFailure:
        return
    raise AssertionError(f"{method} did not fail")
