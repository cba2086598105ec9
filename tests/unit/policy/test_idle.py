"""When an agent compacts because a conversation idles: said only if all that it takes is there."""

from typing import Any

import pytest

from support.build import assistant, user
from ullage.agents.own_context import Given, Setup, Texts
from ullage.agents.table import AGENTS
from ullage.model.events import UsageReported
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.model.usage import IdleCompaction, Usage
from ullage.policy.prompt_cache import CachedPrompt, idle_compaction

(CLAUDE,) = (agent for agent in AGENTS if agent.name == "Claude Code")
AT, MINUTE = 1_763_805_600_000, 60_000
ANSWER = assistant("a1", "Done.")
CALL = Message(id="a1", role=Role.ASSISTANT, content=(ToolUseBlock(id="t1", name="Read", input={}),))
HOUR = Usage(cache_creation_input_tokens=9, cache_creation_1h_input_tokens=9)
FIVE_MINUTES = Usage(cache_creation_input_tokens=9)
READ_ONLY = Usage(cache_read_input_tokens=9)


def announced(
    *usages: Usage,
    used: int = 240_000,
    last: Message | None = ANSWER,
    at: int | None = AT,
    version: str = "2.1.332",
    started_by: str = "cli",
    files: tuple[dict[str, Any], ...] = (),
    **variables: str,
) -> IdleCompaction | None:
    cached = CachedPrompt()
    for usage in usages:
        cached = cached.after(UsageReported(usage=usage, message_id="a1"), AT)
    assert CLAUDE.own_settings is not None
    given: Given = CLAUDE.own_settings.given(Texts(files=files, variables=variables))
    rule = CLAUDE.own_context.idle(Setup(version=version, window=1_000_000, given=given, started_by=started_by))
    return idle_compaction(rule, cached, used, at, last)


def test_a_conversation_that_idles_is_compacted_54_minutes_after_its_last_answer() -> None:
    assert announced(HOUR) == IdleCompaction(at=AT + 54 * MINUTE, setting='"idleCompaction": false')
    # A request that wrote nothing to the cache leaves it as it was.
    assert announced(HOUR, READ_ONLY) is not None
    assert announced(FIVE_MINUTES, HOUR) is not None
    assert announced(HOUR, started_by="claude-vscode") is not None
    assert announced(HOUR, started_by="") is not None


MISSING: list[tuple[list[Usage], dict[str, Any]]] = [
    ([FIVE_MINUTES], {}),
    ([HOUR, FIVE_MINUTES], {}),
    ([READ_ONLY], {}),
    ([HOUR], {"used": 199_999}),
    ([HOUR], {"last": user("u2", "Go on.")}),
    ([HOUR], {"last": CALL}),
    ([HOUR], {"last": None}),
    ([HOUR], {"at": None}),
    ([HOUR], {"version": "2.1.285"}),
    ([HOUR], {"started_by": "sdk-ts"}),
    ([HOUR], {"started_by": "sdk-cli"}),
    ([HOUR], {"files": ({}, {"idleCompaction": False})}),
    ([HOUR], {"files": ({}, {"autoCompactEnabled": False})}),
    ([HOUR], {"DISABLE_AUTO_COMPACT": "1"}),
    ([HOUR], {"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "300000"}),
    ([HOUR], {"used": 90_000, "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "50000"}),
]


@pytest.mark.parametrize(("usages", "facts"), MISSING)
def test_nothing_is_announced_if_something_is_missing(usages: list[Usage], facts: dict[str, Any]) -> None:
    assert announced(*usages, **facts) is None


def test_the_least_size_is_that_of_the_users_variable() -> None:
    assert announced(HOUR, used=110_000, CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS="100000") is not None
