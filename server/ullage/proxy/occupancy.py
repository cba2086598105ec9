"""How full an agent's context is, by what it says: `usage_update` first, then the counts that known agents give beside
an answer. What neither tells is left to an estimate, which is marked as one.

`PromptResponse.usage` is no occupancy: some agents give the turn's account there, others the session's.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from ullage.model.json_values import as_object, as_objects, as_text


class Occupancy(Struct, frozen=True, kw_only=True):
    """Tokens in context, and the window and the model if they were told, too. What is `summed` is of all requests of a
    turn: the context, if there was one request alone."""

    used: int
    summed: bool = False
    size: int | None = None
    model: str = ""


def from_update(update: Mapping[str, Any]) -> Occupancy | None:
    """What a session update tells of it."""
    if update.get("sessionUpdate") == "usage_update":
        used, size = _tokens(update.get("used")), _tokens(update.get("size"))
        model = as_text(as_object(update.get("_meta")).get("_claude/model"))
        return None if used is None else Occupancy(used=used, size=size or None, model=model)
    # Qwen Code's account of each request, and of what its own compaction left.
    meta = as_object(update.get("_meta"))
    left = _tokens(as_object(meta.get("contextCompression")).get("newTokenCount"))
    return Occupancy(used=left) if left is not None else _account(as_object(meta.get("usage")))


def from_response(result: Mapping[str, Any]) -> Occupancy | None:
    """What the answer to a prompt tells of it: Gemini CLI's quota, which sums up the requests of a turn."""
    quota = as_object(as_object(result.get("_meta")).get("quota"))
    found = _account(as_object(quota.get("token_count")))
    models = as_objects(quota.get("model_usage"))
    if found is None:
        return None
    return Occupancy(used=found.used, model=as_text(models[-1].get("model")) if models else "", summed=True)


def _account(account: Mapping[str, Any]) -> Occupancy | None:
    given = _first(account, "input_tokens", "inputTokens")
    answered = _first(account, "output_tokens", "outputTokens") or 0
    return Occupancy(used=given + answered) if given else None


def _first(account: Mapping[str, Any], *names: str) -> int | None:
    return next((tokens for name in names if (tokens := _tokens(account.get(name))) is not None), None)


def _tokens(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
