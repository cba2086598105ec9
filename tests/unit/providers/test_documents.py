"""PDF documents of a prompt: each provider takes them in its own shape, or the model is sent a sentence."""

import base64
from typing import Any

import pytest
from msgspec.structs import replace

from support.pdf import small_pdf
from support.wire.clients import DIALECTS, KEY, ask, collect, served, settings_of
from support.wire.replies import say
from ullage.formats.provider import Provider, read_messages, write_messages
from ullage.model.answer import ModelRequest
from ullage.model.message import Block, Message, ResourceBlock, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.providers.openai_apis import make_chat_provider

DATA = base64.b64encode(small_pdf(pages=2)).decode()
PDF = ResourceBlock(uri="file:///project/the%20spec.pdf", mime_type="application/pdf", data=DATA)
ARCHIVE = ResourceBlock(uri="file:///project/a.zip", mime_type="application/zip", data="UEsDBA==")
URL = f"data:application/pdf;base64,{DATA}"
SHAPES: dict[str, Any] = {
    "anthropic": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": DATA},
        "title": "the%20spec.pdf",
    },
    "openai": {"type": "input_file", "filename": "the%20spec.pdf", "file_data": URL},
    "openai_chat": {"type": "file", "file": {"filename": "the%20spec.pdf", "file_data": URL}},
}


def with_content(*blocks: Block) -> ModelRequest:
    return replace(ask(), messages=(Message(id="m1", role=Role.USER, content=(TextBlock(text="Read"), *blocks)),))


def first_content(kind: str, body: Any) -> list[Any]:
    return body["input" if kind == "openai" else "messages"][0]["content"]


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_pdf_of_a_prompt_reaches_the_provider_in_its_shape(kind: str) -> None:
    async with served(kind, say("Read.")) as (server, provider):
        assert provider.capabilities("test-model").documents
        await collect(provider, with_content(PDF))
    (asked,) = server.asked
    assert asked.violations == []
    assert SHAPES[kind] in first_content(kind, asked.body)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_a_pdf_that_a_tool_returned_reaches_the_provider(kind: str) -> None:
    call = Message(id="m2", role=Role.ASSISTANT, content=(ToolUseBlock(id="c1", name="fetch", input={}),))
    found = ToolResultBlock(tool_use_id="c1", content=(TextBlock(text="Found."), PDF))
    request = replace(ask(), messages=(*ask().messages, call, Message(id="m3", role=Role.USER, content=(found,))))
    async with served(kind, say("Read.")) as (server, provider):
        await collect(provider, request)
    (asked,) = server.asked
    assert asked.violations == []
    assert DATA in str(asked.body)


@pytest.mark.parametrize("kind", DIALECTS)
async def test_in_place_of_another_blob_the_model_is_sent_a_sentence(kind: str) -> None:
    async with served(kind, say("Read.")) as (server, provider):
        await collect(provider, with_content(ARCHIVE))
    (asked,) = server.asked
    assert asked.violations == []
    assert (
        "[The content of file:///project/a.zip (application/zip, 1 kB) is not shown to you: models take text, pictures "
        "and PDF documents.]"
    ) in str(asked.body)
    assert "UEsDBA" not in str(asked.body)


async def test_a_server_of_chat_completions_that_is_not_openais_is_sent_a_sentence() -> None:
    async with served("openai_chat", say("Read.")) as (server, _):
        provider = make_chat_provider("local", replace(settings_of(server), documents=None), KEY)
        assert not provider.capabilities("test-model").documents
        await collect(provider, with_content(PDF, ToolResultBlock(tool_use_id="c1", content=(PDF,))))
        await provider.close()
    sent = str(server.asked[-1].body)
    assert sent.count("the%20spec.pdf (application/pdf, 1 kB) is not shown to you: documents cannot be sent to") == 2
    assert DATA not in sent


@pytest.mark.parametrize(
    ("provider", "part"),
    [
        (Provider.ANTHROPIC, SHAPES["anthropic"] | {"title": "Spec, v2", "citations": {"enabled": True}}),
        (Provider.ANTHROPIC, {key: SHAPES["anthropic"][key] for key in ("type", "source")}),
        (Provider.OPENAI, SHAPES["openai_chat"]),
        (Provider.OPENAI_RESPONSES, SHAPES["openai"]),
    ],
    ids=["Anthropic, titled", "Anthropic", "Chat Completions", "Responses"],
)
def test_a_document_in_a_list_of_messages_is_read_and_written_as_it_came(provider: Provider, part: Any) -> None:
    head = {"type": "message"} if provider is Provider.OPENAI_RESPONSES else {}
    raw = {**head, "role": "user", "content": [part]}
    (message,) = read_messages(provider, [raw])
    (block,) = message.content
    assert isinstance(block, ResourceBlock)
    assert block.data == DATA
    assert write_messages(provider, message) == [raw]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}},
    ],
)
def test_a_file_that_is_no_pdf_stays_what_openai_takes(part: Any) -> None:
    raw = {"role": "user", "content": [part]}
    (message,) = read_messages(Provider.OPENAI, [raw])
    assert write_messages(Provider.OPENAI, message) == [raw]
