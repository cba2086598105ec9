"""Context editing that a provider does itself: what it is asked, and what it did as an edit of ours.

The provider clears what it is sent, and keeps nothing. So the edit is made here, too: the person sees it in the
transcript like any other, the next request already goes without what was cleared, and an undo brings it back.
"""

from msgspec.structs import replace

from ullage.edits.clear_tool_uses import MEMORY_TOOLS, ClearOptions, cleared_elsewhere
from ullage.model.answer import ModelRequest, ToolUseClearing
from ullage.model.events import ContextEdited
from ullage.service.compact.run import new_stamp
from ullage.service.conversation.notices import context_cleared
from ullage.service.conversation.session import Session
from ullage.service.conversation.usage import tell_usage
from ullage.service.conversation.workspace import Workspace
from ullage.service.plan.ladder import OLD_TOOL_USES
from ullage.transcript.keep import kept


def with_clearing(workspace: Workspace, session: Session, request: ModelRequest) -> ModelRequest:
    """The request, with the settings of clearing for a provider that manages the context itself."""
    budget = workspace.budget(session)
    if budget is None or session.id not in workspace.turns.managed or not workspace.is_managed(session):
        return request
    settings = workspace.settings_of(session)
    clearing = ToolUseClearing(
        trigger=budget.clear_at,
        keep=settings.keep_tool_uses,
        clear_at_least=settings.clear_at_least,
        exclude_tools=tuple(sorted({*settings.exclude_tools, *MEMORY_TOOLS})),
        clear_tool_inputs=settings.clear_tool_inputs,
    )
    return replace(request, clearing=clearing)


def note_cleared(workspace: Workspace, session_id: str, count: int) -> None:
    """Clears here what the provider cleared for the answer that has just come. To be called before its usage is
    taken in, which speaks of a prompt without that."""
    if not count:
        return
    session = workspace.session(session_id)
    settings, before = workspace.settings_of(session), session.used
    options = ClearOptions(
        exclude_tools=frozenset(settings.exclude_tools), clear_tool_inputs=settings.clear_tool_inputs
    )
    view, transcript = session.counted_view(), session.transcript
    untouched = frozenset({*kept(view.messages, transcript.pinned), *transcript.relied})
    edit = cleared_elsewhere(view, count, options, new_stamp(workspace), untouched)
    if edit is None:
        return
    session = workspace.record(session, ContextEdited(edit=edit))
    tell_usage(workspace, session)
    workspace.emit(session_id, context_cleared(OLD_TOOL_USES.what, before, session.used, [edit]))
