"""Makes the conversation that `ullage demo` plays: an invented project, edited step by step as in `sample/story.txt`.

`sample/login/` is the project at the beginning, and `sample/written/` holds the files that are added. A step of the
story begins with a line `@ask`, `@say`, `@end` (of the assistant's turn), `@read PATH`, `@write PATH`, `@edit PATH`
(old text, `@with`, new text), `@run COMMAND` or `@fail COMMAND` (with its output). The lines after it are the step's
text.

    python scripts/make_sample.py          writes server/ullage/cli/data/sample.jsonl
    python scripts/make_sample.py --check  fails if that file is not what would be written

File contents are real: a tool call reads what the calls before it have written.
"""

import re
import sys
from pathlib import Path

from ullage.formats.transcripts.message_lists import Header, write_ullage
from ullage.model.events import Event, MessageAppended, Record, SessionCreated, ToolsDeclared
from ullage.model.message import Block, Message, Role, TextBlock, ToolDefinition, ToolResultBlock, ToolUseBlock

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
PROJECT = Path(__file__).with_name("sample")
# 2026-01-12 09:00 UTC. A fixed time keeps the file the same each time it is made.
START = 1_768_208_400_000
SECONDS_A_STEP = 25
TITLE = "Add token refresh to the login service"
MODEL = "claude-sonnet-4-5"
SYSTEM = (
    "You are a careful programmer working in the repository gatehouse. Read before you edit, keep changes small, "
    "run the tests after every change, and say plainly what you did and what is left."
)


def _tool(name: str, description: str, *fields: str) -> ToolDefinition:
    schema = {"type": "object", "properties": {field: {"type": "string"} for field in fields}, "required": [*fields]}
    return ToolDefinition(name=name, description=description, input_schema=schema)


TOOLS = (
    _tool("read_file", "Shows a file of the repository.", "path"),
    _tool("write_file", "Creates a file, or replaces all of it.", "path", "content"),
    _tool("edit_file", "Replaces a text that occurs once in a file.", "path", "old", "new"),
    _tool("run", "Runs a command in the repository and shows its output.", "command"),
)


class Recorder:
    """Records a conversation, and keeps the project's files as the calls change them."""

    def __init__(self) -> None:
        self.files = _project_files("login")
        self.events: list[Event] = []
        self._written = _project_files("written")
        self._said: list[Block] = []
        self._calls = 0
        self._add(Role.SYSTEM, TextBlock(text=SYSTEM))

    def tell(self, step: str) -> None:
        """Records one step of the story."""
        head, _, text = step.partition("\n")
        verb, _, about = head.partition(" ")
        match verb:
            case "ask":
                self._add(Role.USER, TextBlock(text=text))
            case "say":
                self._said.append(TextBlock(text=text))
            case "end":
                self._add(Role.ASSISTANT, *self._said)
                self._said = []
            case "run" | "fail":
                self._call("run", {"command": about}, text, failed=verb == "fail")
            case _:
                self._touch(verb, about, text)

    def _touch(self, verb: str, path: str, text: str) -> None:
        match verb:
            case "read":
                self._call("read_file", {"path": path}, self.files[path])
            case "write":
                self.files[path] = self._written[path]
                self._call("write_file", {"path": path, "content": self.files[path]}, f"wrote {path}")
            case "edit":
                old, _, new = text.partition("\n@with\n")
                if self.files[path].count(old) != 1:
                    raise ValueError(f"{path} does not hold exactly once: {old!r}")
                self.files[path] = self.files[path].replace(old, new)
                self._call("edit_file", {"path": path, "old": old, "new": new}, f"edited {path}")
            case _:
                raise ValueError(f"no such step: @{verb}")

    def _call(self, name: str, arguments: dict[str, str], result: str, *, failed: bool = False) -> None:
        self._calls += 1
        call = ToolUseBlock(id=f"call_{self._calls:03d}", name=name, input=arguments)
        self._add(Role.ASSISTANT, *self._said, call)
        self._said = []
        self._add(Role.USER, ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=result),), is_error=failed))

    def _add(self, role: Role, *content: Block) -> None:
        number = len(self.events) + 1
        timestamp = START + number * SECONDS_A_STEP * 1000
        message = Message(id=f"m{number:03d}", role=role, content=content, timestamp=timestamp)
        self.events.append(MessageAppended(message=message))


def _project_files(folder: str) -> dict[str, str]:
    root = PROJECT / folder
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def make() -> bytes:
    """Returns the export of the whole conversation."""
    recorder = Recorder()
    story = (PROJECT / "story.txt").read_text(encoding="utf-8").removesuffix("\n")
    for step in re.split(r"(?:^|\n)@(?=ask|say|end|read|write|edit|run|fail)", story)[1:]:
        recorder.tell(step)
    created = SessionCreated(cwd="/home/ines/gatehouse", title=TITLE, model=MODEL)
    events: list[Event] = [created, ToolsDeclared(tools=TOOLS), *recorder.events]
    records = tuple(
        Record(position=position, timestamp=START + position * SECONDS_A_STEP * 1000, event=event)
        for position, event in enumerate(events)
    )
    return write_ullage(Header(session_id="sample", title=TITLE, cwd=created.cwd, model=MODEL), records)


def main() -> int:
    """Writes the sample, or with `--check` compares it."""
    made = make()
    if "--check" in sys.argv[1:]:
        if TARGET.read_bytes() != made:
            print(f"{TARGET.relative_to(ROOT)} is not what scripts/make_sample.py makes; run it", file=sys.stderr)
            return 1
        return 0
    TARGET.write_bytes(made)
    print(f"{TARGET.relative_to(ROOT)}: {len(made):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
