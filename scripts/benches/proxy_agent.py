"""The agent of the proxy's bench, which does as little as possible between reading a request and answering it.

After `_bench/tick` the agent sends one chunk of an answer, after `_bench/flood {count, size}` as many chunks of that
size. After `_bench/sleep` it stops reading.
"""

import json
import os
import sys
import threading
from typing import Any

SESSION = "bench"


def update(text: str) -> bytes:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": SESSION, "update": chunk}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode() + b"\n"


def answer(message: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result(message)}).encode() + b"\n"


def result(message: dict[str, Any]) -> Any:
    """Returns the result for a request."""
    match message["method"]:
        case "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {}}
        case "session/new":
            return {"sessionId": SESSION}
        case "session/prompt":
            return {"stopReason": "end_turn"}
        case _:
            return message["params"]


def main() -> None:
    tick = update("a few words of an answer")
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        message = json.loads(line)
        match message.get("method"):
            case "_bench/tick":
                out.write(tick)
            case "_bench/flood":
                flood = update("x" * message["params"]["size"])
                for _ in range(message["params"]["count"]):
                    out.write(flood)
            case "_bench/sleep":
                threading.Event().wait()
            case _ if "id" in message:
                out.write(answer(message))
            case _:
                pass
        out.flush()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(0)
