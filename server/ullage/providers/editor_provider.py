"""Models that the user's editor offers: the editor asks them, without a key of Ullage's."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing

from ullage.formats.requests.openai import FORMAT
from ullage.formats.requests.turns import arrange_turns, without_documents
from ullage.model.answer import Finished, Fragment, ModelRequest, StopReason, TextDelta
from ullage.model.blocks import Block, ImageBlock, join_texts
from ullage.model.errors import RequestRefused
from ullage.model.message import Role
from ullage.model.offered_models import Purpose, SpokenMessage, SpokenRole
from ullage.providers.request_messages import ask_messages
from ullage.service.ports.models import EditorModels, ProviderCapabilities

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
    conversation = arrange_turns(without_documents(ask_messages(request)), FORMAT, thinking=False)
    system = (SpokenMessage(role=SpokenRole.USER, text=conversation.system),) if conversation.system else ()
    return (*system, *(SpokenMessage(role=_ROLES[turn.role], text=_text(turn.content)) for turn in conversation.turns))


def _text(blocks: Iterable[Block]) -> str:
    return "\n".join(_PICTURE if isinstance(block, ImageBlock) else join_texts((block,)) for block in blocks)
