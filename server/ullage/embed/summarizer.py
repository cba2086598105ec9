"""Lets a program's own model write the summaries."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable, iscoroutinefunction
from typing import Any, Protocol, cast, runtime_checkable

from msgspec import Struct

from ullage.app.telemetry import spanned
from ullage.formats.provider import Provider, write_request
from ullage.formats.requests.turns import writable
from ullage.ledger.contradiction import without_contradictions
from ullage.ledger.ledger_entry import Entry
from ullage.model.blocks import TextBlock, join_texts
from ullage.model.errors import AnswerBroken, ProviderError
from ullage.model.message import Message
from ullage.service.ports.models import SummaryStream
from ullage.service.summaries.by_model import compose_beside, with_page
from ullage.summary.draft import text_room, write_instructions
from ullage.summary.reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter import TokenCounter


class SummaryTask(Struct, frozen=True, kw_only=True):
    """A summary that the program's model has to write, in at most `max_tokens` tokens.

    - `request`: the messages to summarize, as the fields of a provider's request (`messages`, `system`).
    - `previous`: the summary that this one replaces, or "".
    - `focus`: what the summary must keep above all, or "".
    - `instructions`: how to write the summary.
    - `prompt`: everything as one text, for a model that takes a text: the conversation, then the instructions.
    """

    request: dict[str, Any]
    max_tokens: int
    previous: str = ""
    focus: str = ""
    instructions: str = ""
    prompt: str = ""


@runtime_checkable
class Invokable(Protocol):
    """A model object with the method `invoke(text)`, as agent frameworks have it. If it also has `ainvoke`, that is
    used."""

    def invoke(self, text: str, /) -> Any:
        """Returns the model's answer to a prompt: a string, or an object whose `content` is a string."""
        ...


@runtime_checkable
class AsyncInvokable(Protocol):
    """A model object with the coroutine method `ainvoke(text)`, as agent frameworks have it."""

    def ainvoke(self, text: str, /) -> Awaitable[Any]:
        """Returns an awaitable of the model's answer to a prompt: a string, or an object whose `content` is a
        string."""
        ...


Summarize = Callable[[SummaryTask], str | Awaitable[str]]
# What a program may give to write summaries: a function, which may be a coroutine function, or a model object.
LLM = Summarize | Invokable | AsyncInvokable


# The event loop of the program's task that awaits one of Ullage's coroutines, None while a plain method is called. A
# variable of the context, because many tasks and threads call at once, each from its own loop.
_PROGRAMS_LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("programs_loop", default=None)


@contextmanager
def from_this_loop() -> Generator[None]:
    """While the block runs, work that is handed to Ullage's thread runs the program's own coroutines in the running
    loop, because the client of a model server works only in the loop in which it was made."""
    before = _PROGRAMS_LOOP.set(asyncio.get_running_loop())
    try:
        yield
    finally:
        _PROGRAMS_LOOP.reset(before)


async def await_in_programs_loop(made: Awaitable[Any]) -> Any:
    """Awaits one of the program's coroutines, which write summaries, and returns its result: in the loop of the task
    that awaits Ullage, or in Ullage's own while a plain method was called."""
    loop = _PROGRAMS_LOOP.get()
    if loop is None or loop is asyncio.get_running_loop():
        return await made
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_result(made), loop))


class OwnSummarizer:
    """A summarizer that has the program's model write the text of a summary. What the user said and the state of the
    work stay below it, read by code.

    `provider` is the format of the messages in a `SummaryTask`. `max_tokens` limits the summaries further, and `own` is
    added to the instructions. If the model raises an error or returns no text, reading the summary raises
    `ProviderError`, and the compaction continues without the model.
    """

    def __init__(self, llm: LLM, provider: Provider, max_tokens: int | None = None, own: str = "") -> None:
        self._llm = checked_llm(llm)
        self._provider = provider
        self._max_tokens = max_tokens
        self._own = own

    @property
    def name(self) -> str:
        return "custom"

    async def summarize(self, request: SummaryRequest, counter: TokenCounter, reader: Reader) -> SummaryStream:
        beside = await compose_beside(request, counter, reader)
        room = text_room(request, beside.ledger, counter, beside.page)
        task = self._task(request, min(room, self._max_tokens or room), beside.page)
        return SummaryStream(ledger=beside.ledger, pieces=with_page(self._write(task, beside.known), beside.page))

    def _task(self, request: SummaryRequest, longest: int, page: str) -> SummaryTask:
        instructions = write_instructions(request, longest, (self._own,) if self._own else (), page)
        return SummaryTask(
            request=write_request(self._provider, request.messages),
            max_tokens=longest,
            previous=request.previous.summary if request.previous else "",
            focus=request.focus,
            instructions=instructions,
            prompt="\n\n".join([*map(_as_text, request.messages), instructions]),
        )

    async def _write(self, task: SummaryTask, known: Sequence[Entry]) -> AsyncGenerator[str]:
        try:
            with spanned("ullage.summary.request"):
                answer = await self._ask(task)
        except Exception as error:
            raise ProviderError(f"the summarizer failed: {error}") from error
        text = getattr(answer, "content", answer)
        if not isinstance(text, str) or not text.strip():
            raise AnswerBroken(f"the summarizer returned {type(answer).__name__} without text")
        yield without_contradictions(text, known)

    async def _ask(self, task: SummaryTask) -> Any:
        llm = self._llm
        if isinstance(llm, AsyncInvokable):
            return await await_in_programs_loop(llm.ainvoke(task.prompt))
        if isinstance(llm, Invokable):
            answer = await asyncio.to_thread(llm.invoke, task.prompt)
        elif iscoroutinefunction(llm):
            answer = llm(task)
        else:
            answer = await asyncio.to_thread(llm, task)
        return await await_in_programs_loop(cast("Awaitable[Any]", answer)) if isawaitable(answer) else answer


def checked_llm(llm: object) -> LLM:
    """Returns `llm` unchanged if it can write summaries. Raises `TypeError` if it is neither callable nor has `ainvoke`
    or `invoke`."""
    if callable(llm) or isinstance(llm, AsyncInvokable | Invokable):
        return cast("LLM", llm)
    raise TypeError(
        f"{llm!r} cannot write summaries: give a function of a SummaryTask, or an object with ainvoke(text)"
    )


def _as_text(message: Message) -> str:
    return f"{message.role.value}:\n{join_texts(writable(message, (TextBlock,), ''))}"


async def _result(made: Awaitable[Any]) -> Any:
    return await made
