"""Home folders in which an agent has conversations that grow, as its real files do."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from support.log_trees import to_bytes
from support.session_log import JsonObject, boundary, line, say, summary


class Conversation:
    """A conversation of Claude Code that grows in its file. Its project's folder is `cwd`."""

    def __init__(self, home: Path, cwd: Path) -> None:
        self.id = str(uuid4())
        self._cwd = cwd
        self._home = home
        self._last: str | None = None
        self._path = home / ".claude" / "projects" / "".join(c if c.isalnum() else "-" for c in str(cwd))
        self._path.mkdir(parents=True, exist_ok=True)
        self._path /= f"{self.id}.jsonl"

    def say(self, prompt: str, tokens: int, answer: str = "Done.") -> None:
        """Adds a prompt and its answer, after which the context has this size."""
        usage = {"input_tokens": tokens - 10, "output_tokens": 10}
        asked, answered = str(uuid4()), str(uuid4())
        self._append(
            line("user", asked, self._last, prompt, **self._facts()),
            line(
                "assistant",
                answered,
                asked,
                [say(answer)],
                usage=usage,
                model="claude-opus-4-6",
                stop_reason="end_turn",
                **self._facts(),
            ),
        )
        self._last = answered

    def compact(self, tokens: int, words: str) -> None:
        """Adds a compaction by the agent itself, when the context had this size, with these words as its summary."""
        mark, told = str(uuid4()), str(uuid4())
        assert self._last is not None
        self._append(
            boundary(mark, self._last, trigger="auto", preTokens=tokens) | self._facts(),
            summary(told, mark, words, **self._facts()),
        )
        self._last = told

    def open_in(self, process_id: int) -> None:
        """Says, as the agent does while it runs, that a process has the conversation open."""
        folder = self._home / ".claude" / "sessions"
        folder.mkdir(exist_ok=True)
        facts = {"pid": process_id, "sessionId": self.id, "cwd": str(self._cwd), "startedAt": int(time.time() * 1000)}
        (folder / f"{process_id}.json").write_text(json.dumps(facts | {"kind": "interactive", "status": "idle"}))

    def _facts(self) -> JsonObject:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"sessionId": self.id, "cwd": str(self._cwd), "timestamp": now, "version": "2.1.39"}

    def _append(self, *lines: JsonObject) -> None:
        with self._path.open("ab") as file:
            file.write(to_bytes(list(lines)))


def environment(home: Path) -> dict[str, str]:
    """Returns the environment of a user who has this home folder."""
    return {**os.environ, "HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}
