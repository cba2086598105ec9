"""Context editing by the provider: its settings in a request, and its result as an edit of ours.

The provider clears a copy of the messages and keeps nothing. So the same edit is recorded here: the user sees it in the
history, the next request is sent without the cleared content, and an undo brings the content back.
"""

from msgspec.structs import replace

from ullage.edits.clear import MEMORY_TOOLS, ClearOptions, cleared_elsewhere
from ullage.model.answer import ModelRequest, ToolUseClearing
from ullage.model.events import ContextEdited
from ullage.model.updates import Notice
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.publish import context_cleared
from ullage.service.plan.ladder import OLD_TOOL_USES
from ullage.transcript.cut_points import kept


def with_clearing(conversation: Conversation, request: ModelRequest) -> ModelRequest:
    """Returns the request with settings by which the provider clears old tool uses, if the provider does so by itself
    and the context is managed. Otherwise returns the request unchanged."""
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


def note_cleared(conversation: Conversation, count: int) -> tuple[tuple[ContextEdited, ...], Notice | None]:
    """Returns the edit for the `count` tool uses that the provider cleared before it wrote the answer that has just
    come, and the notice of it; nothing if there are none. The edit must be recorded before the answer's usage, because
    that usage counts a prompt without the cleared content."""
    if not count:
        return (), None
    settings, before = conversation.settings, conversation.used
    options = ClearOptions(
        exclude_tools=frozenset(settings.exclude_tools), clear_tool_inputs=settings.clear_tool_inputs
    )
    view, transcript = conversation.projection.counted_view(), conversation.transcript
    untouched = frozenset({*kept(view.messages, transcript.pinned), *transcript.relied})
    edit = cleared_elsewhere(view, count, options, conversation.workspace.new_stamp(), untouched)
    if edit is None:
        return (), None
    edit = replace(edit, context_size_before=before)
    after = conversation.imagine(ContextEdited(edit=edit)).used
    return (ContextEdited(edit=edit),), context_cleared(OLD_TOOL_USES.what, before, after, [edit])
