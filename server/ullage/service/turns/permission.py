"""Whether a tool call may be made: the person is asked, and need not be asked twice."""

import asyncio

from ullage.model.blocks import ToolUseBlock
from ullage.model.permission import PermissionAnswer
from ullage.model.updates import ToolCall, ToolKind
from ullage.service.conversation.workspace import Workspace

# Where nobody can be asked, what changes nothing may be done.
_HARMLESS = (ToolKind.READ, ToolKind.SEARCH)


async def permitted(workspace: Workspace, session_id: str, use: ToolUseBlock, call: ToolCall) -> bool:
    """The person's answer, now or earlier in the session. One who stops the turn instead ends it as `session/cancel`
    does: raises `CancelledError`."""
    if workspace.permissions is None:
        return call.kind in _HARMLESS
    always = workspace.turns.permitted.setdefault(session_id, set())
    if use.name in always:
        return True
    answer = await workspace.permissions.ask(session_id, call)
    if answer is PermissionAnswer.CANCELLED:
        raise asyncio.CancelledError
    if answer is PermissionAnswer.ALLOW_ALWAYS:
        always.add(use.name)
    return answer is not PermissionAnswer.REJECT_ONCE
