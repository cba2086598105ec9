"""What plain and asynchronous managers of a conversation have in common: how one is made, and its work in the host's
thread."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypedDict, TypeVar, Unpack, cast

import msgspec
from msgspec.structs import asdict, replace

from ullage.app.telemetry import compacting, measured, spanned
from ullage.embed.compactors import ContextCompactor
from ullage.embed.counters import BaseCounter, ContextBudget, ContextLimits, ContextTracker
from ullage.embed.host import Changes, CompactionResult, ContextStats, Host, OnUpdate, SearchResults
from ullage.embed.messages import listed, plain, valued
from ullage.embed.summarizer import LLM, OwnSummarizer, checked_llm
from ullage.embed.truncation_strategies import TruncationStrategy, check_strategy, strategy_for, to_engine
from ullage.formats.parsing import read_usage
from ullage.formats.provider import Provider, read_definitions, read_events, write_messages, write_request
from ullage.formats.verbatim import other_format, prompt_message, show
from ullage.model.errors import EditNotFound, InvalidRequest, NothingToUndo, SessionNotFound, WindowUnknown
from ullage.model.events import MessageAppended, SessionCreated, UsageReported
from ullage.model.json_values import as_object
from ullage.model.message import Message, Role, ToolDefinition
from ullage.model.settings import (
    ContextSettings,
    ModelSettings,
    SearchSettings,
    Settings,
    Tokens,
    TruncationMode,
    check_context,
)
from ullage.model.usage import Usage
from ullage.policy import budget as policy
from ullage.policy.decision import after_turn
from ullage.service import sessions
from ullage.service.archive import undo as history
from ullage.service.archive.search import search
from ullage.service.compact import by_hand
from ullage.service.compact.automatic import require_fit, shrink, warn_if_due
from ullage.service.conversation.conversation import Checkpoint, Conversation, transcript_page
from ullage.service.conversation.usage import usage_meta
from ullage.service.conversation.workspace import Workspace
from ullage.service.summaries.write import read_ahead
from ullage.transcript.fold import EditInfo

_log = logging.getLogger(__name__)
T = TypeVar("T")
# A system prompt: a text, or content blocks of the provider's format.
System = str | Sequence[Mapping[str, Any]]
DEFAULTS = ContextSettings()
NO_EMBEDDINGS = SearchSettings()


class Options(TypedDict, total=False):
    """The options that all conversations of a store share, by name. `ContextManager` says what they mean."""

    provider: Provider | str | None
    window: Tokens | None
    max_output: Tokens | None
    strategy: TruncationStrategy | None
    context: ContextSettings
    store: Path | str | None
    search: SearchSettings
    on_update: OnUpdate | None
    offline: bool


class ManagedHost:
    """A store with the options that all its conversations share. The options are those of `ContextManager`; the errors,
    too."""

    @valued
    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        provider: Provider | str | None = None,
        window: Tokens | None = None,
        max_output: Tokens | None = None,
        strategy: TruncationStrategy | None = None,
        context: ContextSettings = DEFAULTS,
        store: Path | str | None = None,
        search: SearchSettings = NO_EMBEDDINGS,
        on_update: OnUpdate | None = None,
        open_at_most: Tokens = 1,
        offline: bool = False,
    ) -> None:
        check_values(context, search, on_update)
        if mode in tuple(Provider) and provider is None:
            mode, provider = None, Provider(mode)
        self.model = model
        self.provider = Provider(provider) if provider is not None else _usual_provider(model)
        self.is_guessed = provider is None
        self.mode = _mode(mode, context, strategy)
        self.limits = ContextLimits.for_model(model, window=window, max_output=max_output)
        self.llm = None if llm is None else checked_llm(llm)
        self.strategy = strategy
        check_context(context)
        settings = Settings(
            model=model,
            models={model: ModelSettings(window=window, max_output=max_output)},
            context=replace(context, mode=self.mode, enabled=True),
            search=search,
        )
        summarizer = OwnSummarizer(self.llm, self.provider) if self.llm is not None else None
        self.host = Host(settings, summarizer, store, on_update, open_at_most, offline=offline)
        if strategy is not None:
            check_strategy(strategy)
            own = to_engine(strategy, self.host.workspace.counter(model), partial(write_messages, self.provider))
            self.host.workspace.own_strategy = own


class ManagedContext:
    """The body of `ContextManager` and `AsyncContextManager`, with the options of both. What begins with an underscore
    and takes a conversation, or is a coroutine, runs in the host's thread."""

    model: str
    provider: Provider
    mode: TruncationMode
    limits: ContextLimits
    llm: LLM | None
    session_id: str

    def __init__(  # noqa: PLR0913 (each option is a word of its own)
        self,
        model: str,
        mode: TruncationMode | Provider | str | None = None,
        llm: LLM | None = None,
        *,
        system: System = "",
        tools: Sequence[Any] = (),
        session_id: str | None = None,
        **options: Unpack[Options],
    ) -> None:
        shared = ManagedHost(model, mode, llm, **options)
        try:
            if session_id:
                shared.host.call(lambda workspace: workspace.ports.store.info(session_id))
            else:
                session_id = shared.host.call(beginning(shared, "", system, tools))
        except BaseException:
            shared.host.close()
            raise
        self._attach(shared, session_id, owns_host=True)

    @classmethod
    def of(cls, shared: ManagedHost, session_id: str) -> Self:
        """Returns a manager of a stored conversation on a host that others use, too."""
        made = cls.__new__(cls)
        made._attach(shared, session_id, owns_host=False)
        return made

    @property
    def strategy(self) -> TruncationStrategy:
        """The strategy that chooses the messages to drop: the one given as an option, otherwise the default of
        `mode`."""
        return self._strategy or strategy_for(self.mode)

    @property
    def compactor(self) -> ContextCompactor:
        """A new compactor with the same model and `llm`, for lists of messages outside this conversation."""
        return ContextCompactor(self.llm, model=self.model)

    def count_tokens(self, content: Any) -> int:
        """Returns the number of tokens of a text, a message or a list of messages, counted with the model's
        tokenizer."""
        counter = BaseCounter(self._host.workspace.counter(self.model))
        if isinstance(content, str):
            return counter.count(content)
        messages: list[Any] = [content] if isinstance(content, Mapping) else listed("messages", content)
        return counter.count_messages(messages)

    def _attach(self, shared: ManagedHost, session_id: str, *, owns_host: bool) -> None:
        self.model, self.provider, self.mode = shared.model, shared.provider, shared.mode
        self._is_guessed = shared.is_guessed
        self.limits, self.llm, self._strategy = shared.limits, shared.llm, shared.strategy
        self._host, self._owns_host = shared.host, owns_host
        self.session_id = session_id

    def _on_conversation(self, work: Callable[[Conversation], T], _: Workspace) -> T:
        with self._host.using(self.session_id) as conversation:
            return work(conversation)

    def _released(self) -> None:
        self._host.drop(self.session_id)

    async def _appended(self, given: Sequence[Any], usage: Any) -> tuple[str, ...]:
        workspace = self._host.workspace
        messages = [plain(message) for message in given]
        if self._is_guessed:
            self._check_guess(messages)
        events = read_events(self.provider, messages, lambda: workspace.ports.ids.new("m"))
        now = workspace.ports.clock.now()
        said = [event.message for event in events if isinstance(event, MessageAppended)]
        read = [replace(self._with_own_id(message), timestamp=now) for message in said]
        reported = next((event.usage for event in reversed(events) if isinstance(event, UsageReported)), None)
        return await self._recorded(read, read_usage(plain(usage)) if usage is not None else reported)

    def _with_own_id(self, message: Message) -> Message:
        """Returns a message with a new id if another message of the conversation has its id. The id of an answer is the
        server's, and a server that only imitates a provider may give one to several answers, also to equal ones: only
        the last message of the conversation is the same one, given again."""
        ports = self._host.workspace.ports
        found = ports.store.find_message(self.session_id, message.id)
        if found is None or not isinstance(found.event, MessageAppended):
            return message
        known = found.event.message
        with self._host.using(self.session_id) as conversation:
            items = conversation.transcript.items
        is_last = bool(items) and items[-1].message.id == message.id
        is_again = is_last and (known.role, known.content) == (message.role, message.content)
        return message if is_again else replace(message, id=ports.ids.new("m"))

    async def _reported(self, usage: Any) -> None:
        await self._recorded((), read_usage(plain(usage)))

    def _check_guess(self, messages: Sequence[Any]) -> None:
        """Raises `InvalidRequest` for a message that shows that the model's name has led to the wrong provider."""
        for number, message in enumerate(messages, start=1):
            other = other_format(self.provider, as_object(message))
            if other is not None:
                raise InvalidRequest(
                    f"message {number} is in the format of {other}, but by the name of {self.model!r} its provider is "
                    f"taken to be {self.provider}; give `provider={other!r}`, or `provider={str(self.provider)!r}` if "
                    "the message is right"
                )

    async def _recorded(self, messages: Sequence[Message], usage: Usage | None) -> tuple[str, ...]:
        with self._host.using(self.session_id) as conversation:
            ids = tuple(message.id for message in messages)
            await sessions.append(conversation, await sessions.append_compacted(conversation, messages), usage)
            if usage is not None and conversation.projection.tracker.doubts:
                _log.warning("session %s: a usage of %d tokens is far too small", conversation.id, usage.prompt)
            warn_if_due(conversation)
            if conversation.budget is not None and any(message.role is Role.ASSISTANT for message in messages):
                guards = conversation.guards
                guards.breaker = after_turn(guards.breaker, conversation.used, conversation.budget)
            read_ahead(conversation)
            measured(conversation, usage)
            return ids

    async def _shrunk(self) -> CompactionResult | None:
        with self._host.using(self.session_id) as conversation:
            await conversation.settled()
            changes = Changes(conversation)
            with compacting(conversation, "automatic"):
                await shrink(conversation)
            return changes.result()

    async def _compacted(self, focus: str) -> CompactionResult:
        with self._host.using(self.session_id) as conversation:
            await conversation.settled()
            changes = Changes(conversation)
            with compacting(conversation, "manual"):
                await by_hand.compact_by_hand(conversation, by_hand.ManualRequest(focus=focus))
            result = changes.result()
            assert result is not None, "a compaction is an edit"
            return result

    async def _requested(self) -> dict[str, Any]:
        with self._host.using(self.session_id) as conversation:
            await self._shrunk()
            require_fit(conversation)
            transcript = conversation.transcript
            return write_request(self.provider, transcript.view, transcript.tools)

    async def _found(self, query: str, limit: int) -> SearchResults:
        with spanned("ullage.search", self.session_id):
            return SearchResults(await search(self._host.workspace, self.session_id, query, limit))

    def _with_system_prompt(self, system: System, conversation: Conversation) -> None:
        sessions.change_system_prompt(conversation, read_system(self.provider, system))

    def _with_tools(self, tools: Sequence[Any], conversation: Conversation) -> None:
        sessions.declare_tools(conversation, read_definitions(self.provider, plain(listed("tools", tools))))

    def _said(self, conversation: Conversation) -> list[dict[str, Any]]:
        entries = transcript_page(conversation, 0, None).entries
        # A summary that the program gave has the place of messages that it did not give.
        given = [entry.message for entry in entries if entry.message.provided or not entry.inserted]
        said = [one for one in given if one.role is not Role.SYSTEM and (one.content or one.provided)]
        return [written for message in said for written in write_messages(self.provider, message)]

    def _is_due(self, conversation: Conversation) -> bool:
        return conversation.used >= budget_of(conversation).compact_at

    def _undone(self, edit_id: str | None, conversation: Conversation) -> tuple[EditInfo, ...]:
        try:
            return history.undo(conversation, edit_id).edits
        except NothingToUndo:
            if edit_id is not None:
                raise EditNotFound(f"there is no edit {edit_id!r} in force") from None
            return ()

    def _restored(
        self, conversation: Conversation, *, timestamp: Any, message_id: str | None, edit_id: str | None
    ) -> tuple[EditInfo, ...]:
        if [timestamp, message_id, edit_id].count(None) != 2:
            raise InvalidRequest("give exactly one of `timestamp`, `message_id` and `edit_id`")
        place = Checkpoint(timestamp=timestamp, message_id=message_id, edit_id=edit_id)
        return history.restore(conversation, place).edits

    def _stats(self, conversation: Conversation) -> ContextStats:
        known, budget = asdict(usage_meta(conversation)), budget_of(conversation)
        age = conversation.workspace.ports.clock.now() - known["oldest_timestamp"]
        return ContextStats(
            used=conversation.used,
            size=budget.window,
            oldest_message_age=age if known["oldest_timestamp"] else None,
            **known,
        )

    def _free(self, conversation: Conversation) -> int:
        return budget_of(conversation).available(conversation.used)

    def _budget(self, conversation: Conversation) -> ContextBudget:
        stats = self._stats(conversation)
        assert stats.shares is not None, "a manager's window is known"
        return ContextBudget.of(stats.size, stats.used, stats.shares)

    def _tracker(self, conversation: Conversation) -> ContextTracker:
        limits = replace(self.limits, reserved_tokens=budget_of(conversation).reserve)
        return ContextTracker.restore(self.model, limits, conversation.projection.tracker.state)

    def _begun_anew(self, conversation: Conversation) -> None:
        old = conversation.transcript
        system = [message for message in old.view if message.role is Role.SYSTEM and message.text]
        created = SessionCreated(model=old.model)
        self.session_id = sessions.new_session(self._host.workspace, created, system, old.tools).id


def beginning(shared: ManagedHost, session_id: str, system: System, tools: Sequence[Any]) -> Callable[[Workspace], str]:
    """Returns a function for the host's thread that begins a conversation unless the store has one with this id, and
    returns its id: a new one if `session_id` is empty. Raises `InvalidRequest` at once for a prompt or tools that are
    none."""
    declared = read_definitions(shared.provider, plain(listed("tools", tools)))
    return partial(begun, shared, session_id, read_system(shared.provider, system), declared)


def read_system(provider: Provider, system: Any) -> str | Message:
    """Returns a system prompt as the engine has it: a text as it is, blocks of the provider's format as a message that
    keeps them. Raises `InvalidRequest` if it is neither."""
    given = plain(system)
    if isinstance(given, str):
        return given
    if not isinstance(given, list):
        raise InvalidRequest(f"`system` is {show(given)}; give a text, or a list of content blocks")
    return prompt_message(provider, cast("list[Any]", given), "")


def check_values(context: Any, search: Any, on_update: Any) -> None:
    """Raises `InvalidRequest` for a value of an option that cannot be used. It names the option and the remedy."""
    for name, value, kind in (("context", context, ContextSettings), ("search", search, SearchSettings)):
        if not isinstance(value, kind):
            fields = ", ".join(f"{key}=…" for key in cast("Any", value)) if isinstance(value, Mapping) else "…"
            raise InvalidRequest(f"`{name}` is {show(value)}; give `{kind.__name__}({fields})`")
        try:
            # What a program makes by name is not checked when it is made.
            msgspec.convert(msgspec.to_builtins(value, enc_hook=repr), kind)
        except msgspec.ValidationError as error:
            text = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", str(error).replace("Expected", "expected"))
            raise InvalidRequest(f"`{name}`: {text}; give another value") from None
    if on_update is not None and not callable(on_update):
        raise InvalidRequest(f"`on_update` is {show(on_update)}; give a function of a session id and an update")


def begun(
    shared: ManagedHost, session_id: str, system: str | Message, tools: Sequence[ToolDefinition], workspace: Workspace
) -> str:
    """Begins a conversation, in the host's thread, unless the store has one with this id. Returns its id."""
    try:
        if session_id:
            return workspace.ports.store.info(session_id).session_id
    except SessionNotFound:
        pass
    created = SessionCreated(model=shared.model)
    prompt = system if isinstance(system, str) else [system]
    conversation = sessions.new_session(workspace, created, prompt, tools, session_id=session_id)
    with shared.host.using(conversation.id):
        return conversation.id


def budget_of(conversation: Conversation) -> policy.ContextBudget:
    """Returns the budget of the conversation's window. Raises `WindowUnknown`."""
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
