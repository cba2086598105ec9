"""Reads what agents behind the proxy add to the Agent Client Protocol (ACP): context sizes, compactions, tool names.

Every function asks all agents of the table in order and returns the first answer. The agent's own name is not used,
because programs derived from another agent keep its additions under a name of their own.
"""

import re
from collections.abc import Mapping
from typing import Any

from ullage.agents.agent import Occupancy, token_count
from ullage.agents.table import AGENTS
from ullage.model.json_values import as_object, as_text, encode_json

# ACP's error code for a missing login.
_LOGIN_REQUIRED = -32000
# Words of providers and agents for a limit of use (HTTP 429), an overload (503, 529), or a missing or wrong key (401).
_REFUSES = re.compile(
    r"rate.?limit|usage.?limit|quota|too many requests|overloaded|resource.?exhausted|billing|credit balance|"
    r"insufficient.?(?:credit|fund|balance)|unauthori[sz]ed|authentication|not logged in|log ?in\b|api.?key|"
    r"\b(?:401|429|503|529)\b",
    re.IGNORECASE,
)
_KNOWN = tuple(agent.acp for agent in AGENTS)
# The slash commands that compact a context, without the slash and without repetition, in the table's order.
COMPACT_COMMANDS = tuple(dict.fromkeys(known.compact_command for known in _KNOWN if known.compact_command))
_NOT_OFFERED = {known.name: known.compact_command for known in _KNOWN if known.name and not known.offers_command}


def occupancy_of_update(update: Mapping[str, Any]) -> Occupancy | None:
    """Returns the tokens in the agent's context according to a session update, or None if the update doesn't give them.

    Reads ACP's `usage_update`, and what known agents add to other updates.
    """
    if update.get("sessionUpdate") == "usage_update":
        used, size = token_count(update.get("used")), token_count(update.get("size"))
        model = next((name for known in _KNOWN if (name := known.model_in_usage(update))), "")
        return None if used is None else Occupancy(used=used, size=size or None, model=model)
    return next((found for known in _KNOWN if (found := known.occupancy_in_update(update))), None)


def occupancy_of_answer(result: Mapping[str, Any]) -> Occupancy | None:
    """Returns the tokens in the agent's context according to the answer to a prompt, or None if it doesn't give them.

    `PromptResponse.usage` is not read: some agents report the turn there, others the session.
    """
    return next((found for known in _KNOWN if (found := known.occupancy_in_answer(result))), None)


def refusal_of(error: Mapping[str, Any]) -> str:
    """Returns why an agent does not answer now although another might, from its error: a limit of use, an overload, or
    a missing login. Returns "" for other errors."""
    message, data = as_text(error.get("message")), error.get("data")
    said = f"{message} {data if isinstance(data, str) else encode_json(data).decode()}"
    is_refusal = error.get("code") == _LOGIN_REQUIRED or _REFUSES.search(said) is not None
    told = as_text(as_object(data).get("message")) or message or "it needs a login"
    return told if is_refusal else ""


def window_of_model(model: Mapping[str, Any]) -> int | None:
    """Returns the window, in tokens, from one entry of the list of models that an agent sends, or None if the entry has
    none."""
    return next((size for known in _KNOWN if (size := known.window_of_model(model)) is not None), None)


def whole_window(agent_name: str, window: int) -> int:
    """Returns the window of the model, in tokens. Some agents report only the part for the prompt: `window` is that.
    `agent_name` is the name that the agent gave when the connection was opened."""
    name = agent_name.rpartition("/")[2]
    return next((known.whole_window(window) for known in _KNOWN if known.name == name), window)


def compaction_done(update: Mapping[str, Any]) -> bool:
    """Returns whether a session update reports, by an extension of ACP, that the agent has compacted its context."""
    return any(known.compaction_done(update) for known in _KNOWN)


def compaction_call(update: Mapping[str, Any]) -> bool:
    """Returns whether a session update is about a tool call by which the agent reports a compaction."""
    is_call = update.get("sessionUpdate") in ("tool_call", "tool_call_update")
    return is_call and any(known.compaction_call(update) for known in _KNOWN)


def unlisted_compact_command(agent_name: str) -> str | None:
    """Returns the slash command (without the slash) by which this agent compacts its context, if the agent has such a
    command but does not list it among its commands. Otherwise returns None.

    `agent_name` is the name that the agent gave when the connection was opened.
    """
    return _NOT_OFFERED.get(agent_name)


def tool_name(call: Mapping[str, Any]) -> str:
    """Returns the tool's own name, for example `Read`, from an ACP tool call, or an empty string if the call doesn't
    give it."""
    return as_text(call.get("name")) or next((name for known in _KNOWN if (name := known.tool_in_call(call))), "")
