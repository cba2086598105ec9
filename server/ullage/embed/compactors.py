"""What makes a program's own list of messages shorter, without a `ContextManager`: by a summary, by shortening tool
results, by notices in place of repeated file reads, or by dropping a range. And the memory tool for a program's own
agent: files of the model's notes, which remain after a conversation.

They take the program's messages, in any of the three providers' formats, and return messages in the same format.
Methods that may call a model are coroutines; each has a variant for programs without an event loop, whose name ends in
`_sync`. An edit refers to messages by their index in the list, so between making and applying an edit a list may only
grow.
"""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.clear import ClearOptions, clear_tool_uses, dedupe_reads
from ullage.edits.counted import Stamp, count_view
from ullage.edits.drop import first_exchange, next_truncation_range
from ullage.edits.shorten import ResultLimits, excerpt, shorten_results
from ullage.embed.counters import TokenCounter, engine_counter, get_counter
from ullage.embed.host import Host, LoopThread
from ullage.embed.messages import MessageList, checked, choice
from ullage.embed.summarizer import LLM, OwnSummarizer, checked_llm
from ullage.formats.provider import Provider
from ullage.formats.requests import openai
from ullage.limits import LARGEST_VALUE, read_plain
from ullage.memory.memory_tool import DEFINITION, NAME, NATIVE_TYPE
from ullage.model.edits import DuplicateReadsEdit, RepeatedFile
from ullage.model.errors import ProviderError, StoreUnavailable
from ullage.model.events import SessionCreated
from ullage.model.json_values import as_object
from ullage.model.message import Message, Role
from ullage.model.settings import ContextSettings, Messages, RangeKeep, Settings, Tokens
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

    def compact_sync(
        self,
        messages: Sequence[Any],
        target_tokens: int,
        counter: TokenCounter | None = None,
        *,
        focus: str = "",
        pinned: Collection[int] = (),
    ) -> list[Any]:
        """Does the same as `compact`, for a program without an event loop: blocks until the work is done."""
        host, given = self._host(counter), MessageList(messages)
        try:
            return given.give_back(host.run(_compacted(host, given, target_tokens, focus, pinned)))
        finally:
            host.close()

    async def summarize_messages(self, messages: Sequence[Any], *, focus: str = "") -> str:
        """Returns a summary of the messages in about `max_summary_tokens`, or "" if there are no messages. `focus` is
        what it must keep above all. Raises `InvalidRequest` if one of `messages` is not a message."""
        return await self._summarized(MessageList(messages), focus)

    def summarize_messages_sync(self, messages: Sequence[Any], *, focus: str = "") -> str:
        """Does the same as `summarize_messages`, for a program without an event loop: blocks until the work is done."""
        thread = LoopThread()
        try:
            return thread.run(self._summarized(MessageList(messages), focus))
        finally:
            thread.stop()

    def _host(self, counter: TokenCounter | None) -> Host:
        host = Host(Settings(model=self.model, context=ContextSettings(enabled=False)), self._summarizer())
        if counter is not None:
            host.workspace.own_counter = engine_counter(counter)
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
        return reader.redact(text)


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
        keep: Messages | None = None,
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
    """Finds files that the messages show more than once, and makes the edit that puts a notice in place of the earlier
    lines."""

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
        """Returns how many tokens the edits save if they are applied to the messages. Raises `InvalidRequest` if one of
        `messages` is not a message."""
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
        """Returns the edits in the file, or an empty tuple if there is no file. Raises `StoreUnavailable` if the file
        can't be read."""
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
        return openai.write_openai((), (DEFINITION,)).tools[0]
