"""Samples of agents' files: `tests/data/agents` has for each agent files of a few lines, each below the sentence
that it shows, and what is read from it."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import NODEFAULT, Struct, to_builtins
from msgspec.structs import fields, replace

from ullage.agents.transcripts import read_document
from ullage.formats.parsing import Document, Line, parse_document
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.model.events import CompactionEdit, ContextEdited, ConversationImported, MessageAppended
from ullage.model.message import Message
from ullage.transcript.fold import project

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "agents"
# Before a sentence, before what is read of its files, and before what is read if another conversation is asked for.
SENTENCE, READ, RUN = "# ", "=>", "=> run "
# How many lines of which other sample come first, and after how many lines is read as there.
AFTER, SAME = re.compile(r"after (\d+) lines of (.*)"), "lines as there"
# How the lines of a file are given, before its name: as its text, as rows of a database, as a value, or as a folder of
# the files that follow. Without such a line they are the text of a log.
KINDS, LOG = ("text", "rows", "value", "folder"), "text test.jsonl"
# Before a line of a text that would be taken for a sentence.
ESCAPE = "\\"


class Sample(Struct, frozen=True):
    """The lines of an agent's files, after the first of another sample's if there is one, and the lines that say what
    was read from them."""

    sentence: str
    after: "Sample | None"
    first: int
    added: list[str]
    expected: list[str]

    @property
    def written(self) -> list[str]:
        """All lines of its files."""
        return [*(self.after.written[: self.first] if self.after else ()), *self.added]

    @property
    def document(self) -> Document:
        """The file that is read, with those that belong to it."""
        first, *companions = documents(self.written)
        return replace(first, companions=tuple(companions))

    @property
    def read(self) -> list[str]:
        """What is read now: of the file, and of each conversation in it that the sample asks for."""
        facts, *lines = shown(READ, read_document(self.document))
        if self.after:
            there = shown(READ, read_document(self.after.document))[1:]
            same = next(
                (at for at, pair in enumerate(zip(there, lines, strict=False)) if len(set(pair)) > 1), len(there)
            )
            lines[:same] = [f"{same} {SAME}"] if same else []
        lines.insert(0, facts)
        for line in self.expected:
            if line.startswith(RUN):
                run = line.removeprefix(RUN).partition(" ")[0]
                lines += shown(RUN + run, read_document(replace(self.document, run=int(run))))
        return lines


def documents(written: Sequence[str]) -> list[Document]:
    """Returns the files: the one that is read, and then those that belong to it."""
    files: list[tuple[str, str, list[str]]] = []
    for line in written if written[0].startswith(KINDS) else (LOG, *written):
        kind, _, name = line.partition(" ")
        if kind in KINDS:
            files.append((kind, name, []))
        else:
            files[-1][2].append(line)
    return [document(*file) for file in files]


def document(kind: str, name: str, lines: Sequence[str]) -> Document:
    """Returns one file."""
    match kind:
        case "text":
            return parse_document("".join(f"{line.removeprefix(ESCAPE)}\n" for line in lines).encode(), name)
        case "rows":
            rows = (Line(number=number, value=json.loads(line)) for number, line in enumerate(lines, 1))
            return Document(name=name, lines=tuple(rows))
        case "value":
            return Document(name=name, value=json.loads(lines[0]))
        case _:
            return Document(name=name)


def samples(path: Path) -> list[Sample]:
    """Returns the samples of a file."""
    sections = path.read_text(encoding="utf-8").split(f"\n{SENTENCE}")
    sections[0] = sections[0].removeprefix(SENTENCE)
    found: dict[str, Sample] = {}
    for section in sections:
        sentence, *lines = section.rstrip("\n").split("\n")
        at = next(index for index, line in enumerate(lines) if line.startswith(READ))
        assert sentence not in found, sentence
        if after := AFTER.fullmatch(lines[0]):
            found[sentence] = Sample(sentence, found[after[2]], int(after[1]), lines[1:at], lines[at:])
        else:
            found[sentence] = Sample(sentence, None, 0, lines[:at], lines[at:])
    return list(found.values())


def shown(begin: str, transcript: ImportedTranscript) -> list[str]:
    """Returns all that a transcript says: its facts, its events, the lines that were left out, and the ids of the
    context's messages. A message that the model is sent otherwise than an event has it follows whole. The event that
    says no more than the facts, where the conversation is from, is left out."""
    facts = plain(transcript)
    for name in ("events", "skipped"):
        facts.pop(name, None)
    lines = [f"{begin} {text(facts)}"]
    written: dict[str, Message] = {}
    for event in transcript.events:
        if isinstance(event, MessageAppended):
            written[event.message.id] = event.message
        elif isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            written[event.edit.marker.id] = event.edit.marker
        elif event == imported(transcript):
            continue
        own = plain(event)
        lines.append(f"{own.pop('type')} {text(own)}")
    usual = [one for one in transcript.skipped if one.expected and one.run is None]
    if usual:
        lines.append(f"left out as usual {'; '.join(f'{one.line} {one.reason}' for one in usual)}")
    lines += [f"left out {text(plain(one))}" for one in transcript.skipped if one not in usual]
    context = project(transcript.events)
    lines.append(f"context {' '.join(message.id for message in context)}".rstrip())
    lines += [f"sent {text(plain(one))}" for one in context if written.get(one.id) != one]
    return lines


def imported(transcript: ImportedTranscript) -> ConversationImported:
    """Returns the event that says where a conversation with these facts is from."""
    return ConversationImported(
        format=transcript.format,
        agent=transcript.agent,
        version=transcript.version,
        origin_id=transcript.session_id,
        parent_id=transcript.parent,
        is_sub_agent=transcript.is_sub_agent,
    )


def plain(value: Any) -> Any:
    """Returns a value as JSON has it, structs without the fields that have their defaults."""
    if isinstance(value, Struct):
        tag = value.__struct_config__.tag_field
        own = {tag: value.__struct_config__.tag} if tag and value.__struct_config__.tag else {}
        return own | {
            field.encode_name: plain(given)
            for field in fields(value)
            if (given := getattr(value, field.name)) != field.default
            and (field.default_factory is NODEFAULT or given != field.default_factory())
        }
    if isinstance(value, tuple | list):
        return [plain(one) for one in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in cast("Mapping[Any, Any]", value).items()}
    return to_builtins(value)


def text(value: Any) -> str:
    """Returns a value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)


def sample_of(agent: str, sentence: str) -> Sample:
    """Returns the sample of an agent with this sentence."""
    return next(sample for sample in samples(SAMPLES / f"{agent}.txt") if sample.sentence == sentence)
