"""The context of one conversation, for a program that runs its own agent.

It is the engine of the editors' doors (log, projection, tracker, edits, summaries) as one plain object. Nothing happens
automatically: room is made when the program asks for it, or asks what to send.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack

from msgspec.structs import asdict, replace

from ullage.catalog.limits import ContextLimits
from ullage.embed.host import Changes, Host, OnUpdate
from ullage.embed.results import CompactionResult, ContextStats
from ullage.embed.summarizer import CallableSummarizer, Summarize
from ullage.formats.provider import Provider, read_definitions, read_events, write_request
from ullage.formats.usage import convert_usage
from ullage.model.errors import NothingToUndo, WindowUnknown
from ullage.model.events import MessageAppended, SessionCreated, UsageReported
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import ContextSettings, ModelSettings, Settings
from ullage.model.usage import Usage
from ullage.policy.alarm import level
from ullage.policy.budget import ContextBudget
from ullage.service import sessions
from ullage.service.archive import undo as history
from ullage.service.archive.search import search
from ullage.service.archive.undo import HistoryEntry
from ullage.service.compact import by_hand
from ullage.service.compact.automatic import shrink
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import transcript_page
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SearchHit
from ullage.transcript.fold import EditInfo

T = TypeVar("T")
_MESSAGES = {Provider.ANTHROPIC: "messages", Provider.OPENAI: "messages", Provider.OPENAI_RESPONSES: "input"}


class ManagerOptions(TypedDict, total=False):
    """The options of a `ContextManager`.

    `window` and `max_output` (tokens) override what the catalog says about the model. `context` holds thresholds, mode
    and strategies. `summarizer` writes the summaries; without one they are composed offline. Everything is kept in a
    temporary file, or in the file `store`, where `session_id` finds it again. `on_update` is called with every update
    (session id, update) in another thread; it must not call the manager.
    """

    system: str
    tools: Sequence[Mapping[str, Any]]
    window: int
    max_output: int
    context: ContextSettings
    summarizer: Summarize
    store: Path | str
    session_id: str
    on_update: OnUpdate


class ContextManager:
    """Takes messages in a provider's format, and gives the messages to send next in the same format.

    `model` decides how tokens are counted and how many fit. `provider` is `anthropic` (Messages), `openai` (Chat
    Completions) or `openai-responses`. Raises `WindowUnknown` if neither the catalog nor the option `window` gives the
    model's window.
    """

    def __init__(
        self, model: str, provider: Provider | str = Provider.ANTHROPIC, **options: Unpack[ManagerOptions]
    ) -> None:
        self.provider = Provider(provider)
        settings = _settings(model, options)
        if ContextLimits.for_model(model, settings.models).input is None:
            raise WindowUnknown(f"the window of model {model!r} is not known; give it as `window`, in tokens")
        summarize = options.get("summarizer")
        summarizer = CallableSummarizer(summarize, self.provider) if summarize else None
        self._host = Host(settings, summarizer, options.get("store"), options.get("on_update"))
        tools = read_definitions(self.provider, options.get("tools", ()))
        self.session_id = options.get("session_id") or self._begin(model, options.get("system", ""), tools)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store. The manager cannot be used afterwards."""
        self._host.close()

    def add_message(self, *messages: Mapping[str, Any], usage: Mapping[str, Any] | None = None) -> tuple[str, ...]:
        """Takes messages (or Responses items) as they are sent to the provider, and the provider's `usage` of the
        answer among them. Returns the messages' ids; ids are made for messages without one. Raises `InvalidRequest`."""
        workspace = self._host.workspace
        events = read_events(self.provider, messages, lambda: workspace.ports.ids.new("m"))
        now = workspace.ports.clock.now()
        read = [replace(event.message, timestamp=now) for event in events if isinstance(event, MessageAppended)]
        reported = next((event.usage for event in reversed(events) if isinstance(event, UsageReported)), None)
        return self._append(read, convert_usage(usage) if usage is not None else reported)

    def update_usage(self, usage: Mapping[str, Any]) -> None:
        """Takes the provider's usage of the request that produced the last answer. Raises `InvalidRequest` if there
        is no answer yet."""
        self._append([], convert_usage(usage))

    def set_system_prompt(self, text: str) -> None:
        """Replaces the system prompt from here on."""
        self._call(lambda conversation: sessions.change_system_prompt(conversation, text))

    def set_tools(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Replaces the tools that are offered from here on."""
        declared = read_definitions(self.provider, tools)
        self._call(lambda conversation: sessions.declare_tools(conversation, declared))

    def get_messages(self) -> list[dict[str, Any]]:
        """Returns every message ever added, archived or not, in the provider's format, without the system prompt."""
        page = self._call(lambda conversation: transcript_page(conversation, 0, None))
        said = [entry.message for entry in page.entries if not entry.inserted and entry.message.role is not Role.SYSTEM]
        return write_request(self.provider, said)[_MESSAGES[self.provider]]

    def get_context_for_request(self) -> dict[str, Any]:
        """Returns what to send next, as arguments of the provider's call (`messages`, `system`, `tools`, …). Makes
        room first if that is due, so that the request always fits."""
        self.compact_if_needed()
        transcript = self._call(lambda conversation: conversation.transcript)
        request = write_request(self.provider, transcript.view, transcript.tools)
        # Providers refuse an empty list of tools and a null system prompt.
        return {key: value for key, value in request.items() if value or key == _MESSAGES[self.provider]}

    def needs_compaction(self) -> bool:
        """Returns whether a summary, or what `mode` puts in its place, is due."""
        return self.token_usage() >= self._call(_budget).compact_at

    def compact_if_needed(self) -> CompactionResult | None:
        """Makes the room that is due, by the cheapest means first. Returns None if none was due or no message may
        go."""

        async def made() -> CompactionResult | None:
            conversation = self._host.workspace.open(self.session_id)
            await conversation.settled()
            changes = Changes(conversation)
            await shrink(conversation)
            return changes.result()

        return self._host.run(made())

    def compact(self, focus: str = "") -> CompactionResult:
        """Compacts now. `focus` names what the summary must keep. Raises `NothingToCompact`."""

        async def made() -> CompactionResult:
            conversation = self._host.workspace.open(self.session_id)
            await conversation.settled()
            changes = Changes(conversation)
            await by_hand.compact_by_hand(conversation, by_hand.ManualRequest(focus=focus))
            result = changes.result()
            assert result is not None, "a compaction is an edit"
            return result

        return self._host.run(made())

    def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        """Undoes the last edit, or the edit named, together with the edits of the same action. Returns the undone
        edits; none if no edit is in force."""
        try:
            return self._call(lambda conversation: history.undo(conversation, edit_id)).edits
        except NothingToUndo:
            return ()

    def history(self) -> tuple[HistoryEntry, ...]:
        """Returns every edit ever made, oldest first."""
        return self._call(history.history)

    def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Keeps a message verbatim through every edit, or no longer. Raises `MessageNotFound`."""
        self._call(lambda conversation: by_hand.pin(conversation, message_id, pinned=pinned))

    def search(self, query: str, limit: int = 10) -> tuple[SearchHit, ...]:
        """Searches every message ever added, archived or not."""
        return self._host.run(search(self._host.workspace, self.session_id, query, limit))

    def get_stats(self) -> ContextStats:
        """Returns all figures about the context's size."""

        def stats(conversation: Conversation) -> ContextStats:
            known = {name: value for name, value in asdict(usage_meta(conversation)).items() if name != "level"}
            used, budget = conversation.used, _budget(conversation)
            return ContextStats(used=used, size=budget.window, level=level(used, budget), **known)

        return self._call(stats)

    def token_usage(self) -> int:
        """Returns the tokens in the context."""
        return self._call(lambda conversation: conversation.used)

    def available_tokens(self) -> int:
        """Tokens still free, the reserve for the answer left out."""
        return self._call(_budget).available(self.token_usage())

    def reset(self) -> None:
        """Begins a new conversation with the same model, system prompt and tools; the old one stays in the store."""
        old = self._call(lambda conversation: conversation.transcript)
        system = "\n\n".join(message.text for message in old.view if message.role is Role.SYSTEM)
        self.session_id = self._begin(old.model, system, old.tools)

    def _begin(self, model: str, system: str, tools: Sequence[ToolDefinition]) -> str:
        created = SessionCreated(model=model)
        return self._host.call(lambda workspace: sessions.new_session(workspace, created, system, tools).id)

    def _append(self, messages: Sequence[Message], usage: Usage | None) -> tuple[str, ...]:
        async def made() -> tuple[str, ...]:
            return await sessions.append(self._host.workspace.open(self.session_id), messages, usage)

        return self._host.run(made())

    def _call(self, work: Callable[[Conversation], T]) -> T:
        """What plain code makes of the conversation."""

        def opened(workspace: Workspace) -> T:
            return work(workspace.open(self.session_id))

        return self._host.call(opened)


def _budget(conversation: Conversation) -> ContextBudget:
    if conversation.budget is None:
        raise WindowUnknown(f"the window of model {conversation.model!r} is not known; give it as `window`")
    return conversation.budget


def _settings(model: str, options: ManagerOptions) -> Settings:
    known = ModelSettings(window=options.get("window"), max_output=options.get("max_output"))
    # The manager's caller alone decides when room is made.
    context = replace(options.get("context", ContextSettings()), enabled=False)
    return Settings(model=model, models={model: known}, context=context)
