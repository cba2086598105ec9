"""An answer that does not end is cut off; what was written of it stays in the transcript."""

from collections.abc import AsyncGenerator

import pytest

from support.workspace import LARGE_MODEL, Live, OneProvider, build_test_client
from ullage.model.answer import Fragment, ModelRequest, TextDelta, ThinkingDelta, ToolInputDelta, ToolUseStart
from ullage.model.errors import AnswerBroken
from ullage.service.ports.models import ProviderCapabilities

# Characters that come at most, so that a reader of all of them ends, too.
_MOST = 60_000_000
_PIECE = "x" * 50_000
ENDLESS: dict[str, Fragment] = {
    "text": TextDelta(text=_PIECE),
    "thinking": ThinkingDelta(text=_PIECE),
    "a tool's input": ToolInputDelta(id="t", text=_PIECE),
}


class EndlessProvider:
    """Writes the same fragment again and again."""

    name = "endless"

    def __init__(self, fragment: Fragment) -> None:
        self._fragment = fragment
        self.written = 0

    def capabilities(self, _model: str, /) -> ProviderCapabilities:
        return ProviderCapabilities()

    async def stream(self, _request: ModelRequest, /) -> AsyncGenerator[Fragment]:
        yield TextDelta(text="It begins. ")
        yield ToolUseStart(id="t", name="run")
        while self.written < _MOST:
            self.written += len(_PIECE)
            yield self._fragment

    async def count_tokens(self, _request: ModelRequest, /) -> int | None:
        return None

    async def check(self, _model: str, /) -> str:
        return ""

    async def close(self) -> None:
        """Does nothing, because no connection is open."""


@pytest.mark.parametrize("kind", ENDLESS)
async def test_an_answer_without_end_is_cut_off_and_its_text_stays(kind: str) -> None:
    provider = EndlessProvider(ENDLESS[kind])
    client = build_test_client(live=Live(providers=OneProvider(provider)))
    session_id = (await client.call("session/new", model=LARGE_MODEL))["sessionId"]
    with pytest.raises(AnswerBroken, match="endless's answer does not end"):
        await client.call("session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "Count"}])
    assert provider.written < _MOST // 4
    last = (await client.entries(session_id, "transcript"))[-1]["message"]
    assert last["role"] == "assistant"
    assert last["content"][0]["text"].startswith("It begins. ")
