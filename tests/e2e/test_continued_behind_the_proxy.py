"""A conversation moves from one real agent to another, and back: with the real proxy, and a model of each agent's on
the loopback."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.acp_end import Json
from support.agents.launch import RIG_AGENTS, Known, need
from support.agents.model_server import ModelServer
from support.agents.scenario import Place
from support.systems import needs_linux
from ullage.app.compose import open_workspace

_FIRST, _SECOND = "claude-agent-acp", "codex-acp"
# How the providers refuse, and what the agents make of it.
REFUSALS: dict[str, list[tuple[int, Json, str]]] = {
    "claude-agent-acp": [
        (429, {"type": "error", "error": {"type": "rate_limit_error", "message": "Too much."}}, "429"),
        (529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
        (401, {"type": "error", "error": {"type": "authentication_error", "message": "No."}}, "Authentication"),
    ],
    "codex-acp": [
        (429, {"error": {"type": "usage_limit_reached", "message": "Too much.", "plan_type": "plus"}}, "usage limit"),
        (401, {"error": {"type": "invalid_request_error", "code": "invalid_api_key"}}, "Authentication"),
    ],
}
# Version 2 refuses a prompt by the idle state that ends its turn.
VERSIONS = pytest.mark.parametrize("version", [1, 2])
CASK = "The cask in the corner is called Methuselah."


def installed(name: str) -> Known:
    known = RIG_AGENTS[name]
    need(known)
    return known


@asynccontextmanager
async def both(folder: Path, first: str, second: str, version: int) -> AsyncGenerator[tuple[Place, Place]]:
    """Yields two places with the same command line, which has both agents: one with the first agent's model, and one
    with the second's. Each agent reads only its own variables."""
    known = [installed(name) for name in (first, second)]
    async with ModelServer().serving() as one, ModelServer().serving() as two:
        # Claude Code speaks of summaries in what it sends.
        one.summary_words = two.summary_words = ()
        launches = [agent.launch(folder / "home", model.url) for agent, model in zip(known, (one, two), strict=True)]
        launch = replace(
            launches[0],
            command=(*launches[0].command, "--then", *launches[1].command),
            environment={**launches[0].environment, **launches[1].environment},
        )
        places = [Place(model=model, launch=launch, folder=folder, version=version) for model in (one, two)]
        yield places[0], places[1]


@pytest.mark.slow
@needs_linux
@VERSIONS
@pytest.mark.parametrize(("first", "second"), [(_FIRST, _SECOND), (_SECOND, _FIRST)])
async def test_a_conversation_continues_in_the_other_agent_and_goes_back(
    first: str, second: str, version: int, tmp_path: Path
) -> None:
    async with both(tmp_path, first, second, version) as (place, other):
        async with place.proxy() as end:
            session_id = await end.open({}, str(place.launch.cwd))
            await end.prompt(session_id, CASK)
            shown = await end.prompt(session_id, f"/continue-in {second}")
            there = await other.sent(end, session_id, "And the one beside it?")
            await end.prompt(session_id, "/undo")
            back = await place.sent(end, session_id, "And the third one?")
        with open_workspace(place.store) as workspace:
            session = workspace.open(session_id).transcript
    assert "which gets the whole conversation" in shown
    # The other agent's model is sent the conversation before the prompt, and the first agent's the messages since.
    assert CASK in there
    assert "This is answer" in there[there.index(CASK) :]
    assert CASK in back
    assert "And the one beside it?" in back
    assert [message.text for message in session.view if message.role.value == "user"] == [
        CASK,
        "And the one beside it?",
        "And the third one?",
    ]


@pytest.mark.slow
@needs_linux
@VERSIONS
@pytest.mark.parametrize(
    ("first", "refusal"),
    [
        pytest.param(first, refusal, id=f"{first}-{refusal[0]}", marks=() if refusal[0] == 429 else pytest.mark.long)
        for first, refusals in REFUSALS.items()
        for refusal in refusals
    ],
)
async def test_a_prompt_that_an_agents_provider_refuses_is_answered_by_the_other_agent(
    first: str, refusal: tuple[int, Json, str], version: int, tmp_path: Path
) -> None:
    status, body, reason = refusal
    second = _SECOND if first == _FIRST else _FIRST
    async with both(tmp_path, first, second, version) as (place, other), place.proxy() as end:
        session_id = await end.open({}, str(place.launch.cwd))
        await end.prompt(session_id, CASK)
        place.model.refusal = status, body
        asked = len(other.model.asked)
        told = await end.prompt(session_id, "And the one beside it?")
    # Some agents have the model write a title, too.
    request = max((one for one in other.model.asked[asked:] if "And the one beside it?" in one), key=len)
    assert "refuses: " in told
    assert reason in told
    assert "This is answer" in told
    assert CASK in request
    assert request.count("And the one beside it?") == 1
