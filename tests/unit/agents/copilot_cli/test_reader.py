"""What Copilot CLI counts of its own tools."""

from typing import Any

from support.foreign import read_lines
from ullage.model.events import PromptListed
from ullage.model.usage import HiddenKind, HiddenPart

COUNTER = iter(range(1_000_000))


def event(kind: str, agent: str = "", **data: Any) -> dict[str, Any]:
    number = next(COUNTER)
    line = {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-01-01T00:00:00.000Z"}
    return line | ({"agentId": agent} if agent else {})


def start(**data: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "sessionId": "s",
        "copilotVersion": "1.0.102",
        "selectedModel": "m",
        "context": {"cwd": "/home/dev/shop"},
    }
    return event("session.start", **(facts | data))


def asked(text: str, agent: str = "") -> dict[str, Any]:
    return event("user.message", agent, content=text, messageId=f"u-{text}", transformedContent=f"<now/>{text}")


def used(call: str, prompt: int, agent: str = "") -> dict[str, Any]:
    usage = {
        "inputTokens": prompt,
        "outputTokens": 5,
        "cacheReadTokens": 10,
        "reasoningTokens": 2,
        "apiCallId": call,
        "model": "m",
    }
    return event("session.usage_record", agent, usage=usage)


def answered(text: str, call: str = "", tools: tuple[str, ...] = (), agent: str = "", **data: Any) -> dict[str, Any]:
    requests = [{"toolCallId": tool, "name": "bash", "arguments": {"command": "ls"}} for tool in tools]
    facts: dict[str, Any] = {
        "content": text,
        "messageId": f"a-{text}",
        "apiCallId": call,
        "toolRequests": requests,
        "model": "m",
    }
    return event("assistant.message", agent, **(facts | data))


def test_what_it_says_of_its_tools_is_listed_once() -> None:
    counted = used("c1", 60)
    counted["data"]["usage"]["toolTokenCount"] = 40
    again = used("c2", 80)
    again["data"]["usage"]["toolTokenCount"] = 40
    events = read_lines(start(), asked("go"), counted, answered("One.", "c1"), again, answered("Two.", "c2")).events
    listed = [event.parts for event in events if isinstance(event, PromptListed)]
    assert listed == [(HiddenPart(kind=HiddenKind.TOOLS, tokens=40, estimated=False),)]
