"""The servers send what the SDKs' typed models describe; those are generated from the providers' specifications."""

from typing import Any

import pytest
from anthropic.types import MessageTokensCount, ModelInfo, RawMessageStreamEvent
from anthropic.types.beta import BetaRawMessageStreamEvent
from openai.types import Model
from openai.types.chat import ChatCompletionChunk
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.input_token_count_response import InputTokenCountResponse
from pydantic import TypeAdapter

from support.wire.account import Account
from support.wire.anthropic_context import ManagedAnthropicWire
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


@pytest.mark.parametrize("edit", ["clear_tool_uses_20250919", "compact_20260112"])
def test_context_managed_by_the_provider_comes_in_events_that_the_sdk_knows(edit: str) -> None:
    wire, known = ManagedAnthropicWire(), TypeAdapter[Any](BetaRawMessageStreamEvent)
    call: dict[str, Any] = {"type": "tool_use", "id": "t1", "name": "read_file", "input": {}}
    result: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [{"type": "text", "text": "word " * 50}],
    }
    messages: list[dict[str, Any]] = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    options: dict[str, Any] = {
        "trigger": {"type": "input_tokens", "value": 9},
        "keep": {"value": 0},
        "exclude_tools": [],
    }
    wire.items({"messages": messages, "context_management": {"edits": [{"type": edit, **options}]}})
    events = [data for _, data in wire.events("test-model", Reply(parts=PARTS), ACCOUNT) if data["type"] != "ping"]
    for data in events:
        known.validate_python(data)
    (end,) = [data for data in events if data["type"] == "message_delta"]
    if edit == "compact_20260112":
        assert end["delta"]["stop_reason"] == "compaction"
        assert any(data.get("delta", {}).get("type") == "compaction_delta" for data in events)
    else:
        (applied,) = end["context_management"]["applied_edits"]
        assert applied["cleared_tool_uses"] == 1


def test_a_failed_response_is_one_that_the_sdk_knows() -> None:
    _, data = DIALECTS["openai"]().error_event(REFUSALS[Fault.OVERLOADED])
    TypeAdapter[Any](ResponseStreamEvent).validate_python(data)


def test_counts_and_models_are_ones_that_the_sdks_know() -> None:
    MessageTokensCount.model_validate(DIALECTS["anthropic"]().counted(7))
    InputTokenCountResponse.model_validate(DIALECTS["openai"]().counted(7))
    ModelInfo.model_validate(DIALECTS["anthropic"]().models("/v1/models/test-model", "test-model"))
    Model.model_validate(DIALECTS["openai"]().models("/v1/models/test-model", "test-model"))
