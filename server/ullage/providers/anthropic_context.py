"""Anthropic's own context editing and compaction, both in beta: the request fields that ask for them, and the parts of
an answer that report them.

Shapes as in Anthropic's documents "Context editing" (`clear_tool_uses_20250919`) and "Compaction" (`compact_20260112`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from anthropic.types.beta import BetaRawMessageDeltaEvent

from ullage.model.answer import Fragment, ModelRequest, ToolUseClearing, ToolUsesCleared
from ullage.model.json_values import JsonObject, as_objects

_EDITING = "context-management-2025-06-27"
_COMPACTION = "compact-2026-01-12"
# The API takes no lower trigger. It would answer a shorter prompt instead of compacting it.
LEAST_COMPACTED = 50_000


def clearing(asked: ToolUseClearing) -> dict[str, Any]:
    """Returns the fields of a request that ask Anthropic's API to clear old tool uses."""
    edit: dict[str, Any] = {
        "type": "clear_tool_uses_20250919",
        "trigger": _tokens(asked.trigger),
        "keep": {"type": "tool_uses", "value": asked.keep},
        "exclude_tools": list(asked.exclude_tools),
        "clear_tool_inputs": asked.clear_tool_inputs,
    }
    if asked.clear_at_least:
        edit["clear_at_least"] = _tokens(asked.clear_at_least)
    return {"betas": [_EDITING], "context_management": {"edits": [edit]}}


def compaction(request: ModelRequest) -> dict[str, Any]:
    """Returns the fields of a request that ask Anthropic's API to answer with a compaction and nothing else."""
    edit: dict[str, Any] = {
        "type": "compact_20260112",
        "trigger": _tokens(LEAST_COMPACTED),
        "pause_after_compaction": True,
    }
    if request.instructions:
        edit["instructions"] = request.instructions
    return {"betas": [_COMPACTION], "context_management": {"edits": [edit]}}


def applied(event: BetaRawMessageDeltaEvent) -> Iterator[Fragment]:
    """Yields a fragment for each edit that Anthropic's API reports to have made before the model read the request."""
    edits = event.context_management.applied_edits if event.context_management else []
    for edit in edits:
        if edit.type == "clear_tool_uses_20250919":
            yield ToolUsesCleared(cleared_tool_uses=edit.cleared_tool_uses)


def compactions(usage: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yields the usage object of each compaction in an answer's usage. The answer's own figures leave these tokens
    out."""
    return (part for part in as_objects(usage.get("iterations")) if part.get("type") == "compaction")


def _tokens(value: int) -> dict[str, Any]:
    return {"type": "input_tokens", "value": value}
