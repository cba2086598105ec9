"""A new session that an agent can resume, as a value, and what can write it in the agent's own format."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256

from msgspec import Struct

from ullage.agents.machine import Machine
from ullage.model.blocks import ArtifactLedger, CompactionBlock, TextBlock
from ullage.model.json_values import JsonObject
from ullage.model.marker import render_marker
from ullage.model.message import Message, Role

# The name of the summarizer whose summary is no text of the agent's.
_OFFLINE = "offline"


class NewSession(Struct, frozen=True, kw_only=True):
    """A session to be written.

    `id` is a UUID. `cwd` is the folder of its project, as an absolute path, and `version` the version of the agent
    that wrote the conversation it is made from; empty if unknown. `origin_id` is the id of that conversation.
    `made_at` is the present in Unix milliseconds. `messages` are the context that the agent will have; a marker, if
    there is one, comes first. `used` is the tokens of the context up to the last answer, as the provider will
    report them, 0 if unknown, and `window` those of the model's window.
    """

    id: str
    cwd: str
    messages: tuple[Message, ...]
    made_at: int
    version: str = ""
    origin_id: str = ""
    model: str = ""
    title: str = ""
    used: int = 0
    window: int | None = None


def is_system(message: Message) -> bool:
    """Returns whether a message is a system prompt, which every agent has of its own, and no marker."""
    return message.role is Role.SYSTEM and message.compaction is None


class SessionWriter(Struct, frozen=True, kw_only=True):
    """How sessions are written that an agent resumes. Everything is pure.

    - `lines`: returns the records of the session's file, one a line.
    - `path`: returns the file's absolute path. Raises `InvalidRequest` if the agent's name of the folder is not known.
    - `command`: returns the command that resumes the session, when it is run in the session's folder.
    - `unknown`: returns why a conversation of this version of the agent can't be continued; "" if it can.
    - `is_own`: says whether the agent itself wrote a message that it writes again when a session is resumed.
    - `keeps_reasoning`: whether a session of its own can contain the reasoning of the session that it is made from.
    """

    lines: Callable[[NewSession], Sequence[JsonObject]]
    path: Callable[[Machine, NewSession], str]
    command: Callable[[NewSession], tuple[str, ...]]
    unknown: Callable[[str], str]
    is_own: Callable[[Message], bool] = is_system
    keeps_reasoning: bool = True


def summary_text(marker: CompactionBlock) -> str:
    """Returns the text of a marker for an agent: its own summary as the agent wrote it, or what Ullage sends a model in
    place of the messages that it has archived."""
    is_bare = marker.ledger == ArtifactLedger() and not marker.brought_back and marker.summarizer != _OFFLINE
    return marker.summary if is_bare else render_marker(marker)


def as_said(message: Message) -> Message:
    """Returns a message as the agent sends it: a marker becomes the user's message with its text."""
    marker = message.compaction
    if marker is None:
        return message
    said = TextBlock(text=summary_text(marker))
    return Message(id=message.id, role=Role.USER, content=(said,), timestamp=message.timestamp)


def is_later(version: str, major: int) -> bool:
    """Returns whether a version is of a later major number than `major`. False for a text that is no version."""
    first = version.partition(".")[0]
    return first.isdecimal() and int(first) > major


def moment(time: int) -> str:
    """Returns a time in Unix milliseconds as agents' logs write it."""
    seconds = datetime.fromtimestamp(time // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{seconds}.{time % 1000:03}Z"


def uuid_of(*words: str) -> str:
    """Returns a UUID that is always the same for the same words, in the form of a random one."""
    digits = list(sha256("\n".join(words).encode()).hexdigest()[:32])
    # The digits by which a random UUID (version 4, RFC 9562) is known.
    digits[12], digits[16] = "4", "8"
    text = "".join(digits)
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
