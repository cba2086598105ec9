"""Qwen Code behind the proxy.

It reports usage and compactions in `_meta` of its updates, and windows in its list of models.
"""

from collections.abc import Mapping
from typing import Any

from ullage.agents.accounts import prompt_and_answer, token_count
from ullage.agents.agent import AcpAgent, Occupancy
from ullage.model.json_values import as_object


def _occupancy(update: Mapping[str, Any]) -> Occupancy | None:
    """Returns the tokens in the agent's context from a session update: those after the agent's own compaction, or else
    those that the usage of a request shows. Returns None if the update has neither."""
    meta = as_object(update.get("_meta"))
    left = token_count(as_object(meta.get("contextCompression")).get("newTokenCount"))
    used = left if left is not None else prompt_and_answer(as_object(meta.get("usage")))
    return None if used is None else Occupancy(used=used)


def _window(model: Mapping[str, Any]) -> int | None:
    limit = as_object(model.get("_meta")).get("contextLimit")
    return limit if isinstance(limit, int) else None


def _compaction_done(update: Mapping[str, Any]) -> bool:
    return as_object(as_object(update.get("_meta")).get("contextCompression")).get("phase") == "done"


ACP = AcpAgent(
    name="qwen-code",
    compact_command="compress",
    offers_command=False,
    occupancy_in_update=_occupancy,
    window_of_model=_window,
    compaction_done=_compaction_done,
)
