"""Context editing that a provider does itself: what it is asked, and what it did as an edit of ours.

The provider clears what it is sent, and keeps nothing. So the edit is made here, too: the user sees it in the
transcript like any other, the next request already goes without what was cleared, and an undo brings it back.
"""

from msgspec.structs import replace

from ullage.edits.clear_tool_uses import MEMORY_TOOLS, ClearOptions, cleared_elsewhere
from ullage.model.answer import ModelRequest, ToolUseClearing
from ullage.model.events import ContextEdited
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.publish import context_cleared
from ullage.service.plan.ladder import OLD_TOOL_USES
from ullage.transcript.keep import kept


def with_clearing(conversation: Conversation, request: ModelRequest) -> ModelRequest:
    """The request, with the settings of clearing for a provider that manages the context itself."""
    budget, settings = conversation.budget, conversation.settings
    if budget is None or not conversation.guards.provider_clears or not conversation.is_managed:
        return request
    clearing = ToolUseClearing(
        trigger=budget.clear_at,
        keep=settings.keep_tool_uses,
        clear_at_least=settings.clear_at_least,
        exclude_tools=tuple(sorted({*settings.exclude_tools, *MEMORY_TOOLS})),
        clear_tool_inputs=settings.clear_tool_inputs,
    )
    return replace(request, clearing=clearing)


def note_cleared(conversation: Conversation, count: int) -> None:
    """Clears here what the provider cleared for the answer that has just come. To be called before its usage is
    taken in, which speaks of a prompt without that."""
    if not count:
        return
    settings, before = conversation.settings, conversation.used
    options = ClearOptions(
        exclude_tools=frozenset(settings.exclude_tools), clear_tool_inputs=settings.clear_tool_inputs
    )
    view, transcript = conversation.projection.counted_view(), conversation.transcript
    untouched = frozenset({*kept(view.messages, transcript.pinned), *transcript.relied})
    edit = cleared_elsewhere(view, count, options, conversation.workspace.new_stamp(), untouched)
    if edit is None:
        return
    conversation.record(ContextEdited(edit=edit))
    conversation.emit(context_cleared(OLD_TOOL_USES.what, before, conversation.used, [edit]))
