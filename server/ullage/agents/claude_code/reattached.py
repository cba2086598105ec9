"""The files that Claude Code attaches again after it has compacted the context.

Measured with 2.1.316 in one process: of the files that were read or changed since the last compaction, the five that
were last changed on the disk come back whole, if each has at most 5,000 tokens; of a longer one only the name comes.
A process that has resumed a session attaches no file that an earlier one has read, and the log does not say which.

Measured on seven compactions of the versions 2.0.76 to 2.1.39: what their next prompts held beyond the summary and the
hidden part was, within 5,000 tokens each, the last five files that had been read or changed, each cut to 5,000 tokens.
The logs of these versions don't contain them. Later logs have them as attachments.
"""

from collections.abc import Sequence

from ullage.agents.own_context import Reattached, Setup, version_of
from ullage.agents.tools import Action, action_of, path_of
from ullage.model.blocks import ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.message import Message

_FILES, _MOST = 5, 5_000
_FIRST, _LAST = (2, 0, 76), (2, 1, 42)
_TOUCHING = (Action.READ, Action.WRITE, Action.EDIT)


def reattached(setup: Setup, context: Sequence[Message]) -> Reattached | None:
    """Returns the texts of the files that Claude Code adds to the context again after a compaction. `context` is the
    messages before it. Returns None for versions of which it is not known."""
    if not _FIRST <= version_of(setup.version) <= _LAST:
        return None
    return Reattached(texts=tuple(_last_files(context)), most=_MOST)


def _last_files(context: Sequence[Message]) -> list[str]:
    """Returns what the context's last five read or changed files contained when they were read, oldest first. The text
    of a file that was only changed is empty."""
    calls: dict[str, ToolUseBlock] = {}
    files: dict[str, str] = {}
    for message in context:
        for block in message.content:
            if isinstance(block, ToolUseBlock) and action_of(block.name, block.input) in _TOUCHING:
                calls[block.id] = block
            elif isinstance(block, ToolResultBlock) and (call := calls.get(block.tool_use_id)):
                path = path_of(call.input)
                known = files.pop(path, "")
                is_read = action_of(call.name, call.input) is Action.READ
                # Claude Code reads the file again; what was read of it may be a part.
                files[path] = max(known, join_texts(block.content) if is_read else "", key=len)
    return list(files.values())[-_FILES:]
