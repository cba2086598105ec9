"""The context of one conversation, for a program that runs its own agent.

It is the engine that the doors use (log, projection, tracker, edits, summaries) as one plain object. Nothing happens
automatically: room is made when the program calls for it, or requests the messages to send. Methods that may call the
program's model are coroutines; each has a variant for programs without an event loop, whose name ends in `_sync`.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from msgspec.structs import asdict, replace

from ullage.catalog import limits as catalog
from ullage.embed.compactors import ContextCompactor
from ullage.embed.context_tracker import ContextTracker
from ullage.embed.counters import BaseCounter
from ullage.embed.host import Changes, Host, OnUpdate
from ullage.embed.keywords import checked
from ullage.embed.messages import plain
from ullage.embed.model_limits import ContextBudget, ContextLimits
from ullage.embed.returned_values import CompactionResult, ContextStats, SearchResults
from ullage.embed.summarizer import LLM, Caller, OwnSummarizer, checked_llm
from ullage.embed.truncation_strategies import TruncationStrategy, check_strategy, strategy_for, to_engine
from ullage.formats.provider import Provider, read_definitions, read_events, write_messages, write_request
from ullage.formats.provider_usage import convert_usage
from ullage.model.errors import InvalidRequest, NothingToUndo, WindowUnknown
from ullage.model.events import MessageAppended, SessionCreated, UsageReported
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import ContextSettings, ModelSettings, SearchSettings, Settings
from ullage.model.settings_rules import check_context
from ullage.model.strategies import TruncationMode
from ullage.model.usage import Usage
from ullage.policy import budget as policy
from ullage.policy.alarm import level
from ullage.service import sessions
from ullage.service.archive import undo as history
from ullage.service.archive.search import search
from ullage.service.archive.undo import HistoryEntry
from ullage.service.compact import by_hand
from ullage.service.compact.automatic import shrink
from ullage.service.compact.warnings import warn_if_due
from ullage.service.conversation.checkpoints import Checkpoint
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import transcript_page
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.transcript.fold import EditInfo

T = TypeVar("T")
_MESSAGES = {Provider.ANTHROPIC: "messages", Provider.OPENAI: "messages", Provider.OPENAI_RESPONSES: "input"}
_DEFAULTS = ContextSettings()
_NO_EMBEDDINGS = SearchSettings()


@checked
class ContextManager:
    """Keeps one conversation in a model's window: takes its messages in a provider's format, and returns the messages
    to send next in the same format.

    - `model` decides how tokens are counted and how many fit. `window` and `max_output`, in tokens, replace the
      catalog's figures.
    - `mode` is how room is made: by a summary, or by dropping whole messages. `strategy` chooses the messages that are
      dropped; it may be a strategy of the program's own.
    - `llm` writes the summaries: a function of a `SummaryTask`, which may be a coroutine function, or an object with
      `ainvoke(text)` or `invoke(text)`. Without it, or if it fails, summaries are composed by code.
    - `provider` is `anthropic` (Messages), `openai` (Chat Completions) or `openai-responses`. Without it, the model's
      name decides. It may also be given in place of `mode`.
    - `system` and `tools` are the system prompt and the tools of a new conversation.
    - `context` contains the thresholds.
    - `store` is the file in which the conversation is stored, or the address of a PostgreSQL database
      (`postgresql://…`, with the extra `postgres`), or None for a temporary file. `session_id` continues a conversation
      in that store.
    - `search` names an embeddings server that orders what `search()` finds by its meaning, too.
    - `on_update` is called in another thread with the session id and each update, warnings included. It must not call
      the manager.

    Raises `WindowUnknown` if neither the catalog nor `window` gives the model's window, `InvalidRequest` for an unknown
    mode or provider and for thresholds that contradict each other, and `TypeError` for an unknown option.
    """

    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        provider: Provider | str | None = None,
        system: str = "",
        tools: Sequence[Mapping[str, Any]] = (),
        window: int | None = None,
        max_output: int | None = None,
        strategy: TruncationStrategy | None = None,
        context: ContextSettings = _DEFAULTS,
        store: Path | str | None = None,
        search: SearchSettings = _NO_EMBEDDINGS,
        session_id: str = "",
        on_update: OnUpdate | None = None,
    ) -> None:
        if mode in tuple(Provider) and provider is None:
            mode, provider = None, Provider(mode)
        self.model = model
        self.provider = Provider(provider) if provider is not None else _usual_provider(model)
        self.mode = _mode(mode, context, strategy)
        self.limits = ContextLimits.for_model(model, window=window, max_output=max_output)
        self.llm = None if llm is None else checked_llm(llm)
        check_context(context)
        self._strategy = strategy
        settings = Settings(
            model=model,
            models={model: ModelSettings(window=window, max_output=max_output)},
            # The manager's caller alone decides when room is made.
            context=replace(context, mode=self.mode, enabled=False),
            search=search,
        )
        caller = Caller()
        summarizer = OwnSummarizer(self.llm, self.provider, caller) if self.llm is not None else None
        self._host = Host(settings, summarizer, store, on_update, caller)
        if strategy is not None:
            check_strategy(strategy)
            own = to_engine(strategy, self._host.workspace.counter(model), partial(write_messages, self.provider))
            self._host.workspace.own_strategy = own
        self.session_id = session_id or self._begin(model, system, read_definitions(self.provider, tools))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store, and deletes it if it is temporary. The manager cannot be used afterwards."""
        self._host.close()

    def add_message(self, *messages: Any, usage: Any = None) -> tuple[str, ...]:
        """Appends messages to the conversation. Makes no room.

        A message is what the provider's API takes or returns (for `openai-responses`, an item), as plain values or as
        an object of the provider's SDK. `usage` is the usage that the provider reported with the answer among them.
        Returns the messages' ids; a message without an id gets one. Raises `InvalidRequest` if one is not a message.
        """
        workspace = self._host.workspace
        given = [plain(message) for message in messages]
        events = read_events(self.provider, given, lambda: workspace.ports.ids.new("m"))
        now = workspace.ports.clock.now()
        read = [replace(event.message, timestamp=now) for event in events if isinstance(event, MessageAppended)]
        reported = next((event.usage for event in reversed(events) if isinstance(event, UsageReported)), None)
        return self._append(read, convert_usage(plain(usage)) if usage is not None else reported)

    def update_usage(self, usage: Any) -> None:
        """Records the usage, in the provider's own form, that the provider reported with the last answer. Raises
        `InvalidRequest` if there is no answer yet."""
        self._append([], convert_usage(plain(usage)))

    def set_system_prompt(self, text: str) -> None:
        """Replaces the system prompt."""
        self._call(lambda conversation: sessions.change_system_prompt(conversation, text))

    def set_tools(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """Replaces the tools that the model is offered. `tools` are definitions in the provider's format."""
        declared = read_definitions(self.provider, tools)
        self._call(lambda conversation: sessions.declare_tools(conversation, declared))

    def get_messages(self) -> list[dict[str, Any]]:
        """Returns every message that was ever added, archived ones included, in the provider's format, without system
        prompts."""
        page = self._call(lambda conversation: transcript_page(conversation, 0, None))
        said = [entry.message for entry in page.entries if not entry.inserted and entry.message.role is not Role.SYSTEM]
        return [written for message in said for written in write_messages(self.provider, message)]

    def get_context_for_request(self) -> list[dict[str, Any]]:
        """Returns the messages to send next, in the provider's format. Makes room first if that is due, so that the
        request fits.

        For `openai` the system prompt is the first message. The other providers take it separately; `get_request`
        returns it.
        """
        return self.get_request()[_MESSAGES[self.provider]]

    def get_request(self) -> dict[str, Any]:
        """Returns what to send next, as arguments of the provider's call (`messages`, `system`, `tools`, …). Makes room
        first if that is due, so that the request fits.

        In a program with an event loop, await `compact_if_needed` before, because this method blocks while it makes
        room.
        """
        self.compact_if_needed_sync()
        transcript = self._call(lambda conversation: conversation.transcript)
        request = write_request(self.provider, transcript.view, transcript.tools)
        # Providers refuse an empty list of tools and a null system prompt.
        return {key: value for key, value in request.items() if value or key == _MESSAGES[self.provider]}

    def needs_compaction(self) -> bool:
        """Returns whether the context has reached the compaction threshold, at which `compact_if_needed` writes a
        summary or, depending on `mode`, drops messages."""
        return self.token_usage >= self._call(_budget).compact_at

    async def compact_if_needed(self) -> CompactionResult | None:
        """Makes room in the context if that is due, by the cheapest edits first. Returns what was done, or None if
        nothing was due or no message may be edited."""
        return await self._host.wait_for(self._shrunk())

    def compact_if_needed_sync(self) -> CompactionResult | None:
        """Does the same as `compact_if_needed`, for a program without an event loop: blocks until the work is done."""
        return self._host.run(self._shrunk())

    async def compact(self, focus: str = "") -> CompactionResult:
        """Compacts the context now, however full it is. Returns what was done. `focus` is what the summary must keep
        above all. Raises `NothingToCompact`."""
        return await self._host.wait_for(self._compacted(focus))

    def compact_sync(self, focus: str = "") -> CompactionResult:
        """Does the same as `compact`, for a program without an event loop: blocks until the work is done."""
        return self._host.run(self._compacted(focus))

    def undo(self, edit_id: str | None = None) -> tuple[EditInfo, ...]:
        """Undoes the edit `edit_id`, or the last edit if it is None, together with the other edits of the same action.
        Returns the undone edits, or an empty tuple if no edit is in force. Raises `EditNotFound` for an unknown id."""
        try:
            return self._call(lambda conversation: history.undo(conversation, edit_id)).edits
        except NothingToUndo:
            return ()

    def history(self) -> tuple[HistoryEntry, ...]:
        """Returns every edit that was ever made, undone ones included, oldest first."""
        return self._call(history.history)

    def restore(
        self, *, timestamp: int | str | None = None, message_id: str | None = None, edit_id: str | None = None
    ) -> tuple[EditInfo, ...]:
        """Undoes and redoes edits so that the edits in force are those at an earlier place: a time (Unix milliseconds
        or ISO 8601), after a message, or after an edit. Give exactly one of the three.

        Messages and pins are not changed. Returns the edits that were undone or redone. Raises `InvalidRequest` unless
        exactly one place is given, `EditNotFound` and `MessageNotFound`.
        """
        place = Checkpoint(timestamp=timestamp, message_id=message_id, edit_id=edit_id)
        return self._call(lambda conversation: history.restore(conversation, place)).edits

    def pin(self, message_id: str, *, pinned: bool = True) -> None:
        """Pins a message, so that every edit keeps it verbatim, or unpins it if `pinned` is false. Raises
        `MessageNotFound`."""
        self._call(lambda conversation: by_hand.pin(conversation, message_id, pinned=pinned))

    def search(self, query: str, limit: int = 10) -> SearchResults:
        """Returns at most `limit` messages that match `query`, among all messages ever added, archived ones
        included."""
        return SearchResults(self._host.run(search(self._host.workspace, self.session_id, query, limit)))

    def get_stats(self) -> ContextStats:
        """Returns all figures about the context's size, in tokens."""

        def stats(conversation: Conversation) -> ContextStats:
            known = {name: value for name, value in asdict(usage_meta(conversation)).items() if name != "level"}
            used, budget = conversation.used, _budget(conversation)
            age = conversation.workspace.ports.clock.now() - known["oldest_timestamp"]
            return ContextStats(
                used=used,
                size=budget.window,
                level=level(used, budget),
                oldest_message_age=age if known["oldest_timestamp"] else None,
                **known,
            )

        return self._call(stats)

    def count_tokens(self, content: Any) -> int:
        """Returns the number of tokens of a text, a message or a list of messages, counted with the model's
        tokenizer."""
        counter = BaseCounter(self._host.workspace.counter(self.model))
        if isinstance(content, str):
            return counter.count(content)
        messages: list[Any] = [content] if isinstance(content, Mapping) else list(content)
        return counter.count_messages(messages)

    @staticmethod
    def get_context_limit(model: str) -> int | None:
        """Returns the longest prompt of any model, in tokens, or None if the catalog does not know the model."""
        return catalog.ContextLimits.for_model(model).input

    @property
    def token_usage(self) -> int:
        """The tokens in the context."""
        return self._call(lambda conversation: conversation.used)

    @property
    def available_tokens(self) -> int:
        """The tokens that are still free for messages, without the reserve for the answer."""
        return self._call(_budget).available(self.token_usage)

    @property
    def budget(self) -> ContextBudget:
        """How the tokens of the window are divided now: system prompt, conversation, tools and the reserve for the
        answer."""
        stats = self.get_stats()
        assert stats.shares is not None, "a manager's window is known"
        return ContextBudget.of(stats.size, stats.used, stats.shares)

    @property
    def tracker(self) -> ContextTracker:
        """A copy of the conversation's tracker, which counts how full the context is now. Messages added to the copy
        are not added to the conversation."""
        state = self._call(lambda conversation: conversation.projection.tracker.state)
        limits = replace(self.limits, reserved_tokens=self._call(_budget).reserve)
        return ContextTracker.restore(self.model, limits, state)

    @property
    def strategy(self) -> TruncationStrategy:
        """The strategy that chooses the messages to drop: the one given as an option, otherwise the default of
        `mode`."""
        return self._strategy or strategy_for(self.mode)

    @property
    def compactor(self) -> ContextCompactor:
        """A new compactor with the same model and `llm`, for lists of messages outside this conversation."""
        return ContextCompactor(self.llm, model=self.model)

    def reset(self) -> None:
        """Begins a new conversation with the same model, system prompt and tools. The former conversation remains in
        the store."""
        old = self._call(lambda conversation: conversation.transcript)
        system = "\n\n".join(message.text for message in old.view if message.role is Role.SYSTEM)
        self.session_id = self._begin(old.model, system, old.tools)

    def _begin(self, model: str, system: str, tools: Sequence[ToolDefinition]) -> str:
        created = SessionCreated(model=model)
        return self._host.call(lambda workspace: sessions.new_session(workspace, created, system, tools).id)

    async def _shrunk(self) -> CompactionResult | None:
        conversation = self._host.workspace.open(self.session_id)
        await conversation.settled()
        changes = Changes(conversation)
        await shrink(conversation)
        return changes.result()

    async def _compacted(self, focus: str) -> CompactionResult:
        conversation = self._host.workspace.open(self.session_id)
        await conversation.settled()
        changes = Changes(conversation)
        await by_hand.compact_by_hand(conversation, by_hand.ManualRequest(focus=focus))
        result = changes.result()
        assert result is not None, "a compaction is an edit"
        return result

    def _append(self, messages: Sequence[Message], usage: Usage | None) -> tuple[str, ...]:
        async def made() -> tuple[str, ...]:
            conversation = self._host.workspace.open(self.session_id)
            ids = await sessions.append(conversation, messages, usage)
            warn_if_due(conversation)
            return ids

        return self._host.run(made())

    def _call(self, work: Callable[[Conversation], T]) -> T:
        """Calls a plain function with the conversation, in the host's thread, and returns its result."""

        def opened(workspace: Workspace) -> T:
            return work(workspace.open(self.session_id))

        return self._host.call(opened)


def _budget(conversation: Conversation) -> policy.ContextBudget:
    if conversation.budget is None:
        raise WindowUnknown(f"the window of model {conversation.model!r} is not known; give it as `window`")
    return conversation.budget


def _usual_provider(model: str) -> Provider:
    """Returns the format that a model's own provider uses: `anthropic` for Claude models, otherwise `openai`, which
    most servers accept."""
    return Provider.ANTHROPIC if "claude" in model.lower() else Provider.OPENAI


def _mode(mode: str | None, context: ContextSettings, strategy: TruncationStrategy | None) -> TruncationMode:
    if mode is None:
        return context.mode if strategy is None else TruncationMode.SMART
    try:
        return TruncationMode(mode)
    except ValueError:
        raise InvalidRequest(
            f"no mode {mode!r}; there are {', '.join(TruncationMode)} (and as `provider` {', '.join(Provider)})"
        ) from None
