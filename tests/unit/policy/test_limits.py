"""Limits of the user's own: which one counts, and when a conversation has passed it."""

import pytest

from ullage.model.settings import Limit
from ullage.model.usage import RemarkKind
from ullage.policy.budget import passed

TOKENS = "It has passed your own limit of {:,} tokens."


def said(
    *limits: Limit, agent: str = "Claude Code", cwd: str = "/home/ada/app", used: int = 0, cost: float | None = 0
) -> list[str]:
    remarks = passed(limits, agent, cwd, used, cost)
    assert all(remark.kind is RemarkKind.LIMIT for remark in remarks)
    return [remark.text for remark in remarks]


def test_a_limit_is_passed_once_its_tokens_are_reached() -> None:
    limit = Limit(tokens=300_000)
    assert said(limit, used=299_999) == []
    assert said(limit, used=300_000) == [TOKENS.format(300_000)]
    assert said(used=10**9) == []


def test_a_limit_of_money_counts_what_the_conversation_has_cost() -> None:
    limit = Limit(cost=5)
    assert said(limit, cost=4.99) == []
    assert said(limit, cost=5) == ["It has cost more than your own limit of $5.00."]
    # Without a price nothing is said of it.
    assert said(limit, cost=None) == []
    assert len(said(Limit(cost=5, tokens=10), used=10, cost=6)) == 2


@pytest.mark.parametrize(
    ("agent", "cwd", "expected"),
    [
        ("Claude Code", "/home/ada/app", 300_000),
        ("Codex", "/home/ada/app", 200_000),
        ("Codex", "/home/ada/big", 600_000),
        ("Codex", "/home/ada/big/web", 600_000),
        ("Claude Code", "/home/ada/bigger", 300_000),
        ("", "", 300_000),
    ],
)
def test_the_innermost_folder_counts_and_then_the_agent(agent: str, cwd: str, expected: int) -> None:
    limits = (
        Limit(folder="/home/ada/big/", tokens=600_000),
        Limit(agent="codex", tokens=200_000),
        Limit(tokens=300_000),
    )
    assert said(*limits, agent=agent, cwd=cwd, used=10**6) == [TOKENS.format(expected)]


def test_an_agent_is_named_by_its_name_or_its_word() -> None:
    for name in ("Claude Code", "claude-code", "CLAUDE-CODE"):
        assert said(Limit(agent=name, tokens=1), used=1) == [TOKENS.format(1)]
    assert said(Limit(agent="claude", tokens=1), used=1) == []


def test_a_folder_of_windows_is_written_with_either_slash() -> None:
    for folder in ("C:\\work\\app", "C:/work/app/"):
        assert said(Limit(folder=folder, tokens=1), cwd="C:\\work\\app\\web", used=1) == [TOKENS.format(1)]


def test_a_limit_without_a_kind_leaves_the_wider_one_in_force() -> None:
    assert said(Limit(tokens=9), Limit(folder="/home/ada/app", cost=5), used=9, cost=1) == [TOKENS.format(9)]
