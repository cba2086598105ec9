"""Made-up session logs of Claude Code, line by line, with usages, compactions and times as the real ones have them."""

from datetime import UTC, datetime
from itertools import count
from random import Random
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

    def ask(self, content: str | list[dict[str, Any]] = "Go on.") -> "ClaudeLog":
        """Adds a prompt of the user: a text, or blocks as the program writes them."""
        return self._add("user", {"role": "user", "content": content})

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


RULES = (
    "Never change {path} without a migration.",
    "Always run `pytest tests/{part}` before you go on.",
    "Don't add a dependency for {part}; the standard library is enough.",
    "Please keep every public name of {part} as it is.",
)
PARTS = ("orders", "payments", "stock", "shipping", "returns", "prices", "users", "reports", "mail", "search")
SUMMARY = (
    "This session is being continued from a previous conversation that ran out of context.\n\nSummary: the modules of "
    "the shop are renamed one by one. Work goes on with {path}."
)
# Tokens at which the log says that the agent compacts.
_COMPACTS_AT = 167_000


def long_session(messages: int, compactions: int = 3, session: str = "s-long", cwd: str = "/home/me/shop") -> ClaudeLog:
    """Returns a log of at least `messages` messages whose agent has compacted it so many times, the last time after
    nine tenths of them. The same arguments make the same log."""
    chance, log = Random(14), ClaudeLog(session=session, cwd=cwd)
    places = [messages * 9 * (number + 1) // (10 * compactions) for number in range(compactions)]
    written = turn = 0
    while written < messages:
        written += _turn(log, turn, chance)
        turn += 1
        if places and written >= places[0]:
            places.pop(0)
            log.compact(_COMPACTS_AT, summary=SUMMARY.format(path=_path(turn)))
    return log


def _turn(log: ClaudeLog, number: int, chance: Random) -> int:
    """Adds a prompt, the calls that it leads to, and an answer. Returns how many messages that are."""
    path, part = _path(number), PARTS[number % len(PARTS)]
    rule = RULES[number // 7 % len(RULES)].format(path=path, part=part) if number % 7 == 0 else "Go on as before."
    log.ask(f"Now step {number}: rename the table in {path}. {rule}")
    log.read(f"{log.cwd}/{path}", _code(number, chance))
    log.call("Edit", "The file has been updated.", file_path=f"{log.cwd}/{path}", old_string="a", new_string="b")
    failed = f"1 failed, {number} passed\nE   KeyError: 'row{number}' in {path}:{number % 90 + 1}"
    log.call("Bash", failed if number % 5 == 0 else f"{number + 3} passed in 2.1s", command=f"pytest tests/{part}")
    if number % 5 == 0:
        log.call("Bash", f"{number + 4} passed in 2.2s", command=f"pytest tests/{part} -k row{number}")
    log.answer(20_000 + number % 900 * 160, text=f"I decided to keep `row{number}` in {path}, because {part} reads it.")
    return 8 + 2 * (number % 5 == 0)


def _path(number: int) -> str:
    return f"src/shop/{PARTS[number % len(PARTS)]}/table{number}.py"


def _code(number: int, chance: Random) -> str:
    lines = (f"    row{number}_{line} = total({chance.randrange(10_000)})" for line in range(40))
    return "\n".join([f"def table{number}(total):", *lines])
