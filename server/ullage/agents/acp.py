"""What agents behind the proxy say of themselves: how full they are, how they compact, which tool they use.

Each question is put to every agent of the table, whatever name the agent gives itself, because programs made from
another agent keep its habits. The first answer counts.
"""

from collections.abc import Mapping
from typing import Any

from ullage.agents.accounts import token_count
from ullage.agents.agent import Occupancy
from ullage.agents.table import AGENTS
from ullage.model.json_values import as_text

_KNOWN = tuple(agent.acp for agent in AGENTS)
# The slash commands that compact a context, in the table's order.
COMPACT_COMMANDS = tuple(dict.fromkeys(known.compact_command for known in _KNOWN if known.compact_command))
_NOT_OFFERED = {known.name: known.compact_command for known in _KNOWN if known.name and not known.offers_command}


def occupancy_of_update(update: Mapping[str, Any]) -> Occupancy | None:
    """How full the context is by a session update: ACP's `usage_update`, or what a known agent adds to others."""
    if update.get("sessionUpdate") == "usage_update":
        used, size = token_count(update.get("used")), token_count(update.get("size"))
        model = next((name for known in _KNOWN if (name := known.model_in_usage(update))), "")
        return None if used is None else Occupancy(used=used, size=size or None, model=model)
    return next((found for known in _KNOWN if (found := known.occupancy_in_update(update))), None)


def occupancy_of_answer(result: Mapping[str, Any]) -> Occupancy | None:
    """How full the context is by the answer to a prompt.

    `PromptResponse.usage` is not read: some agents report the turn there, others the session.
    """
    return next((found for known in _KNOWN if (found := known.occupancy_in_answer(result))), None)


def window_of_model(model: Mapping[str, Any]) -> int | None:
    """The window, in tokens, of a model that an agent lists. Returns None if it isn't given."""
    return next((size for known in _KNOWN if (size := known.window_of_model(model)) is not None), None)


def compaction_done(update: Mapping[str, Any]) -> bool:
    """Whether a session update says, outside the protocol, that the agent has compacted its context."""
    return any(known.compaction_done(update) for known in _KNOWN)


def unlisted_compact_command(agent_name: str) -> str | None:
    """The compacting command of an agent that doesn't list it. Returns None for an agent without one."""
    return _NOT_OFFERED.get(agent_name)


def tool_name(call: Mapping[str, Any]) -> str:
    """The name that an agent's own tool has in a tool call; empty if the call doesn't give it."""
    return as_text(call.get("name")) or next((name for known in _KNOWN if (name := known.tool_in_call(call))), "")
