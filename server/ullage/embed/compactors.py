"""Compactors: they make a list of messages shorter, by a summary or by shortening tool results. The list belongs to the
program, not to a `ContextManager`.

They take the program's messages, in any of the three providers' formats, and return messages in the same format.
Methods that may call a model are coroutines; each has a variant for programs without an event loop, whose name ends in
`_sync`.
"""

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from ullage.edits.clear import ClearOptions, clear_tool_uses
from ullage.edits.counted import Stamp, count_view
from ullage.edits.shorten import ResultLimits, excerpt, shorten_results
from ullage.embed.counters import TokenCounter, engine_counter, get_counter
from ullage.embed.host import Host, LoopThread
from ullage.embed.keywords import checked
from ullage.embed.messages import MessageList
from ullage.embed.summarizer import LLM, OwnSummarizer, checked_llm
from ullage.formats.provider import Provider
from ullage.model.errors import ProviderError
from ullage.model.events import SessionCreated
from ullage.model.message import Message
from ullage.model.settings import ContextSettings, Settings
from ullage.service import sessions
from ullage.service.compact.by_hand import pin
from ullage.service.compact.to_budget import fit_budget
from ullage.service.ports.models import Summarizer
from ullage.service.summaries.offline import OfflineSummarizer
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter as EngineCounter

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
        max_summary_tokens: int = _SUMMARY_TOKENS,
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
    for at in pinned:
        pin(conversation, given.messages[at].id, pinned=True)
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
        max_result_tokens: int = _RESULT_TOKENS,
        truncation_message: str = "[This result was shortened to make room.]",
        *,
        keep: int | None = None,
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
        held = frozenset(given.messages[at].id for at in pinned)
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
