"""Writes a session that Claude Code resumes with `claude --resume ID`.

Each line names its parent, and each message is one line. A summary is a user line with `isCompactSummary` and comes
first. The last answer has the usage that the new context will have, not that of the original, which may be larger. By
it Claude Code 2.1 decides whether to compact before the first request. `forkedFrom`, which Claude Code writes in a
branch, says that the lines, and that usage, are another conversation's. Without a usage it estimates a token for each
four characters, and compacts a session of English text that is well below its threshold.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.claude_code.entries import is_listed_again
from ullage.agents.inserted import CLAUDE_CODE, is_by_program
from ullage.agents.machine import Machine
from ullage.agents.new_session import NewSession, SessionWriter, as_said, moment, summary_text, uuid_of
from ullage.formats.provider import write_block
from ullage.formats.turns import Turn, pair_turns
from ullage.formats.verbatim import ANTHROPIC
from ullage.model.errors import InvalidRequest
from ullage.model.json_values import JsonObject
from ullage.model.message import Message, Provided, Role, ToolUseBlock, join_texts

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]")
# Characters. The folder of a longer path has a hash after so many.
_LONGEST_NAME = 200
# What marks a line of the user that the program wrote: a skill's text, a caveat.
_BY_PROGRAM = Provided(format=ANTHROPIC, fields={"isMeta": True})
_NOT_TYPED = re.compile("|".join(CLAUDE_CODE.not_typed))


class _Line(Struct, frozen=True, kw_only=True):
    """A line of the log: its type, its message, the fields that say what the message is, and its time in Unix
    milliseconds, 0 if unknown."""

    kind: str
    message: dict[str, Any]
    beside: dict[str, Any]
    time: int


def lines(session: NewSession) -> Sequence[JsonObject]:
    """Returns the lines of a session's file. Each tool call has its result: without one it gets a result that says so,
    and a result without a call becomes text. Each line has a time of its own, that of its message if possible."""
    shared = {"isSidechain": False, "userType": "external", "cwd": session.cwd, "sessionId": session.id}
    if session.version:
        shared["version"] = session.version
    written: list[JsonObject] = []
    parent: str | None = None
    time = 0
    for number, line in enumerate(_lines(session)):
        # Lines of one time with the same text would be copies of each other.
        time = max(time + 1, line.time or (0 if time else session.made_at))
        uuid = uuid_of(session.id, f"line {number}")
        own = {"type": line.kind, "message": line.message, **line.beside, "uuid": uuid, "timestamp": moment(time)}
        copied = {"forkedFrom": {"sessionId": session.origin_id, "messageUuid": uuid}} if session.origin_id else {}
        written.append({"parentUuid": parent, **shared, **own, **copied})
        parent = uuid
    if session.title:
        written.append({"type": "custom-title", "customTitle": session.title, "sessionId": session.id})
    return written


def project_pattern(machine: Machine, cwd: str) -> str:
    """Returns a glob pattern for the folder in which Claude Code keeps the sessions of the project at `cwd`.

    Each character of the path other than letters, digits and `-` becomes `-`. Longer names than 200 characters are cut
    and end in a hash, for which the pattern has a wildcard.
    """
    name = _NOT_IN_NAMES.sub("-", cwd)
    name = f"{name[:_LONGEST_NAME]}-*" if len(name) > _LONGEST_NAME else name
    return f"{machine.folder('CLAUDE_CONFIG_DIR', '.claude')}/projects/{name}"


def path(machine: Machine, session: NewSession) -> str:
    """Returns the path of a session's file in the folder of its project. Raises `InvalidRequest` for a project whose
    path is so long that Claude Code names the folder by a hash."""
    folder = project_pattern(machine, session.cwd)
    if folder.endswith("*"):
        raise InvalidRequest(f"{session.cwd}: the agent names the folder of so long a path by a hash, which is unknown")
    return f"{folder}/{session.id}.jsonl"


WRITER = SessionWriter(lines=lines, path=path, words=("claude", "--resume"), latest=2, is_repeated=is_listed_again)


def _lines(session: NewSession) -> Iterator[_Line]:
    marked = session.messages[0].compaction if session.messages else None
    if marked:
        summary = {"isCompactSummary": True, "isVisibleInTranscriptOnly": True}
        message = {"role": "user", "content": summary_text(marked)}
        yield _Line(kind="user", message=message, beside=summary, time=session.messages[0].timestamp)
    rest = [_marked(as_said(message)) for message in session.messages[bool(marked) :] if not WRITER.is_own(message)]
    turns = pair_turns(rest, ANTHROPIC).turns
    last = max((at for at, turn in enumerate(turns) if turn.role is Role.ASSISTANT), default=-1)
    for number, turn in enumerate(turns):
        if turn.role is Role.ASSISTANT:
            yield _answer(session, turn, number, session.used if number == last else 0)
        elif turn.role is Role.USER and turn.content:
            yield _prompt(turn)


def _answer(session: NewSession, turn: Turn, number: int, used: int) -> _Line:
    # Answers of one id are one answer.
    about = {"id": f"msg_{uuid_of(session.id, f'answer {number}')}", "type": "message", "role": "assistant"}
    if session.model:
        about["model"] = session.model
    calls = any(isinstance(block, ToolUseBlock) for block in turn.content)
    ended = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    usage = {"usage": {"input_tokens": used, "output_tokens": 0}} if used else {}
    content = [write_block(block) for block in turn.content]
    message = {**about, "content": content, **ended, **usage}
    return _Line(kind="assistant", message=message, beside={}, time=turn.timestamp)


def _marked(message: Message) -> Message:
    """Returns a message that the program wrote in the user's place with a mark that its turn keeps."""
    return replace(message, provided=_BY_PROGRAM) if is_by_program(message) else message


def _prompt(turn: Turn) -> _Line:
    is_typed = turn.provided != _BY_PROGRAM and _NOT_TYPED.match(join_texts(turn.content).lstrip()) is None
    message = {"role": "user", "content": [write_block(block) for block in turn.content]}
    return _Line(kind="user", message=message, beside={} if is_typed else {"isMeta": True}, time=turn.timestamp)
