"""Reads published sets of questions about long conversations, LoCoMo and BEAM, from files that the user has. Each
question names the messages that answer it.

- LoCoMo (https://arxiv.org/abs/2402.17753): short turns of two friends. A file has ten conversations, or one.
- BEAM (https://arxiv.org/abs/2510.27246): long answers of an assistant. A folder has `chat.json` and
  `probing_questions/probing_questions.json`.

A conversation is one archive. Each of its sittings (LoCoMo's sessions, BEAM's batches) is a session.
"""

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from ullage.model.message import Message, Role, TextBlock

# Which message of which session, both from 0.
Place = tuple[int, int]


class Turn(Struct, frozen=True):
    """A message and when it was written, in Unix milliseconds."""

    message: Message
    time: int


class Asked(Struct, frozen=True):
    """A question, and the places of the messages that answer it."""

    text: str
    evidence: frozenset[Place]


class Talk(Struct, frozen=True, kw_only=True):
    """A conversation of a published set: its sessions, and the questions about them that have evidence."""

    dataset: str
    sessions: Sequence[Sequence[Turn]]
    questions: Sequence[Asked]


def read_talks(path: Path) -> Iterator[Talk]:
    """Yields the conversations of a file, or of all files in a folder that have a known form, in the order of their
    names."""
    files = sorted(path.rglob("*.json"), key=_in_order) if path.is_dir() else [path]
    for file in files:
        if file.name == "chat.json":
            yield _beam(file)
        elif file.parent.name != "probing_questions" and not file.name.startswith(("chat_", "topic", "user_")):
            yield from _conversations(json.loads(file.read_text("utf-8")))


def _in_order(path: Path) -> list[tuple[int, str]]:
    return [(int(part) if part.isdigit() else 0, part) for part in path.with_suffix("").parts]


def _conversations(content: Any) -> Iterator[Talk]:
    several = cast("list[dict[str, Any]]", content if isinstance(content, list) else [content])
    for one in several:
        if "qa" in one:
            yield _locomo(one)


def _locomo(one: dict[str, Any]) -> Talk:
    said = one.get("conversation", one)
    names = [name for name in said if re.fullmatch(r"session_\d+", name)]
    places: dict[str, Place] = {}
    sessions: list[list[Turn]] = []
    for number, name in enumerate(sorted(names, key=lambda name: int(name.rpartition("_")[2]))):
        time = _milliseconds(said[f"{name}_date_time"], "%I:%M %p on %d %B, %Y")
        turns: list[Turn] = []
        for index, turn in enumerate(said[name]):
            places[turn["dia_id"]] = number, index
            role = Role.USER if turn["speaker"] == said["speaker_a"] else Role.ASSISTANT
            turns.append(_turn(number, index, role, f"{turn['speaker']}: {turn['text']}", time + 60_000 * index))
        sessions.append(turns)
    questions = [
        Asked(ask["question"], frozenset(places[ref] for ref in ask.get("evidence", ()) if ref in places))
        for ask in one["qa"]
    ]
    return Talk(dataset="LoCoMo", sessions=sessions, questions=[one for one in questions if one.evidence])


def _beam(file: Path) -> Talk:
    # A chat that is longer than its title says has a shorter file, which is the one the questions are about.
    shorter = file.with_name("chat_trunecated.json")
    content = json.loads((shorter if shorter.exists() else file).read_text("utf-8"))
    places: dict[int, Place] = {}
    sessions: list[list[Turn]] = []
    for number, batch in enumerate(content):
        turns: list[Turn] = []
        time = 0
        for said in (said for turn in batch["turns"] for said in turn):
            anchor = said.get("time_anchor")
            time = _milliseconds(anchor, "%B-%d-%Y") if anchor else time
            places[said["id"]] = number, len(turns)
            text = said["content"].partition("->->")[0]
            turns.append(_turn(number, len(turns), Role(said["role"]), text, time + 60_000 * len(turns)))
        sessions.append(turns)
    asked = json.loads((file.parent / "probing_questions" / "probing_questions.json").read_text("utf-8"))
    questions = [
        Asked(one["question"], frozenset(places[ref] for ref in _numbers(one.get("source_chat_ids")) if ref in places))
        for ones in asked.values()
        for one in ones
    ]
    return Talk(dataset="BEAM", sessions=sessions, questions=[one for one in questions if one.evidence])


def _numbers(value: Any) -> Iterator[int]:
    """Yields the numbers in nested lists and objects."""
    if isinstance(value, dict):
        yield from _numbers([*cast("dict[str, Any]", value).values()])
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _numbers(item)
    elif isinstance(value, int):
        yield value


def _turn(session: int, index: int, role: Role, text: str, time: int) -> Turn:
    return Turn(Message(id=f"m{session}.{index}", role=role, content=(TextBlock(text=text),)), time)


def _milliseconds(text: str, form: str) -> int:
    return int(datetime.strptime(text.strip(), form).replace(tzinfo=UTC).timestamp() * 1000)
