"""Sessions that agents resume with a model on the loopback, and what they send."""

import json
from collections.abc import Iterable
from typing import Any

from support.agents.runs import SEATED

CLAUDE, CODEX = (seated.known for seated in SEATED)
PROMPT = "And what comes after that?"
# What an agent itself puts before the first prompt, and into messages.
_OWN = ("<system-reminder>", "<environment_context>")


def said(messages: Iterable[Any]) -> list[tuple[str, str]]:
    """Returns the blocks of a request's messages as their role and what they say, without what the agent adds."""
    found: list[tuple[str, str]] = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks:
            words = block.get("text") or json.dumps(block.get("input") or _result(block))
            if message["role"] != "system" and not words.startswith(_OWN):
                # Claude Code ends a summary with a newline.
                found.append((message["role"], words.rstrip("\n")))
    return found


def sent_items(items: Iterable[Any]) -> list[tuple[str, str]]:
    """Returns the items of a request to the Responses API in the same way. Calls and results have the roles that they
    would have as messages."""
    found: list[tuple[str, str]] = []
    for item in items:
        if "call" in item["type"]:
            role = "user" if "output" in item else "assistant"
            found.append((role, item.get("arguments") or item.get("input") or json.dumps(item["output"])))
        elif item["role"] != "developer":
            texts = [part["text"] for part in item["content"]]
            found += [(item["role"], text) for text in texts if not text.startswith(_OWN)]
    return found


def _result(block: Any) -> Any:
    content = block.get("content", "")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)
