"""Real agents with a model on the loopback, which calls Ullage's tools: after the agent's own compaction, `search` and
`lost` return what its summary left out. The agent starts the server, and says in its own way which conversation it has.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace

from support.agents.launch import Known, need, prepare_of
from support.agents.model_server import SUMMARY, ModelServer
from support.agents.program import ULLAGE
from support.agents.runs import ONE_SHOTS, SEATED, SUMMARY_WORDS, OneShot
from support.systems import needs_linux
from support.wire.replies import Call, Say

RULE = "Never change src/shop/legacy.py without a migration."
ANOTHER = "Never change src/shop/basket.py without a test."
DECISION = "I decided to keep src/shop/legacy.py, because the importer on port 7431 still reads it."
# What every result begins with, and what `search` adds.
_HISTORY, _MATCHES = "History, not a message to you", "The best matches in this conversation"
# In this model's window, with this setting, Claude Code 2.1 compacts at 167,000 tokens.
_MODEL, _WINDOW, _COMPACTS_AT = "claude-opus-4-6", 200_000, 167_000
# The setting at which Codex compacts.
_LIMIT = 50_000
# Tokens of recent messages that pi keeps: a short prompt and its answer.
_KEPT = 10
# What pi puts the messages between that it asks a summary of, and the words of the others.
_SUMMARY_WORDS = ("<conversation>", *SUMMARY_WORDS)


class Looker(Struct, frozen=True):
    """An agent that gets the server on its command line or in its settings.

    `shot` returns the agent, given the server's command. `loads` is the tool that must be called before one of the
    server's, if there is one; `named` makes the call of a server's tool.
    """

    known: Known
    shot: Callable[[list[str]], OneShot]
    loads: Call | None
    named: Callable[[str, str, str], Call]


def _claude(server: list[str]) -> OneShot:
    config = json.dumps({"mcpServers": {"ullage": {"command": server[0], "args": server[1:]}}})
    words = ("--mcp-config", config, "--allowedTools", "mcp__ullage", "--model", _MODEL, "-p")
    return OneShot(known=_CLAUDE, first=words, again=("-c", *words), figure=lambda _: 0, compacts_at=_COMPACTS_AT)


def _prepare_claude(home: Path, url: str) -> Any:
    variables = prepare_of("claude-agent-acp")(home, url)
    return {**variables, "CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(_WINDOW)}


def _codex(server: list[str]) -> OneShot:
    settings = {
        "mcp_servers.ullage.command": server[0],
        "mcp_servers.ullage.args": server[1:],
        # Codex gives its servers few variables of its own accord.
        "mcp_servers.ullage.env_vars": ["CODEX_HOME"],
        # Otherwise Codex asks its model before a server has started that takes longer than usual.
        "mcp_servers.ullage.required": True,
        "mcp_servers.ullage.startup_timeout_sec": 120,
        "model_auto_compact_token_limit": _LIMIT,
    }
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={json.dumps(value)}")]
    words = ["exec", "--skip-git-repo-check", *words]
    return OneShot(
        known=_CODEX,
        first=tuple(words),
        again=(*words, "resume", "--last"),
        figure=lambda _: 0,
        compacts_at=_LIMIT,
    )


def _pi(server: list[str]) -> OneShot:
    """Returns pi with the server as `ullage wire` adds it, and with so little kept of its newest messages that it
    compacts a short conversation."""

    def prepare(home: Path, url: str) -> Any:
        variables = _PI.known.prepare(home, url)
        servers = {"ullage": {"command": server[0], "args": server[1:], "exposure": "direct"}}
        (home / "pi" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
        (home / "pi" / "settings.json").write_text(json.dumps({"compaction": {"keepRecentTokens": _KEPT}}))
        return variables

    return replace(_PI, known=replace(_PI.known, prepare=prepare))


_PI = next(shot for shot in ONE_SHOTS if shot.known.name == "pi")
_CLAUDE = replace(SEATED[0].known, prepare=_prepare_claude)
_CODEX = SEATED[1].known
_BOTH = "select:mcp__ullage__ullage_search,mcp__ullage__ullage_lost"
LOOKERS = {
    "claude-code": Looker(
        _CLAUDE,
        _claude,
        Call("toolu_load", "ToolSearch", json.dumps({"query": _BOTH})),
        lambda call_id, tool, arguments: Call(call_id, f"mcp__ullage__{tool}", arguments),
    ),
    "codex": Looker(
        _CODEX, _codex, None, lambda call_id, tool, arguments: Call(call_id, tool, arguments, "mcp__ullage")
    ),
    "pi": Looker(
        _PI.known, _pi, None, lambda call_id, tool, arguments: Call(call_id, f"mcp__ullage__{tool}", arguments)
    ),
}


@pytest.fixture(params=["claude-code", "codex", pytest.param("pi", marks=pytest.mark.long)])
def looker(request: pytest.FixtureRequest) -> Looker:
    found = LOOKERS[request.param]
    need(found.known)
    return found


def answers(request: str) -> str:
    """Returns the last messages of a request as the model reads them."""
    body = json.loads(request)
    return json.dumps((body.get("input") or body["messages"])[-2:], ensure_ascii=False).replace("\\n", "\n")


@needs_linux
async def test_the_model_of_a_real_agent_searches_its_own_conversation_of_several_in_the_folder(
    looker: Looker, tmp_path: Path
) -> None:
    model = ModelServer()
    shot = looker.shot([str(ULLAGE), "mcp", "--store", str(tmp_path / "store.db")])
    async with model.serving():
        model.summary_words = _SUMMARY_WORDS
        await shot.ask(tmp_path, model.url, f"Where is the quay? {ANOTHER}", again=False)
        query = json.dumps({"query": "never change without"})
        if looker.loads is not None:
            model.scripted["harbour?"] = looker.loads
        first = "tool_reference" if looker.loads else "harbour?"
        model.scripted[first] = looker.named("call_search", "ullage_search", query)
        await shot.ask(tmp_path, model.url, f"Where is the harbour? {RULE}", again=False)
    assert model.scripted == {}
    found = answers(model.asked[-1])
    # The call itself is in the agent's record by now.
    assert "ullage_search] " not in found
    assert _HISTORY in found
    assert f"\n> Where is the harbour? {RULE}\n" in found
    assert ANOTHER not in found


@pytest.mark.slow
@needs_linux
async def test_after_the_compaction_of_a_real_agent_its_model_finds_what_the_summary_left_out(
    looker: Looker, tmp_path: Path
) -> None:
    model = ModelServer()
    shot = looker.shot([str(ULLAGE), "mcp", "--store", str(tmp_path / "store.db")])
    async with model.serving():
        model.until_summary, model.summary_words = True, _SUMMARY_WORDS
        # Codex' compaction keeps the user's own words.
        model.scripted["every part"] = Say(DECISION)
        await shot.ask(tmp_path, model.url, "Rename the table in every part.", again=False)
        model.inflated = shot.compacts_at
        await shot.ask(tmp_path, model.url, "Which port is it?", again=True)
        if looker.loads is not None:
            model.scripted["harbour?"] = looker.loads
        first = "tool_reference" if looker.loads else "harbour?"
        model.scripted[first] = looker.named(
            "call_search", "ullage_search", json.dumps({"query": "legacy.py importer"})
        )
        model.scripted[_MATCHES] = looker.named("call_lost", "ullage_lost", "{}")
        await shot.ask(tmp_path, model.url, "And the harbour?", again=True)
    assert model.scripted == {}
    searched, lost = map(answers, model.asked[-2:])
    assert SUMMARY in model.asked[-1].replace("\\n", "\n")
    assert _MATCHES in searched
    assert f"\n> {DECISION}\n" in searched
    assert any(line.startswith("> ") and DECISION in line for line in lost.splitlines())
