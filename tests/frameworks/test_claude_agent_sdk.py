"""The session store and the hook for the Claude Agent SDK, with the real package and its own tests of stores."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agents.model_server import ModelServer
from support.guide_example import run_example
from support.tool_play import new_pool
from ullage.embed.adapters.claude_agent_sdk import ClaudeSessionStore

sdk = pytest.importorskip("claude_agent_sdk")
conformance = pytest.importorskip("claude_agent_sdk.testing")

KEY = {"project_key": "-src-shop", "session_id": "0d9f3b1e-6d1c-4f0b-9a3e-1f2d3c4b5a69"}
RULE = "Never change legacy.py without a migration."


async def test_the_store_passes_the_sdks_own_tests_of_stores() -> None:
    with new_pool() as pool:
        number = 0

        def make() -> Any:
            # Each contract wants an empty store: keys of its own in one store are as good.
            nonlocal number
            number += 1
            return _Apart(ClaudeSessionStore(pool), str(number))

        await conformance.run_session_store_conformance(make)


class _Apart:
    """A store whose keys are apart from all others."""

    def __init__(self, store: ClaudeSessionStore, prefix: str) -> None:
        self._store, self._prefix = store, prefix

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        async def called(first: Any, *args: Any) -> Any:
            if isinstance(first, str):
                return await method(f"{self._prefix}-{first}", *args)
            return await method({**first, "project_key": f"{self._prefix}-{first['project_key']}"}, *args)

        return called


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
BLOCKS = st.lists(
    st.one_of(
        st.builds(lambda text: {"type": "text", "text": text, "citations": None}, st.text()),
        st.builds(
            lambda one, value: {"type": "tool_use", "id": one, "name": "Read", "input": {"a": value}}, st.text(), JSON
        ),
        st.builds(lambda value: {"type": "invented", "value": value}, JSON),
    ),
    max_size=3,
)
ENTRIES = st.lists(
    st.one_of(
        st.builds(
            lambda one, role, content, more: {
                "type": role,
                "uuid": one,
                "message": {"role": role, "content": content, "usage": {"input_tokens": 3, "output_tokens": 1}},
                "more": more,
            },
            st.uuids().map(str),
            st.sampled_from(["user", "assistant"]),
            st.text() | BLOCKS,
            JSON,
        ),
        st.builds(lambda value: {"type": "file-history-snapshot", "snapshot": value}, JSON),
        st.builds(lambda message: {"type": "user", "message": message}, JSON),
    ),
    max_size=5,
)


@settings(deadline=None, max_examples=15)
@given(ENTRIES)
async def test_entries_come_back_equal_and_in_order(entries: list[Any]) -> None:
    with new_pool() as pool:
        store = ClaudeSessionStore(pool)
        await store.append(KEY, entries[:2])
        await store.append(KEY, entries[2:])
        assert (await store.load(KEY) or []) == entries


async def test_recorded_sessions_come_back_equal() -> None:
    folder = os.environ.get("ULLAGE_TRANSCRIPTS")
    files = [path for path in sorted(Path(folder).rglob("*.jsonl")) if _is_claude(path)] if folder else []
    for path in files[:5]:
        entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()[:300] if line.strip()]
        ids = [one["uuid"] for one in entries if "uuid" in one]
        if len(set(ids)) < len(ids):
            # Whoever recorded it has put one word in place of the ids, which makes the entries one.
            continue
        with new_pool() as pool:
            await ClaudeSessionStore(pool).append(KEY, entries)
            assert await ClaudeSessionStore(pool).load(KEY) == entries


def _is_claude(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as lines:
        first = next(lines, "")
    return '"sessionId"' in first and '"uuid"' in first


def entry(number: int, role: str, text: str, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 100 * number, "output_tokens": 5}
    message = {"role": role, "content": [{"type": "text", "text": text}]}
    return {
        "type": role,
        "uuid": f"uuid-{number}",
        "parentUuid": f"uuid-{number - 1}" if number else None,
        "sessionId": KEY["session_id"],
        "timestamp": f"2026-11-01T10:00:{number:02}.000Z",
        "cwd": "/src/shop",
        "version": "2.1.300",
        "isSidechain": False,
        "message": {**message, "model": "claude-sonnet-4-5", "id": f"msg_{number}", "usage": usage}
        if role == "assistant"
        else message,
        **more,
    }


def compacted() -> list[Any]:
    """A session that its agent has compacted, with a summary that lacks the rule."""
    boundary = {
        **entry(4, "system", ""),
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "parentUuid": None,
        "logicalParentUuid": "uuid-3",
        "compactMetadata": {"trigger": "auto", "preTokens": 160_000},
    }
    del boundary["message"]
    summary = entry(5, "user", "This session is being continued. The user works on a shop.", isCompactSummary=True)
    return [
        entry(0, "user", f"{RULE} Then mend the basket."),
        entry(1, "assistant", "I will look at the basket."),
        entry(2, "user", "And the port is 7431."),
        entry(3, "assistant", "Understood."),
        boundary,
        summary,
    ]


async def test_the_hook_gives_back_what_a_compaction_left_out_once() -> None:
    hook_input = {
        "session_id": KEY["session_id"],
        "transcript_path": f"/home/u/.claude/projects/{KEY['project_key']}/{KEY['session_id']}.jsonl",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Go on.",
    }
    with new_pool() as pool:
        store = ClaudeSessionStore(pool)
        options = sdk.ClaudeAgentOptions(session_store=store, hooks=store.hooks())
        (give_back,) = options.hooks["UserPromptSubmit"][0].hooks
        await store.append(KEY, compacted()[:4])
        assert await give_back(hook_input, None, {}) == {}
        await store.append(KEY, compacted()[4:])
        given_back = (await give_back(hook_input, None, {}))["hookSpecificOutput"]["additionalContext"]
        assert RULE in given_back
        assert await give_back(hook_input, None, {}) == {}
        context = await pool.open_async(store.conversation_id(**KEY))
        assert [hit.message_id for hit in await context.search("legacy migration")] == ["uuid-0"]


async def test_a_session_that_is_compacted_again_is_given_back_what_both_left_out_in_any_process(
    tmp_path: Path,
) -> None:
    again = [
        entry(6, "user", "Never publish on a Friday. Then mend the till."),
        entry(7, "assistant", "I will look at the till."),
        {**compacted()[4], "uuid": "uuid-8", "timestamp": "2026-11-01T10:00:08.000Z", "logicalParentUuid": "uuid-7"},
        entry(9, "user", "This session is being continued. The shop has a till.", isCompactSummary=True),
    ]
    hook_input = {
        "session_id": KEY["session_id"],
        "transcript_path": f"/home/u/.claude/projects/{KEY['project_key']}/{KEY['session_id']}.jsonl",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Go on.",
    }
    given: list[str] = []
    for entries in (compacted(), again):
        with new_pool(store=tmp_path / "conversations.db") as pool:
            store = ClaudeSessionStore(pool)
            (give_back,) = sdk.ClaudeAgentOptions(hooks=store.hooks()).hooks["UserPromptSubmit"][0].hooks
            await store.append(KEY, entries)
            given.append((await give_back(hook_input, None, {}))["hookSpecificOutput"]["additionalContext"])
            assert await give_back(hook_input, None, {}) == {}
    assert RULE in given[0]
    assert RULE in given[1]
    assert "Never publish on a Friday." in given[1]


async def test_the_example_of_the_guide_mirrors_the_real_agent_and_it_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    async with ModelServer().serving() as server:
        environment = {
            "HOME": str(tmp_path),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "sk-ant-api03-none",
            "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        names = await run_example("Claude Agent SDK")
        store, message = names["store"], names["message"]
        assert isinstance(message, sdk.ResultMessage)
        assert not message.is_error
        project_key = sdk.project_key_for_directory(project)
        key = {"project_key": project_key, "session_id": message.session_id}
        entries = await store.load(key)
        assert [each["session_id"] for each in await store.list_sessions(project_key)] == [message.session_id]
        assert any("Find the rounding mistake." in json.dumps(entry) for entry in entries)
        # It is resumed from the store alone.
        shutil.rmtree(tmp_path / "claude")
        options = sdk.ClaudeAgentOptions(session_store=store, resume=message.session_id)
        answers = [each async for each in sdk.query(prompt="And now?", options=options)]
        assert not answers[-1].is_error
        assert "Find the rounding mistake." in server.asked[-1]
        assert len(await store.load(key)) > len(entries)
