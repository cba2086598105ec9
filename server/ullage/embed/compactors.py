"""Compacts a list of messages that belongs to no session."""

from collections.abc import Collection, Sequence

from msgspec import Struct

from ullage.edits.clear_tool_uses import ClearOptions, clear_tool_uses
from ullage.edits.counted import Stamp, count_view
from ullage.edits.shorten_results import ResultLimits, shorten_results
from ullage.embed.host import Changes, Host
from ullage.embed.returned_values import CompactionResult
from ullage.embed.summarizer import CallableSummarizer, Summarize
from ullage.formats.provider import Provider
from ullage.model.events import SessionCreated
from ullage.model.message import Message
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.compact.by_hand import pin
from ullage.service.compact.to_budget import fit_budget
from ullage.tokens.counter import TokenCounter

_STAMP = Stamp(id="edit", timestamp=0)


class ContextCompactor:
    """Brings messages down to a number of tokens by a summary, or by the next rungs of the ladder if no summary can
    be made."""

    def __init__(self, model: str = "", summarizer: Summarize | None = None) -> None:
        self._settings = Settings(model=model, context=ContextSettings(enabled=False))
        self._summarizer = CallableSummarizer(summarizer, Provider.ANTHROPIC) if summarizer else None

    def compact(
        self, messages: Sequence[Message], target_tokens: int, *, focus: str = "", pinned: Collection[str] = ()
    ) -> CompactionResult:
        """Returns messages of at most `target_tokens`. Raises `CannotFit` if the messages that must stay exceed it
        even when cut."""
        host = Host(self._settings, self._summarizer)

        async def made() -> CompactionResult | None:
            conversation = sessions.new_session(host.workspace, SessionCreated())
            await sessions.append(conversation, messages, None)
            for message_id in pinned:
                pin(conversation, message_id, pinned=True)
            changes = Changes(conversation)
            await fit_budget(conversation, target_tokens, focus)
            return changes.result()

        try:
            return host.run(made()) or _unchanged(messages)
        finally:
            host.close()


class ToolResultCompactor(Struct, frozen=True, kw_only=True):
    """Empties old tool results, except the last `keep`, and shortens those of more than `max_result_tokens`."""

    keep: int = 3
    max_result_tokens: int | None = None
    exclude_tools: frozenset[str] = frozenset()

    def compact(
        self, messages: Sequence[Message], counter: TokenCounter, *, pinned: Collection[str] = ()
    ) -> CompactionResult:
        """Returns all messages, with old tool results emptied or shortened."""
        view = count_view(messages, counter)
        before = view.used
        options = ClearOptions(keep=self.keep, exclude_tools=self.exclude_tools)
        cleared = clear_tool_uses(view, options, _STAMP, frozenset(pinned))
        view = view.after(cleared) if cleared else view
        if self.max_result_tokens is not None:
            limits = ResultLimits(max_result_tokens=self.max_result_tokens, exclude_tools=self.exclude_tools)
            shortened = shorten_results(view, limits, _STAMP, frozenset(pinned))
            view = view.after(shortened) if shortened else view
        return CompactionResult(messages=view.messages, removed=(), saved_tokens=before - view.used)


def _unchanged(messages: Sequence[Message]) -> CompactionResult:
    return CompactionResult(messages=tuple(messages), removed=(), saved_tokens=0)
