"""Models that are sent text alone: those without tool support, and those of the user's editor, which the editor asks
without a key of Ullage's. The system prompt describes the tools, and calls and results are text.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from contextlib import aclosing

from msgspec.structs import replace

from ullage.formats.tool_calls import CallsInText, CaretFences, Syntax, XmlTags
from ullage.formats.turns import arrange_turns, without_documents
from ullage.formats.verbatim import CHAT
from ullage.model.answer import (
    Finished,
    Fragment,
    ModelRequest,
    Purpose,
    SpokenMessage,
    SpokenRole,
    StopReason,
    TextDelta,
    ToolUseStart,
    ask_messages,
)
from ullage.model.errors import RequestRefused
from ullage.model.message import Block, ImageBlock, Message, Role, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.service.ports.models import EditorModels, Provider, ProviderCapabilities

# How calls may be written, by the names that the settings have for it.
SYNTAXES: dict[str, Syntax] = {"xml": XmlTags(), "caret": CaretFences()}


class ToolsInText:
    """Wraps a provider whose models cannot call tools. Requests are sent with the tools described in the system prompt,
    and tool calls are read from the text of the answers, in the syntax named `syntax` (`xml` or `caret`)."""

    def __init__(self, provider: Provider, syntax: str = "xml") -> None:
        self._provider = provider
        self._syntax = SYNTAXES[syntax]

    @property
    def name(self) -> str:
        return self._provider.name

    def capabilities(self, model: str, /) -> ProviderCapabilities:
        return replace(self._provider.capabilities(model), native_tools=False)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        # Calls of earlier answers have numbers, too; a prefix that grows with the conversation keeps the ids distinct.
        calls = CallsInText(
            self._syntax, () if request.tools_refused else request.tools, f"call_{len(request.messages)}_"
        )
        called = False
        async with aclosing(self._provider.stream(as_text(request, self._syntax))) as fragments:
            async for fragment in fragments:
                for read in _read(calls, fragment):
                    called = called or isinstance(read, ToolUseStart)
                    stopped = isinstance(read, Finished) and read.stop_reason is StopReason.END_TURN
                    yield Finished(stop_reason=StopReason.TOOL_USE) if called and stopped else read

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return await self._provider.count_tokens(as_text(request, self._syntax))

    async def check(self, model: str) -> str:
        return await self._provider.check(model)

    async def close(self) -> None:
        await self._provider.close()


def as_text(request: ModelRequest, syntax: Syntax) -> ModelRequest:
    """Returns the request without tools: a system message describes them, and tool calls and results become text."""
    if not request.tools:
        return replace(request, messages=_written(request.messages, syntax))
    described = Message(id="tools", role=Role.SYSTEM, content=(TextBlock(text=syntax.describe(request.tools)),))
    return replace(request, tools=(), messages=(described, *_written(request.messages, syntax)))


def _written(messages: Sequence[Message], syntax: Syntax) -> tuple[Message, ...]:
    blocks = (block for message in messages for block in message.content)
    names = {block.id: block.name for block in blocks if isinstance(block, ToolUseBlock)}
    return tuple(
        replace(
            message,
            content=tuple(part for block in message.content for part in _as_text(block, names, syntax)),
            provided=None,
        )
        for message in messages
    )


def _as_text(block: Block, names: dict[str, str], syntax: Syntax) -> Iterator[Block]:
    match block:
        case ToolUseBlock():
            yield TextBlock(text=syntax.write(block))
        case ToolResultBlock():
            what = "Error of" if block.is_error else "Result of"
            yield TextBlock(text=f"[{what} {names.get(block.tool_use_id, 'a tool')}]\n{join_texts(block.content)}")
            yield from (part for part in block.content if not isinstance(part, TextBlock))
        case _:
            yield block


def _read(calls: CallsInText, fragment: Fragment) -> Iterator[Fragment]:
    match fragment:
        case TextDelta(text=text):
            yield from calls.feed(text)
        case Finished():
            yield from calls.end()
            yield fragment
        case _:
            yield fragment


_ROLES = {Role.USER: SpokenRole.USER, Role.SYSTEM: SpokenRole.USER, Role.ASSISTANT: SpokenRole.ASSISTANT}
# In place of a picture, which not every editor can pass on.
_PICTURE = "[a picture]"


class EditorProvider:
    """Streams answers of the models that the user's editor offers. It takes text alone, so it is wrapped in
    `ToolsInText`. It reports no usage, because editors don't give any."""

    def __init__(self, editor: EditorModels) -> None:
        self._editor = editor

    @property
    def name(self) -> str:
        return self._editor.editor

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities(native_tools=False, counts_tokens=True)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Fragment]:
        purpose = Purpose.SUMMARY if request.instructions else Purpose.ANSWER
        async with aclosing(self._editor.stream(request.model, purpose, _spoken(request))) as pieces:
            async for piece in pieces:
                yield TextDelta(text=piece)
        yield Finished(stop_reason=StopReason.END_TURN)

    async def count_tokens(self, request: ModelRequest) -> int | None:
        return await self._editor.count(request.model, _spoken(request))

    async def check(self, model: str) -> str:
        known = self._editor.offered(model)
        if known is None:
            raise RequestRefused(f"{self.name} does not offer {model}; choose another model")
        return f"offers {known.name}"

    async def close(self) -> None:
        """Does nothing, because the connection is the client's."""


def _spoken(request: ModelRequest) -> tuple[SpokenMessage, ...]:
    """Returns a request's messages as text. Editors know no system messages, so the system prompt is a user's."""
    conversation = arrange_turns(without_documents(ask_messages(request)), CHAT, thinking=False)
    system = (SpokenMessage(role=SpokenRole.USER, text=conversation.system),) if conversation.system else ()
    return (*system, *(SpokenMessage(role=_ROLES[turn.role], text=_text(turn.content)) for turn in conversation.turns))


def _text(blocks: Iterable[Block]) -> str:
    return "\n".join(_PICTURE if isinstance(block, ImageBlock) else join_texts((block,)) for block in blocks)
