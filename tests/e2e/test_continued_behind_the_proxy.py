"""Real agents behind the real proxy, with a model of each agent's on the loopback: a conversation moves from one to the
other and back, is recorded in version 2 of the protocol, too, and is searched by Ullage's tools."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.acp_end import Json, is_ours
from support.acp_schema import faults_in_params, has_schema
from support.agents.launch import RIG_AGENTS, Known, need
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.runs import SUMMARY_WORDS
from support.agents.scenario import Place
from support.systems import needs_linux
from support.wire.replies import Call, Say
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


# Words of the model, because some compactions keep those of the user.
NEEDLE = "The corner cask is Methuselah, on port 7431."
# In the request of the proxy for a summary.
_HANDOVER = "decided and why"
_QUERY = json.dumps({"query": "corner Methuselah"})
# What each agent calls first, if it must, and the call of `search`, then its answer that allows a call.
CALLS = {
    "claude-agent-acp": (
        Call("toolu_load", "ToolSearch", json.dumps({"query": "select:mcp__ullage__ullage_search"})),
        Call("toolu_1", "mcp__ullage__ullage_search", _QUERY),
        "allow-once",
    ),
    "codex-acp": (None, Call("call_1", "ullage_search", _QUERY, "mcp__ullage"), "approved"),
}


@pytest.fixture(params=list(CALLS))
def known(request: pytest.FixtureRequest) -> Known:
    found = RIG_AGENTS[request.param]
    need(found)
    return found


@pytest.mark.parametrize("ways", [(), ("--hand-over",)], ids=["its own compaction", "a handover"])
@pytest.mark.slow
@needs_linux
async def test_the_model_finds_what_was_said_before_the_compaction(
    known: Known, ways: tuple[str, ...], tmp_path: Path
) -> None:
    loads, search, allowed = CALLS[known.name]
    async with ModelServer().serving() as model:
        model.summary_words = (*SUMMARY_WORDS, _HANDOVER)
        place = Place(model=model, launch=known.launch(tmp_path / "home", model.url), folder=tmp_path)
        async with place.proxy(*ways) as end:
            end.allows = {"outcome": {"outcome": "selected", "optionId": allowed}}
            # The first message of the conversation.
            model.scripted["in the corner"] = Say(NEEDLE)
            session_id = await place.begin(end)
            await end.prompt(session_id, "/compact")
            assert NEEDLE not in await place.sent(end, session_id, "Go on with the second cask")
            if loads is not None:
                model.scripted["third cask"] = loads
            model.scripted["tool_reference" if loads else "third cask"] = search
            await end.prompt(session_id, "Which one was next to the third cask?")
            assert model.scripted == {}
            answered = model.asked[-1].replace("\\n", "\n")
    assert "The best matches in this conversation" in answered
    assert f"> {NEEDLE}" in answered.splitlines()
