"""Claude Code behind the proxy: its ACP adapter adds the model's and the tool's name in `_meta`."""

from collections.abc import Mapping
from typing import Any

from ullage.agents.agent import AcpAgent
from ullage.model.json_values import as_object, as_text


def _model(update: Mapping[str, Any]) -> str:
    return as_text(as_object(update.get("_meta")).get("_claude/model"))


def _tool(call: Mapping[str, Any]) -> str:
    return as_text(as_object(as_object(call.get("_meta")).get("claudeCode")).get("toolName"))


def _compaction_call(update: Mapping[str, Any]) -> bool:
    # To a client without ACP's updates of compactions, the adapter reports one as a call of this tool.
    return _tool(update) == "compact"


ACP = AcpAgent(compact_command="compact", model_in_usage=_model, tool_in_call=_tool, compaction_call=_compaction_call)
