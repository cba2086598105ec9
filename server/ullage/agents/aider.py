"""What Ullage knows about aider: where its chats are, and how they are read.

A chat history (`.aider.chat.history.md`) is Markdown, with a heading for each start of the program. Lines that begin
with `####` are the user's, those that begin with `>` are notices, and the others are the model's. The token counts in
the notices are rounded to two digits from 1,000 on. (Rules: aider's own reader of the file.)
"""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, first_line
from ullage.agents.machine import Machine
from ullage.formats.parsing import Document, Line, as_timestamp, exclude_cache
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import ListedConversation, Records, choose, incremental
from ullage.model.json_values import JsonObject, as_text
from ullage.model.message import Role, TextBlock
from ullage.model.usage import Usage

# The line with which the program begins a chat.
_STARTED = re.compile(r"^# aider chat started at (\S+ \S+)", re.MULTILINE)


def _patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the paths of aider's chat histories: in the home folder (or `AIDER_CHAT_HISTORY_FILE`), and in the folder
    in which the user works."""
    name = ".aider.chat.history.md"
    return (machine.folder("AIDER_CHAT_HISTORY_FILE", name), *machine.in_project(name))


def _title_of(records: Sequence[JsonObject]) -> str:
    # Prompts that are slash commands are no titles.
    lines = (line for record in records for line in as_text(record.get("text")).splitlines())
    prompts = (line.lstrip("#").strip() for line in lines if line.startswith("####"))
    return next((first_line(prompt) for prompt in prompts if prompt and not prompt.startswith("/")), "")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a chat history. Its folder is the one in which the file is, and its id is the time at which
    its newest chat began."""
    starts = [start for record in records for start in _STARTED.findall(as_text(record.get("text")))]
    return Facts(cwd=path.rpartition("/")[0], session_id=starts[-1] if starts else "")


NAME = "aider"
_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)")
_VERSION = re.compile(r"> Aider v(\S+)")
_MODEL = re.compile(r"> (?:Main model|Model): (\S+)")
_TOKENS = re.compile(r"> Tokens: .*\d")
_COUNT = re.compile(r"(?<![\d,])(\d[\d,]{0,20}(?:\.\d{1,9})?)(k|M)? (sent|cache write|cache hit|received)")
_UNITS = {"": 1, "k": 1_000, "M": 1_000_000}
# Commands whose text is sent to the model, and those that empty the chat. The others are for the program.
_ASKING = ("/ask ", "/code ", "/architect ", "/context ", "/help ")
_CLEARING = ("/clear", "/reset")


def _matches(document: Document) -> bool:
    return any(map(_begins, document.lines))


def _begins(line: Line) -> bool:
    return _START.match(line.text) is not None


def _records(document: Document) -> Records:
    """Returns a record with the project's folder, then the lines since one start of the program. `document.run` chooses
    the start, by default the newest one with a prompt; the others are listed as skipped."""
    starts = [at for at, line in enumerate(document.lines) if _begins(line)]
    parts = [document.lines[at:end] for at, end in pairwise([*starts, len(document.lines)])]
    found = [
        ListedConversation(
            id=part[0].text.removeprefix("# "),
            updated=number,
            messages=sum(line.text.startswith("####") for line in part),
        )
        for number, part in enumerate(parts)
    ]
    chosen, others = choose(found, document)
    folder = str(PurePosixPath(document.name.replace("\\", "/")).parent)
    head = Line(number=1, value={"folder": "" if folder == "." else folder})
    return Records(lines=(head, *(parts[chosen] if parts else ())), skipped=others)


class AiderReader:
    """Reads the lines since one start of aider. A message is held back until a line of another kind follows."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._role: Role | None = None
        self._lines: list[str] = []
        self._number = 0
        self._started = 0
        self._answer = ""
        builder.agent = "aider"

    def take(self, record: Line) -> None:
        """Reads the next line: a part of a prompt or an answer, or a notice with the model or the token counts. Blank
        lines are not given; gaps in the line numbers show them."""
        if record.value and "folder" in record.value and not record.text:
            self._builder.cwd = str(record.value["folder"])
            return
        text = record.text.rstrip()
        start = _START.match(text)
        if start:
            self._flush()
            self._started = as_timestamp(start.group(1).replace(" ", "T"))
            self._builder.session_id = start.group(1)
            self._builder.skip(record.number, "start of the program", expected=True)
        elif text.startswith("####"):
            self._extend(Role.USER, text.removeprefix("####").strip(), record.number)
        elif text.startswith(">"):
            self._flush()
            self._take_notice(text)
            self._builder.skip(record.number, "notice of the program", expected=True)
        else:
            self._extend(Role.ASSISTANT, text, record.number)

    def finish(self) -> None:
        """Adds the message that was held back."""
        self._flush()

    def _extend(self, role: Role, text: str, number: int) -> None:
        if self._role is not role:
            self._flush()
            self._role, self._number = role, number
        # A blank line within an answer belongs to it.
        self._lines += [""] * (number - self._number - 1 if self._lines and role is Role.ASSISTANT else 0)
        self._lines.append(text)
        self._number = number

    def _take_notice(self, text: str) -> None:
        builder = self._builder
        version, model = _VERSION.match(text), _MODEL.match(text)
        builder.version = version.group(1) if version else builder.version
        builder.use_model(model.group(1) if model else "")
        if _TOKENS.match(text) and self._answer:
            builder.report(_usage(text), self._answer)

    def _flush(self) -> None:
        text, role = "\n".join(self._lines).strip(), self._role
        first, self._lines, self._role = self._number, [], None
        if not text or role is None:
            return
        if role is Role.USER and text.startswith("/"):
            asked = next((text.removeprefix(command) for command in _ASKING if text.startswith(command)), "")
            if not asked:
                if text.split()[0] in _CLEARING:
                    self._builder.rewind("")
                self._builder.skip(first, f"command {text.split()[0]}", expected=True)
                return
            text = asked.strip()
        if role is Role.USER and not self._builder.title:
            self._builder.title = text.partition("\n")[0][:200]
        message_id = self._builder.add(role, (TextBlock(text=text),), timestamp=self._started)
        self._started = 0
        self._answer = message_id if role is Role.ASSISTANT else ""


def _usage(text: str) -> Usage:
    counts = {kind: int(float(number.replace(",", "")) * _UNITS[unit]) for number, unit, kind in _COUNT.findall(text)}
    read, written = counts.get("cache hit", 0), counts.get("cache write", 0)
    return exclude_cache(counts.get("sent", 0), counts.get("received", 0), read, written)


FORMAT = replace(incremental(NAME, _matches, AiderReader, _records), begins_another=_begins)

AGENT = Agent(
    name="aider", formats=(FORMAT,), sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of)
)
