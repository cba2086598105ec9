"""Codex behind the proxy: to a client without ACP's updates of compactions, its adapter reports one as a tool call."""

from collections.abc import Mapping
from typing import Any

from ullage.agents.agent import AcpAgent

_TITLE = "Compact conversation"


def _compaction_call(update: Mapping[str, Any]) -> bool:
    # No tool has this title: the adapter titles a tool call by its command, file or server.
    return update.get("title") == _TITLE


def _whole_window(window: int) -> int:
    # The adapter reports Codex's window for prompts, 95 % of the model's.
    return window * 20 // 19


ACP = AcpAgent(
    name="codex-acp", compact_command="compact", compaction_call=_compaction_call, whole_window=_whole_window
)
