"""Made-up session logs of Claude Code, line by line, with usages, compactions and times as the real ones have them."""

from datetime import UTC, datetime
from itertools import count
from typing import Any

from support.foreign import to_lines

MODEL, VERSION = "claude-opus-4-6", "2.1.39"
# 2025-11-22T10:00:00Z in Unix milliseconds.
BEGAN = 1_763_805_600_000


class ClaudeLog:
    """A log that grows by one line per call. A minute passes between two lines."""

    def __init__(
        self, model: str = MODEL, version: str = VERSION, session: str = "s-claude", cwd: str = "/home/me/shop"
    ) -> None:
        self.model = model
        self.version = version
        self.session = session
        self.cwd = cwd
        self.now = BEGAN
        self.lines: list[dict[str, Any]] = []
        self._ids = count(1)

    def ask(self, text: str = "Go on.") -> "ClaudeLog":
        """Adds a prompt of the user."""
        return self._add("user", {"role": "user", "content": text})

    def attach(self, kind: str, **given: object) -> "ClaudeLog":
        """Adds an attachment, which the program adds by itself."""
        return self._add("attachment", None, attachment={"type": kind, **given})

    def answer(self, tokens: int, output: int = 50, text: str = "Done, and the tests pass.") -> "ClaudeLog":
        """Adds an answer whose prompt had `tokens` tokens."""
        usage = {"input_tokens": 3, "cache_read_input_tokens": tokens - 3, "output_tokens": output}
        content = [{"type": "text", "text": text}]
        name = f"msg_{next(self._ids)}"
        message = {"id": name, "role": "assistant", "model": self.model, "content": content, "usage": usage}
        return self._add("assistant", message)

    def read(self, path: str, text: str) -> "ClaudeLog":
        """Adds a call that reads a file, and its result."""
        return self.call("Read", text, file_path=path)

    def call(self, name: str, text: str, **given: object) -> "ClaudeLog":
        """Adds a call of the tool `name`, and its result."""
        call = f"call_{next(self._ids)}"
        use = {"type": "tool_use", "id": call, "name": name, "input": given}
        self._add("assistant", {"id": f"m_{call}", "role": "assistant", "model": self.model, "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": text}
        return self._add("user", {"role": "user", "content": [result]})

    def compact(self, before: int, trigger: str = "auto", summary: str = "All is well.") -> "ClaudeLog":
        """Adds a compaction of `before` tokens. It is one at the agent's threshold if the last line is no answer's."""
        metadata = {"trigger": trigger, "preTokens": before}
        parent = self.lines[-1]["uuid"]
        self._add("system", None, subtype="compact_boundary", compactMetadata=metadata, logicalParentUuid=parent)
        self.lines[-1]["parentUuid"] = None
        return self._add("user", {"role": "user", "content": summary}, isCompactSummary=True)

    def rename(self, name: str) -> None:
        """Gives all lines ids of their own, as another session's."""
        for line in self.lines:
            line["uuid"] = f"{line['uuid']} {name}"
            line["parentUuid"] = line["parentUuid"] and f"{line['parentUuid']} {name}"
            if "logicalParentUuid" in line:
                line["logicalParentUuid"] = f"{line['logicalParentUuid']} {name}"

    @property
    def data(self) -> bytes:
        """The file."""
        return to_lines(*self.lines)

    @property
    def text(self) -> str:
        """The file as text."""
        return self.data.decode()

    def _add(self, kind: str, message: Any, **more: Any) -> "ClaudeLog":
        time = datetime.fromtimestamp(self.now // 1000, UTC)
        line = {
            "type": kind,
            "uuid": f"u{next(self._ids)}",
            "parentUuid": self.lines[-1]["uuid"] if self.lines else None,
            "sessionId": self.session,
            "version": self.version,
            "cwd": self.cwd,
            "timestamp": f"{time:%Y-%m-%dT%H:%M:%S}.000Z",
        }
        if message is not None:
            line["message"] = message
        self.lines.append(line | more)
        self.now += 60_000
        return self
