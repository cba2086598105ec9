"""What of a session leaves this machine for a team's archive: its messages as text, without secret or private text."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from ullage.model.blocks import Block, ResourceBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.events import MessageAppended, Record, SessionCreated
from ullage.model.message import Message, Role
from ullage.redaction.clean import redact
from ullage.redaction.privacy import hide_text
from ullage.service.ports.store import COPY_PREFIX, SessionInfo, digest_of

# Characters of one block that are shared, half from its beginning and half from its end: what the search indexes.
_BLOCK_CHARS = 524_288


def copy_id(session_id: str) -> str:
    """Returns the id that the copy of a session has. The session's own id stays here."""
    return f"{COPY_PREFIX}{digest_of(session_id)}"


def workspace_of(folder: str) -> str:
    """Returns the workspace in which the copies of a folder are. The folder's path may be private, too."""
    return f"w_{digest_of(folder)}"


def redacted_copy(info: SessionInfo, log: Sequence[Record], patterns: Sequence[str]) -> Iterator[Record]:
    """Yields the records of a session's copy: its title and folder, then a message of text for each of its user's, its
    agent's and its tools'. `patterns` are the user's private patterns.

    Nothing else is in it: no system prompt, reasoning, picture, edit, or field that only a provider reads.
    """
    title = _redacted(info.title, patterns)
    created = SessionCreated(title=title, cwd=_redacted(info.cwd, patterns), model=info.model)
    yield Record(position=0, timestamp=info.created_at, event=created)
    yield from redacted_messages(log, patterns, 1)


def redacted_messages(log: Iterable[Record], patterns: Sequence[str], position: int) -> Iterator[Record]:
    """Yields the records of a copy for these records of a session, from a position of the copy on. What a message
    becomes depends on nothing else in the log."""
    for record in log:
        event = record.event
        if not isinstance(event, MessageAppended) or event.message.role is Role.SYSTEM:
            continue
        if text := shared_text(event.message, patterns):
            message = Message(
                id=f"m{position}",
                role=event.message.role,
                content=(TextBlock(text=text),),
                timestamp=event.message.timestamp,
            )
            yield Record(position=position, timestamp=record.timestamp, event=MessageAppended(message=message))
            position += 1


def shared_text(message: Message, patterns: Sequence[str]) -> str:
    """Returns the text of a message without secrets and private text."""
    texts = (_block_text(block, patterns) for block in message.content)
    return "\n".join(_redacted(_bounded(text), patterns) for text in texts if text)


def _redacted(text: str, patterns: Sequence[str]) -> str:
    # A private pattern may be longer than what redaction leaves of it, and a secret than what a pattern leaves.
    return hide_text(redact(hide_text(text, patterns)), patterns)


def _block_text(block: Block, patterns: Sequence[str]) -> str:
    match block:
        case TextBlock():
            return block.text
        case ToolUseBlock():
            # Alone a value has its line ends, and next to its name it is known for what it is.
            inner = _with_leaves(block.input, lambda text: _redacted(text, patterns))
            return f"{block.name}\n{json.dumps(inner, ensure_ascii=False, indent=1)}"
        case ToolResultBlock():
            return "\n".join(filter(None, (_block_text(part, patterns) for part in block.content)))
        case ResourceBlock():
            return f"{block.uri}\n{block.text or ''}"
        case _:
            return ""


def _with_leaves(value: Any, change: Callable[[str], str]) -> Any:
    """Returns a tool's input with every string in it replaced by `change(text)`, whatever its name."""
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _with_leaves(inner, change) for key, inner in cast("dict[str, Any]", value).items()}
        case list():
            return [_with_leaves(inner, change) for inner in cast("list[Any]", value)]
        case _:
            return value


def _bounded(text: str) -> str:
    half = _BLOCK_CHARS // 2
    return text if len(text) <= _BLOCK_CHARS else f"{text[:half]}\n{text[-half:]}"
