"""The servers speak what the SDKs' typed models describe; these come from the providers' own specifications."""

from typing import Any

import pytest
from anthropic.types import MessageTokensCount, ModelInfo, RawMessageStreamEvent
from openai.types import Model
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.input_token_count_response import InputTokenCountResponse
from pydantic import TypeAdapter

from support.wire.account import Account
from support.wire.clients import DIALECTS
from support.wire.replies import REFUSALS, Call, Fault, Redacted, Refuse, Reply, Say, Stop, Think

EVENTS: dict[str, Any] = {
    "anthropic": RawMessageStreamEvent,
    "openai": ResponseStreamEvent,
    "openai_chat": ChatCompletionChunk,
}
PARTS = (Think("Hm."), Redacted("aGlk"), Say("Let me see."), Refuse("No."), Call("call_1", "read_file", '{"a": 1}'))
ACCOUNT = Account(prompt=120, cached=40, output=30, reasoning=5)


@pytest.mark.parametrize("stop", Stop)
@pytest.mark.parametrize("kind", DIALECTS)
def test_every_event_is_one_that_the_sdk_knows(kind: str, stop: Stop) -> None:
    known = TypeAdapter(EVENTS[kind])
    events = list(DIALECTS[kind]().events("test-model", Reply(parts=PARTS, stop=stop), ACCOUNT))
    for name, data in events:
        if name != "ping":
            known.validate_python(data)
            assert name == data.get("type", "")
    assert len(events) > len(PARTS)


@pytest.mark.parametrize("kind", DIALECTS)
def test_an_anthropic_and_a_responses_answer_have_every_kind_of_event(kind: str) -> None:
    events = DIALECTS[kind]().events("test-model", Reply(parts=PARTS), ACCOUNT)
    names = {name for name, _ in events}
    expected = {
        "anthropic": {"message_start", "content_block_start", "content_block_delta", "content_block_stop", "ping"}
        | {"message_delta", "message_stop"},
        "openai": {f"response.{what}" for what in ("created", "in_progress", "completed")}
        | {f"response.{what}.{when}" for what in ("output_item", "content_part") for when in ("added", "done")}
        | {f"response.{what}.{when}" for what in ("output_text", "refusal") for when in ("delta", "done")}
        | {f"response.function_call_arguments.{when}" for when in ("delta", "done")}
        | {f"response.reasoning_summary_text.{when}" for when in ("delta", "done")}
        | {f"response.reasoning_summary_part.{when}" for when in ("added", "done")},
        "openai_chat": {""},
    }
    assert names == expected[kind]


def test_a_failed_response_is_one_that_the_sdk_knows() -> None:
    _, data = DIALECTS["openai"]().error_event(REFUSALS[Fault.OVERLOADED])
    TypeAdapter[Any](ResponseStreamEvent).validate_python(data)


def test_counts_and_models_are_ones_that_the_sdks_know() -> None:
    MessageTokensCount.model_validate(DIALECTS["anthropic"]().counted(7))
    InputTokenCountResponse.model_validate(DIALECTS["openai"]().counted(7))
    ModelInfo.model_validate(DIALECTS["anthropic"]().models("/v1/models/test-model", "test-model"))
    Model.model_validate(DIALECTS["openai"]().models("/v1/models/test-model", "test-model"))
