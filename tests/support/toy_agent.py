"""An ACP agent without a model: it answers with the texts of its context, so that a test sees what the context holds.

A program of its own: `python toy_agent.py '{"window": 8000, …}'`, or `@FILE` with the same JSON. The fields are its
abilities: `usage` (it sends its usage), `quota` (it sends counts with the answer), `compact` (it has the command; if
"stopped", the command does nothing but report 0 tokens), `fork`, `load`, `commands` (names it offers), `state` (a
folder where it keeps sessions), `log` (a file with every line in and out, in order). A prompt that begins with `die`,
`read`, `permit`, `overflow` or `big` has a special effect.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Json = dict[str, Any]
# The overhead of the agent's own prompt in tokens, and the characters of a token.
HIDDEN, CHARS = 500, 4


_REFUSALS: dict[str, Json] = {
    "quota": {"code": -32603, "message": "You have hit your usage limit", "data": {"errorKind": "rate_limit"}},
    "login": {"code": -32000, "message": "Authentication required"},
    "tool": {"code": -32603, "message": "There is no such tool"},
}


class Refused(Exception):
    """The agent answers a prompt with this error."""


class ToyAgent:
    """An agent whose sessions are lists of texts."""

    def __init__(self, options: Json) -> None:
        self.options = options
        self.sessions: dict[str, list[str]] = {}
        self.log = os.open(options["log"], os.O_APPEND | os.O_CREAT | os.O_WRONLY) if "log" in options else None
        self.asked = 0
        self._handlers: dict[str, Callable[[Json], Json]] = {
            "initialize": self._initialize,
            "session/new": self._session_new,
            "session/set_mode": self._session_set_mode,
            "session/fork": self._session_fork,
            "session/load": self._session_load,
            "session/prompt": self._session_prompt,
        }

    def serve(self) -> None:
        """Answers requests one by one until the input ends."""
        for line in sys.stdin.buffer:
            self._keep(b"<", line)
            message = json.loads(line)
            if "method" in message and "id" in message:
                self._answer(message)

    def send(self, message: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        self._keep(b">", line)
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

    def tell(self, session_id: str, update: Json) -> None:
        self.send({"method": "session/update", "params": {"sessionId": session_id, "update": update}})

    def say(self, session_id: str, text: str, kind: str = "agent_message_chunk") -> None:
        self.tell(session_id, {"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    def used(self, session_id: str) -> int:
        return HIDDEN + sum(map(len, self.sessions[session_id])) // CHARS

    def _keep(self, mark: bytes, line: bytes) -> None:
        if self.log is not None:
            os.write(self.log, mark + line)

    def _answer(self, message: Json) -> None:
        handler = self._handlers.get(message["method"])
        if handler is None:
            self.send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
            return
        try:
            result = handler(message["params"])
        except Refused as refused:
            self.send({"id": message["id"], "error": refused.args[0]})
        except KeyError as error:
            self.send({"id": message["id"], "error": {"code": -32002, "message": f"no session {error}"}})
        else:
            self.send({"id": message["id"], "result": result})
            self._save()

    def _initialize(self, _: Json) -> Json:
        able: Json = {name: {} for name in ("fork", "resume", "list", "close") if self.options.get(name)}
        abilities: Json = {"loadSession": bool(self.options.get("load")), "sessionCapabilities": able}
        info = {"name": self.options.get("name", "toy"), "version": "1"}
        return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": abilities}

    def _session_new(self, _: Json) -> Json:
        session_id = self.options.get("id") or f"toy-{time.time_ns()}"
        self.sessions[session_id] = []
        self._tell_commands(session_id)
        modes = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}]}
        return {"sessionId": session_id, "modes": modes}

    def _session_set_mode(self, _: Json) -> Json:
        return {}

    def _session_fork(self, params: Json) -> Json:
        session_id = f"fork-{time.time_ns()}"
        self.sessions[session_id] = list(self.sessions[params["sessionId"]])
        return {"sessionId": session_id}

    def _session_load(self, params: Json) -> Json:
        session_id = params["sessionId"]
        self.sessions[session_id] = json.loads(self._file().read_text())[session_id]
        for place, text in enumerate(self.sessions[session_id]):
            self.say(session_id, text, "agent_message_chunk" if place % 2 else "user_message_chunk")
        self._tell_commands(session_id)
        return {}

    def _session_prompt(self, params: Json) -> Json:
        session_id = params["sessionId"]
        text = "\n".join(part["text"] for part in params["prompt"] if part["type"] == "text")
        heard = self.sessions[session_id]
        if text.startswith("/compact") and self.options.get("compact") == "stopped":
            self.tell(session_id, {"sessionUpdate": "usage_update", "used": 0, "size": self.options["window"]})
            return {"stopReason": "end_turn"}
        if text.startswith("/compact") and self.options.get("compact"):
            heard[:] = [f"compacted {len(heard)} texts", "So it is."]
            self.tell(session_id, {"sessionUpdate": "compaction_update", "compactionId": "c1", "status": "completed"})
            self._tell_usage(session_id)
            return {"stopReason": "end_turn"}
        if (text.startswith("refuse") and self.options.get("name") == "toy") or self.options.get("refuses"):
            raise Refused(_REFUSALS.get(text.partition(" ")[2], _REFUSALS["quota"]))
        heard.append(text)
        answer = self._act(session_id, params["prompt"][-1]["text"]) or f"I was told: {' | '.join(heard[::2])}"
        heard.append(answer)
        half = len(answer) // 2
        self.say(session_id, answer[:half])
        self.say(session_id, answer[half:])
        self._tell_usage(session_id)
        return {"stopReason": "end_turn", **self._quota(session_id, 2 if text.startswith("read") else 1)}

    def _act(self, session_id: str, text: str) -> str | None:
        if "Write the summary" in text:
            if "kept above all: nothing" in text:
                return "Done."
            exchanges = len(self.sessions[session_id]) // 2
            # A summary of more has to say more.
            return f"SUMMARY of {exchanges} exchanges" + " with an answer each, as asked" * 20 * (exchanges > 1)
        match text.partition(" ")[0]:
            case "die":
                self.say(session_id, "I am about to")
                os.write(2, b"out of memory\n")
                os._exit(3)
            case "read":
                self._read(session_id, text.partition(" ")[2])
            case "permit":
                self._permit(session_id)
            case "overflow":
                self.sessions[session_id][:] = ["compacted by itself", "So it is.", text]
                done = {"sessionUpdate": "compaction_update", "compactionId": "c2", "status": "completed"}
                self.tell(session_id, {**done, "summary": [{"type": "text", "text": "A cask."}]})
                self.tell(session_id, done)
            case "big":
                return "x" * int(text.split()[1])
            case _:
                pass
        return None

    def _read(self, session_id: str, path: str) -> None:
        self.tell(
            session_id, {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": f"Read {path}", "kind": "read"}
        )
        done = {"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed"}
        content = [{"type": "content", "content": {"type": "text", "text": f"contents of {path}"}}]
        self.tell(session_id, {**done, "locations": [{"path": path}], "content": content})

    def _permit(self, session_id: str) -> None:
        self.asked += 1
        option = {"optionId": "yes", "name": "Yes", "kind": "allow_once"}
        params = {"sessionId": session_id, "toolCall": {"toolCallId": "t2"}, "options": [option]}
        self.send({"id": self.asked, "method": "session/request_permission", "params": params})
        self._keep(b"<", answer := sys.stdin.buffer.readline())
        self.say(session_id, f"allowed: {json.loads(answer)['result']['outcome']['outcome']}. ")

    def _tell_usage(self, session_id: str) -> None:
        if self.options.get("usage"):
            size = self.options["window"]
            self.tell(session_id, {"sessionUpdate": "usage_update", "used": self.used(session_id), "size": size})

    def _quota(self, session_id: str, requests: int) -> Json:
        if not self.options.get("quota"):
            return {}
        # As Gemini CLI does: the sum over the turn's requests. A turn that reads a file has two requests.
        counts = {"input_tokens": self.used(session_id) * requests, "output_tokens": 0}
        return {"_meta": {"quota": {"token_count": counts}}}

    def _tell_commands(self, session_id: str) -> None:
        names = [*self.options.get("commands", ()), *(["compact"] if self.options.get("compact") else [])]
        if names:
            offered = [{"name": name, "description": f"The toy's {name}"} for name in names]
            self.tell(session_id, {"sessionUpdate": "available_commands_update", "availableCommands": offered})

    def _file(self) -> Path:
        return Path(self.options["state"]) / "sessions.json"

    def _save(self) -> None:
        if "state" in self.options:
            kept = {name: texts for name, texts in self.sessions.items() if texts}
            before: Json = json.loads(self._file().read_text()) if self._file().exists() else {}
            self._file().write_text(json.dumps({**before, **kept}))


if __name__ == "__main__":
    given = sys.argv[1]
    ToyAgent(json.loads(Path(given[1:]).read_text(encoding="utf-8") if given.startswith("@") else given)).serve()
