"""Real agents behind the real proxy, with a model on the loopback: the proxy offers them Ullage's tools, and a call of
`search` returns messages from before a compaction."""

import json
from pathlib import Path

import pytest

from support.agents.launch import RIG_AGENTS, Known, need
from support.agents.model_server import ModelServer
from support.agents.runs import SUMMARY_WORDS
from support.agents.scenario import Place
from support.systems import needs_linux
from support.wire.replies import Call, Say

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
