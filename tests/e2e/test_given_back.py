"""The real Claude Code with a model on the loopback, and what `ullage wire` adds: after a compaction, the next
request has what the summary left out, and Ullage's tools."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from support.agents.launch import Launch, prepare_of
from support.agents.model_server import ModelServer
from support.agents.runs import SEATED, SUMMARY_WORDS, OneShot
from support.command_line import ullage
from support.systems import needs_linux
from ullage.lost.brief import HEAD, LONGEST

RULE = "Never change src/shop/legacy.py without a migration."
# With settings of the test's own.
_KNOWN = replace(SEATED[0].known, prepare=prepare_of("claude-agent-acp"))
# In this model's window, with this setting, Claude Code 2.1 compacts at 167,000 tokens.
_MODEL, _WINDOW, _COMPACTS_AT = "claude-opus-4-6", 200_000, 167_000
_ARGUMENTS = ("--model", _MODEL, "-p")
CLAUDE = OneShot(
    known=_KNOWN, first=_ARGUMENTS, again=("-c", *_ARGUMENTS), figure=lambda _: 0, compacts_at=_COMPACTS_AT
)


def settings(home: Path) -> Path:
    return home / "claude" / "settings.json"


def variables(launch: Launch) -> dict[str, str]:
    return {name: launch.environment[name] for name in ("HOME", "CLAUDE_CONFIG_DIR")}


@pytest.mark.long
@needs_linux
async def test_after_a_compaction_and_after_a_resume_the_next_request_has_what_was_left_out(tmp_path: Path) -> None:
    if not _KNOWN.program.exists():
        pytest.skip("Claude Code is not installed; scripts/rigs/agents.sh gets it")
    store, model = tmp_path / "store.db", ModelServer()
    async with model.serving():
        model.until_summary, model.summary_words = True, SUMMARY_WORDS
        launch = _KNOWN.launch(tmp_path, model.url)
        chosen = {"env": {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": str(_WINDOW)}}
        settings(tmp_path).parent.mkdir(exist_ok=True)
        settings(tmp_path).write_text(json.dumps(chosen, indent=2))
        before = settings(tmp_path).read_bytes()
        wired = ullage("wire", "claude-code", "--yes", "--store", store, env=variables(launch))
        assert (wired.status, wired.err) == (0, "")

        async def ask(prompt: str, *, again: bool = True) -> str:
            """Returns the last request that has the prompt."""
            known = len(model.asked)
            await CLAUDE.ask(tmp_path, model.url, prompt, again=again)
            return [request for request in model.asked[known:] if prompt in request][-1]

        await ask(f"Rename the table in every part. {RULE}", again=False)
        model.inflated = _COMPACTS_AT
        assert HEAD[:40] not in await ask("Which port is it?")
        compacted = await ask("And the one beside it?")
        assert f"> #1 {RULE}" in compacted.replace("\\n", "\n").splitlines()
        resumed = await ask("And the third?")
        assert f"> #1 {RULE}" in resumed.replace("\\n", "\n").splitlines()
        assert resumed.count(RULE) == 1
        # A first request does not wait long for the tools.
        assert any("mcp__ullage__search" in request for request in model.asked)
    rows = [json.loads(line) for line in (tmp_path / "store.db.hooks.jsonl").read_text().splitlines()]
    assert rows[0]["outcome"] == "begun"
    # 2.1.316 asks for a summary a second time if it has no tags.
    assert {row["outcome"] for row in rows[1:-2]} == {"kept"}
    assert [(row["event"], row["outcome"]) for row in rows[-2:]] == [
        ("SessionStart compact", "given"),
        ("SessionStart resume", "given"),
    ]
    assert all(row["characters"] <= LONGEST for row in rows)
    told = ullage("doctor", "--json", "--store", store, env=variables(launch)).json
    (hooks,) = [check for check in told["checks"] if check["what"] == "hooks"]
    assert "gave back" in hooks["found"]
    assert ullage("unwire", "--yes", "--store", store, env=variables(launch)).status == 0
    assert settings(tmp_path).read_bytes() == before
    # Claude Code has changed this file since.
    assert "mcpServers" not in json.loads((settings(tmp_path).parent / ".claude.json").read_text())
