"""What makes a program's own list of messages shorter, without a `ContextManager`: by a summary, by shortening tool
results, by notices in place of repeated file reads, or by dropping whole messages. And the memory tool for a program's
own agent: files of the model's notes, which remain after a conversation.

They take the program's messages, in any of the three providers' formats, and return messages in the same format.
Methods that may call a model are coroutines; each has a variant for programs without an event loop, whose name ends in
`_sync`. An edit refers to messages by their index in the list, so between making and applying an edit a list may only
grow.

A strategy chooses the whole messages to drop. A program can write its own. Every strategy keeps the system prompts, the
first user message, pinned messages and the last exchange, keeps a tool call together with its result, and marks the gap
with one notice. If a strategy's choice is not enough, the oldest messages are dropped until the rest fits.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.bounds import LARGEST_VALUE, read_plain
from ullage.edits.clear import ClearOptions, clear_tool_uses, dedupe_reads
from ullage.edits.counted import Stamp, count_view
from ullage.edits.drop import (
    DropCandidate,
    Situation,
    StrategyChain,
    first_exchange,
    make_strategy,
    next_truncation_range,
)
from ullage.edits.drop import TruncationStrategy as EngineStrategy
from ullage.edits.shorten import ResultLimits, excerpt, shorten_results
from ullage.embed.counters import BaseCounter, MessageList, TokenCounter, checked, choice, engine_counter, get_counter
from ullage.embed.host import LLM, Host, LoopThread, OwnSummarizer, checked_llm
from ullage.formats.provider import Provider, write_openai
from ullage.memory.memory_tool import DEFINITION, NAME, NATIVE_TYPE
from ullage.model.errors import ProviderError, StoreUnavailable
from ullage.model.events import DuplicateReadsEdit, RepeatedFile, SessionCreated
from ullage.model.json_values import as_object
from ullage.model.message import Message, Role
from ullage.model.settings import Messages as Kept
from ullage.model.settings import (
    RangeKeep,
    Selective,
    Settings,
    SlidingWindow,
    Smart,
    Speaker,
    StrategySettings,
    TokenBudget,
    Tokens,
    TruncateRange,
    TruncationMode,
)
from ullage.redaction.clean import redact
from ullage.service import sessions
from ullage.service.compact.by_hand import fit_budget, pin
from ullage.service.ports.models import Summarizer, ToolOutcome
from ullage.service.summaries.by_model import OfflineSummarizer
from ullage.store.memories.memory_files import FolderMemory
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter as EngineCounter
from ullage.tools.toolbox import run_memory
from ullage.transcript.view import Item, apply_edit

_STAMP = Stamp(id="edit", timestamp=0)
# A page of a summary; the engine allows fewer where the target leaves less room.
_SUMMARY_TOKENS = 500
# The size of a screenful of output.
_RESULT_TOKENS = 1_000
P = ParamSpec("P")
T = TypeVar("T")


def _blocking(method: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Returns a method that does the same, for a program without an event loop: it blocks until the work is done."""

    @wraps(method)
    def blocking(*args: P.args, **given: P.kwargs) -> T:
        thread = LoopThread()
        try:
            return thread.run(method(*args, **given))
        finally:
            thread.stop()

    return blocking


@checked
class ContextCompactor:
    """Replaces old messages by a summary. Recent messages, system prompts and the first user message are kept.

    - `llm` writes the summaries: a function of a `SummaryTask`, which may be a coroutine function, or an object with
      `ainvoke(text)` or `invoke(text)`. If it is None, the summaries are composed by code. If it raises an error or
      returns no text, a summary by code is used, then truncation.
    - `model` decides how tokens are counted if `compact` is given no counter. A string as `llm` is taken as the
      `model`.
    - `summary_prompt` is added to the instructions for the model.
    - `max_summary_tokens` is the length of the longest summary, in tokens.
    """

    summary_prompt: str = ""
    max_summary_tokens: int = _SUMMARY_TOKENS

    def __init__(
        self,
        llm: LLM | str | None = None,
        *,
        model: str = "",
        summary_prompt: str = "",
        max_summary_tokens: Tokens = _SUMMARY_TOKENS,
    ) -> None:
        self.llm = None if llm is None or isinstance(llm, str) else checked_llm(llm)
        self.model = llm if isinstance(llm, str) else model
        self.summary_prompt = summary_prompt
        self.max_summary_tokens = max_summary_tokens

    async def compact(
        self,
        messages: Sequence[Any],
        target_tokens: int,
        counter: TokenCounter | None = None,
        *,
        focus: str = "",
        pinned: Collection[int] = (),
    ) -> list[Any]:
        """Returns the messages in at most `target_tokens`, with a summary in place of old ones. If they fit already,
        returns them unchanged.

        `focus` is what the summary must keep above all. `pinned` are indices of messages that are kept whole. Raises
        `InvalidRequest` if one of `messages` is not a message, and `CannotFit` if the messages that must be kept exceed
        the target even when they are shortened.
        """
        host, given = self._host(counter), MessageList(messages)
        try:
            return given.give_back(await host.wait_for(_compacted(host, given, target_tokens, focus, pinned)))
        finally:
            host.close()

    async def summarize_messages(self, messages: Sequence[Any], *, focus: str = "") -> str:
        """Returns a summary of the messages in about `max_summary_tokens`, or "" if there are no messages. `focus` is
        what it must keep above all. Raises `InvalidRequest` if one of `messages` is not a message."""
        return await self._summarized(MessageList(messages), focus)

    compact_sync = _blocking(compact)
    summarize_messages_sync = _blocking(summarize_messages)

    def _host(self, counter: TokenCounter | None) -> Host:
        own = None if counter is None else engine_counter(counter)
        host = Host(Settings(model=self.model), self._summarizer())
        host.workspace.own_counter = own
        return host

    def _summarizer(self, provider: Provider = Provider.OPENAI) -> OwnSummarizer | None:
        if self.llm is None:
            return None
        return OwnSummarizer(self.llm, provider, self.max_summary_tokens, self.summary_prompt)

    async def _summarized(self, given: MessageList, focus: str) -> str:
        if not given.messages:
            return ""
        request = SummaryRequest(
            messages=given.messages,
            indices=tuple(range(len(given.messages))),
            max_tokens=self.max_summary_tokens,
            focus=focus,
        )
        counter, reader = engine_counter(get_counter(self.model)), Reader()
        summarizer = self._summarizer(given.provider)
        try:
            text = await _text(summarizer or OfflineSummarizer(), request, counter, reader)
        except ProviderError:
            text = await _text(OfflineSummarizer(), request, counter, reader)
        return redact(text)


async def _text(summarizer: Summarizer, request: SummaryRequest, counter: EngineCounter, reader: Reader) -> str:
    stream = await summarizer.summarize(request, counter, reader)
    return "".join([piece async for piece in stream.pieces])


async def _compacted(
    host: Host, given: MessageList, target: int, focus: str, pinned: Collection[int]
) -> tuple[Message, ...]:
    conversation = sessions.new_session(host.workspace, SessionCreated())
    await sessions.append(conversation, await sessions.append_compacted(conversation, given.messages), None)
    for message_id in given.ids_at(pinned):
        pin(conversation, message_id, pinned=True)
    await fit_budget(conversation, target, focus)
    return conversation.transcript.view


@checked
class ToolResultCompactor:
    """Shortens tool results, the parts of a context that are often the largest.

    A result of more than `max_result_tokens` tokens is cut to its beginning, its end and the lines that report errors,
    followed by `truncation_message`. If `keep` is given, all results except the last `keep` are emptied first. The
    results of `exclude_tools`, which are names of tools, are kept whole, and so are results that the model has not
    answered yet.
    """

    def __init__(
        self,
        max_result_tokens: Tokens = _RESULT_TOKENS,
        truncation_message: str = "[This result was shortened to make room.]",
        *,
        keep: Kept | None = None,
        exclude_tools: Collection[str] = (),
    ) -> None:
        self.max_result_tokens = max_result_tokens
        self.truncation_message = truncation_message
        self.keep = keep
        self.exclude_tools = frozenset(exclude_tools)

    def compact(self, messages: Sequence[Any], counter: TokenCounter, *, pinned: Collection[int] = ()) -> list[Any]:
        """Returns all messages, with their long tool results shortened. `pinned` are indices of messages that are kept
        unchanged. Raises `InvalidRequest` if one of `messages` is not a message."""
        given, engine = MessageList(messages), engine_counter(counter)
        held = given.ids_at(pinned)
        view = count_view(given.messages, engine)
        if self.keep is not None:
            options = ClearOptions(keep=self.keep, exclude_tools=self.exclude_tools)
            cleared = clear_tool_uses(view, options, _STAMP, held)
            view = view.after(cleared) if cleared else view
        room = max(1, self.max_result_tokens - engine.count(self._ending))
        limits = ResultLimits(max_result_tokens=room, exclude_tools=self.exclude_tools)
        shortened = shorten_results(view, limits, _STAMP, held)
        if shortened is not None:
            ended = (replace(each, text=(each.text or "") + self._ending) for each in shortened.replacements)
            view = view.after(replace(shortened, replacements=tuple(ended)))
        return given.give_back(view.messages)

    def compact_result(self, result: str, counter: TokenCounter) -> str:
        """Returns the text of one tool result cut to at most `max_result_tokens` tokens, or unchanged if it fits."""
        tokens = counter.count(result)
        text, chars = result, len(result)
        while tokens > self.max_result_tokens and chars > 0:
            # At least a character less each time: a notice may cost what the cut saves.
            chars = min(chars - 1, chars * self.max_result_tokens // tokens)
            text = excerpt(result, chars) + self._ending if chars > 0 else ""
            tokens = counter.count(text)
        return text

    @property
    def _ending(self) -> str:
        return f"\n{self.truncation_message}" if self.truncation_message else ""


Edits = tuple[DuplicateReadsEdit, ...]


class FileReadOptimizer:
    """Finds files that messages show repeatedly, and makes the edit that replaces the earlier lines by a notice."""

    def find_and_save_duplicates(
        self, messages: Sequence[Any], counter: TokenCounter, *, timestamp: int = 0
    ) -> DuplicateReadsEdit | None:
        """Returns the edit that replaces repeated file reads by notices, with the tokens that it saves per file.
        Returns None if no file is repeated.

        `timestamp` (Unix milliseconds) is the time of the edit. Nothing is stored. Raises `InvalidRequest` if one of
        `messages` is not a message.
        """
        view = count_view(MessageList(messages).messages, engine_counter(counter))
        return dedupe_reads(view, Stamp(id=f"reads-{timestamp}", timestamp=timestamp))


class ContextUpdateApplicator:
    """Applies edits to the list of messages that they were made for."""

    def apply_updates(self, messages: Sequence[Any], edits: Sequence[DuplicateReadsEdit]) -> list[Any]:
        """Returns the messages after the edits, which are applied in order. A message that no edit changes is returned
        as the same object. Raises `InvalidRequest` if one of `messages` is not a message."""
        given = MessageList(messages)
        items = [Item(at, message) for at, message in enumerate(given.messages)]
        for edit in edits:
            items = apply_edit(items, edit)
        return given.give_back([item.message for item in items])


class TruncationCalculator:
    """Calculates which range of messages to drop to make room."""

    def calculate_range(
        self, messages: Sequence[Any], keep: RangeKeep | str = RangeKeep.HALF, deleted: tuple[int, int] | None = None
    ) -> tuple[int, int] | None:
        """Returns the first and the last index of the range to drop, or None if no message may be dropped. The indices
        don't count system prompts.

        `keep` is how much of the messages after the first exchange remains. The first exchange is kept, and the range
        has an even length, so that roles alternate across the gap. `deleted` is the range that was dropped before: the
        new range begins where it began and includes it.
        """
        spoken = [message for message in MessageList(messages).messages if message.role is not Role.SYSTEM]
        first = first_exchange(spoken)
        start = first if deleted is None else deleted[1] + 1
        found = next_truncation_range([message.role for message in spoken], start, choice("keep", RangeKeep, keep))
        return (first if deleted is None else deleted[0], found.stop - 1) if found else None


class Impact(Struct, frozen=True, kw_only=True):
    """What edits save: the tokens before and after them, the saved share (0.0 to 1.0), and the saved tokens per
    file."""

    before: int
    after: int
    share: float
    files: tuple[RepeatedFile, ...]


class OptimizationMetrics:
    """Measures what cheap edits save, so that the program can decide whether they are enough."""

    def calculate_impact(
        self, messages: Sequence[Any], edits: Sequence[DuplicateReadsEdit], counter: TokenCounter
    ) -> Impact:
        """Returns how many tokens the edits save. Raises `InvalidRequest` if one of `messages` is no message."""
        engine = engine_counter(counter)
        before = engine.count_messages(MessageList(messages).messages)
        edited = ContextUpdateApplicator().apply_updates(messages, edits)
        after = engine.count_messages(MessageList(edited).messages)
        return Impact(
            before=before,
            after=after,
            share=(before - after) / before if before else 0.0,
            files=tuple(file for edit in edits for file in edit.files),
        )


class ContextHistoryStorage:
    """Stores the edits of one conversation in the file `context_history.json` in a folder."""

    def __init__(self, directory: Path | str) -> None:
        self.path = Path(directory) / "context_history.json"

    def save_to_disk(self, edits: Sequence[DuplicateReadsEdit]) -> None:
        """Writes the edits to the file, in place of those in it. A reader sees the old file or the whole new one.
        Creates the folder. Raises `StoreUnavailable` if the file can't be written."""
        unfinished = self.path.with_suffix(".unfinished")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_bytes(msgspec.json.encode(tuple(edits)))
            unfinished.replace(self.path)
        except OSError as error:
            raise StoreUnavailable(f"cannot write {self.path}: {error.strerror or error}") from error

    def load_from_disk(self) -> Edits:
        """Returns the edits in the file, () if there is none. Raises `StoreUnavailable` if it can't be read."""
        try:
            return msgspec.json.decode(read_plain(self.path, LARGEST_VALUE), type=Edits)
        except FileNotFoundError:
            return ()
        except (OSError, msgspec.DecodeError) as error:
            raise StoreUnavailable(f"cannot read {self.path}: {error}") from error


@checked
class MemoryTool:
    """Runs a model's calls of the tool `memory` (`view`, `create`, `str_replace`, `insert`, `delete` and `rename`) on
    the files in the folder `base_dir`. Nothing outside the folder is read or written."""

    name = NAME

    def __init__(self, base_dir: Path | str) -> None:
        self.base_dir = Path(base_dir)
        self._files = FolderMemory(self.base_dir)

    def execute(self, arguments: dict[str, Any]) -> str:
        """Runs one tool call with these arguments and returns the text of its result. A call that fails returns a text
        for the model that begins with `Error`; no error is raised."""
        return self.run(arguments).text

    def run(self, arguments: dict[str, Any]) -> ToolOutcome:
        """Runs one tool call with these arguments and returns its text and whether it failed. No error is raised."""
        return run_memory(self._files, as_object(arguments))

    def definition(self, provider: str = "anthropic") -> dict[str, Any]:
        """Returns the tool's definition for the list `tools` of a request. For the provider `anthropic` it is the
        tool's type in Anthropic's API; for any other provider, a function with a schema in OpenAI's chat format."""
        if provider == "anthropic":
            return {"type": NATIVE_TYPE, "name": NAME}
        return write_openai((), (DEFINITION,)).tools[0]


# Writes a message of the engine's as the program has it.
Write = Callable[[Message], list[Any]]


@runtime_checkable
class TruncationStrategy(Protocol):
    """A way to make a list of messages shorter. A program's own class needs only this method to be used in a
    `CompositeStrategy` or a `ContextManager`."""

    def truncate(self, messages: Sequence[Any], target_tokens: int, counter: TokenCounter) -> list[Any]:
        """Returns the messages to keep, in their order, in at most `target_tokens` if that is possible."""
        ...


class _BuiltIn:
    """The base of the strategies in this module."""

    preserve_system = True

    def truncate(
        self, messages: Sequence[Any], target_tokens: int, counter: TokenCounter, *, pinned: Collection[int] = ()
    ) -> list[Any]:
        """Returns the messages to keep, with a notice in the first gap. They have at most `target_tokens`, unless the
        messages that must be kept have more.

        `pinned` are indices of messages that must be kept. Raises `InvalidRequest` if one of `messages` is not a
        message.
        """
        given = MessageList(messages)
        engine = engine_counter(counter)
        held = given.ids_at(pinned)
        left = list(given.messages)
        strategy = to_engine(self, engine, lambda message: given.give_back([message]))
        kept = _truncated(strategy, left, target_tokens, engine, held)
        if not self.preserve_system and kept != left:
            left = [message for message in left if message.role is not Role.SYSTEM or message.id in held]
            kept = _truncated(strategy, left, target_tokens, engine, held)
        return given.give_back(kept)


def _truncated(
    strategy: EngineStrategy, messages: Sequence[Any], target: int, counter: EngineCounter, pinned: Collection[str]
) -> list[Any]:
    return list(strategy.truncate(messages, target, counter, pinned=pinned))


class _Ready(_BuiltIn):
    """The base of the strategies that can also be chosen in the settings."""

    @property
    @abstractmethod
    def settings(self) -> StrategySettings:
        """The strategy and its options in the form of the settings."""


@checked
class SlidingWindowStrategy(_Ready):
    """Keeps the last `window_size` messages, even if more would fit. If `preserve_system` is false, system prompts are
    dropped, too; in a `ContextManager` they are always kept."""

    def __init__(self, window_size: Kept = 20, preserve_system: bool = True) -> None:
        self.window_size = window_size
        self.preserve_system = preserve_system

    @property
    def settings(self) -> SlidingWindow:
        return SlidingWindow(max_messages=self.window_size)


@checked
class TokenBudgetStrategy(_Ready):
    """Keeps as many of the newest messages as fit the target."""

    def __init__(self) -> None:
        """Has no options: the budget is given with the messages."""

    @property
    def settings(self) -> TokenBudget:
        return TokenBudget()


@checked
class SelectiveStrategy(_Ready):
    """Drops messages kind by kind until the rest fits: first those of the first kind in `order` (`tool`, `assistant` or
    `user`), then those of the next, and of each kind the oldest first."""

    def __init__(self, order: Sequence[Speaker | str] = (Speaker.TOOL, Speaker.ASSISTANT)) -> None:
        self.order = tuple(choice("order", Speaker, speaker) for speaker in order)

    @property
    def settings(self) -> Selective:
        return Selective(order=self.order)


@checked
class SmartTruncationStrategy(_Ready):
    """Keeps the first `preserve_first` and last `preserve_last` messages, and the newest between them that fit."""

    def __init__(self, preserve_first: Kept = 2, preserve_last: Kept = 10) -> None:
        self.preserve_first = preserve_first
        self.preserve_last = preserve_last

    @property
    def settings(self) -> Smart:
        return Smart(keep_first=self.preserve_first, keep_last=self.preserve_last)


@checked
class RangeTruncationStrategy(_Ready):
    """Drops one whole range of messages after the first exchange. `keep` is how much of the messages after the first
    exchange remains: `none`, `lastTwo`, `half` or `quarter`."""

    def __init__(self, keep: RangeKeep | str = RangeKeep.HALF) -> None:
        self.keep = choice("keep", RangeKeep, keep)

    @property
    def settings(self) -> TruncateRange:
        return TruncateRange(keep=self.keep)


@checked
class CompositeStrategy(_BuiltIn):
    """A chain of strategies, the program's own included. Each runs only if those before it did not make enough room.
    Raises `TypeError` if one of `strategies` has no method `truncate`."""

    def __init__(self, strategies: Sequence[TruncationStrategy]) -> None:
        self.strategies = list(strategies)
        for strategy in self.strategies:
            check_strategy(strategy)


def check_strategy(strategy: object) -> None:
    """Raises `TypeError` if an object has no method `truncate`, or is a class and not an object of it."""
    if not isinstance(strategy, TruncationStrategy) or isinstance(strategy, type):
        raise TypeError(f"{strategy!r} is no strategy: it needs a method truncate(messages, target_tokens, counter)")


def to_engine(strategy: TruncationStrategy, counter: EngineCounter, write: Write) -> EngineStrategy:
    """Returns the strategy in the engine's form, for one of this module or one of the program's own. `counter` counts
    the messages, and `write` converts an engine message into the messages that the program's strategy gets."""
    match strategy:
        case CompositeStrategy():
            return StrategyChain(tuple(to_engine(each, counter, write) for each in strategy.strategies))
        case _Ready():
            return make_strategy(strategy.settings)
        case _:
            return _Own(strategy, counter, write)


def strategy_for(mode: TruncationMode) -> TruncationStrategy:
    """Returns the default strategy of a mode; for `summarize` the one without a summary."""
    match mode:
        case TruncationMode.SLIDING_WINDOW:
            return SlidingWindowStrategy()
        case TruncationMode.TOKEN_BUDGET:
            return TokenBudgetStrategy()
        case TruncationMode.SMART | TruncationMode.SUMMARIZE:
            return SmartTruncationStrategy()


class _Own(EngineStrategy):
    """A program's own strategy in the engine's form. The messages that it leaves out are dropped.

    New messages that it returns are not used, because the transcript only grows by messages that are appended.
    """

    __slots__ = ("_counter", "_strategy", "_write")

    def __init__(self, strategy: TruncationStrategy, counter: EngineCounter, write: Write) -> None:
        self._strategy = strategy
        self._counter = counter
        self._write = write

    def choose(self, situation: Situation) -> tuple[DropCandidate, ...]:
        used = self._counter.count_messages(situation.messages)
        written = [(message.id, own) for message in situation.messages for own in self._write(message)]
        left = self._strategy.truncate([own for _, own in written], used - situation.excess, BaseCounter(self._counter))
        objects = {id(own) for own in left}
        kept = {message_id for message_id, own in written if id(own) in objects or own in left}
        return tuple(
            each for each in situation.candidates if not any(situation.messages[at].id in kept for at in each.places)
        )
