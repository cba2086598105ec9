"""Where Qwen Code compacts: at 85 % of the window, or 33,000 tokens before its end if that is earlier (read in its
source, version 0.24.4, and measured at 80,000)."""

from ullage.agents.own_context import OwnContext, Rule, Setup

_SHARE, _KEPT = 0.85, 33_000


def _threshold(setup: Setup) -> Rule | None:
    tokens = min(int(setup.window * _SHARE), setup.window - _KEPT)
    return Rule(tokens=tokens, basis="85% of the window, or 33,000 tokens before its end") if tokens > 0 else None


OWN_CONTEXT = OwnContext(threshold=_threshold)
