"""The agent behind the proxy's bench: as little as can be between what it reads and what it answers.

`_bench/tick` has it send one chunk of an answer, `_bench/flood {count, size}` so many of that size; after
`_bench/sleep` it reads nothing any more.
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
    """What a request is answered."""
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
                out.write(
                    json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result(message)}).encode() + b"\n"
                )
            case _:
                pass
        out.flush()


if __name__ == "__main__":
    try:
        main()
    except BrokenPipeError:
        os._exit(0)
