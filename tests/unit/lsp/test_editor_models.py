"""Answers of the models that an editor offers: asked by a request to the client, with the answer in pieces."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from support.lsp_rig import Rig
from ullage.api.client_requests import ClientModels
from ullage.model.answer import (
    Finished,
    ModelRequest,
    OfferedModel,
    OfferedModels,
    Purpose,
    SpokenMessage,
    SpokenRole,
    TextDelta,
)
from ullage.model.errors import (
    AnswerBroken,
    AuthenticationFailed,
    ContextTooLong,
    NoModelConfigured,
    ProviderError,
    RateLimited,
    RequestRefused,
)
from ullage.model.message import ImageBlock, Message, Role, TextBlock
from ullage.model.settings import ModelSettings, ProviderSettings, Settings
from ullage.providers.registry import ProviderRegistry

METHOD = "ullage/models/complete"
COUNT = "ullage/models/count"
MODEL = "editor/copilot/gpt"
PROMPT = (SpokenMessage(role=SpokenRole.USER, text="Why?"),)
OFFER = OfferedModels(
    editor="VS Code", models=(OfferedModel(id="copilot/gpt", name="GPT of Copilot", max_input_tokens=64_000),)
)


async def start() -> tuple[Rig, ClientModels]:
    rig = Rig()
    await rig.initialize({"experimental": {"ullage": {"models": True}}})
    models = ClientModels(rig.connection.ask, "ullage/")
    models.offer(OFFER)
    return rig, models


async def said(models: ClientModels) -> str:
    return "".join([piece async for piece in models.stream(MODEL, Purpose.ANSWER, PROMPT)])


async def asked(rig: Rig) -> Any:
    return await rig.until(lambda message: message.get("method") == METHOD)


def answer(rig: Rig, question: Any, **result: Any) -> None:
    rig.send({"jsonrpc": "2.0", "id": question["id"], "result": result})


async def test_the_client_is_asked_by_its_own_name_of_the_model_and_its_pieces_are_the_answer() -> None:
    rig, models = await start()
    saying = asyncio.create_task(said(models))
    question = await asked(rig)
    assert question["params"] == {
        "requestId": "1",
        "model": "copilot/gpt",
        "purpose": "answer",
        "messages": [{"role": "user", "text": "Why?"}],
    }
    for piece in ("Because ", "it ", "is."):
        models.take_piece("1", piece)
    answer(rig, question, pieces=3)
    assert await saying == "Because it is."
    assert not rig.connection.unfinished()


async def test_pieces_that_come_after_the_answer_to_the_request_belong_to_it() -> None:
    rig, models = await start()
    saying = asyncio.create_task(said(models))
    question = await asked(rig)
    models.take_piece("1", "Because ")
    answer(rig, question, pieces=2)
    await rig.settle()
    assert not saying.done()
    models.take_piece("1", "it is.")
    assert await saying == "Because it is."


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (
            "no_permission",
            AuthenticationFailed,
            "VS Code has not let Ullage use GPT of Copilot; ask again and allow it",
        ),
        ("blocked", RateLimited, "GPT of Copilot takes no requests now (no quota left); try it later"),
        ("not_found", RequestRefused, "VS Code does not offer GPT of Copilot any more; choose another model."),
        ("too_long", ContextTooLong, "GPT of Copilot finds the prompt too long (no quota left)."),
        ("failed", AnswerBroken, "GPT of Copilot in VS Code gave no whole answer (no quota left); try again."),
    ],
)
async def test_each_fault_is_an_error_whose_text_says_what_to_do(
    fault: str, kind: type[ProviderError], words: str
) -> None:
    rig, models = await start()
    rig.answers[METHOD] = lambda _: {"pieces": 0, "fault": fault, "reason": "no quota\nleft"}
    with pytest.raises(kind) as raised:
        await said(models)
    assert str(raised.value).startswith(words)


async def test_a_client_that_cannot_be_asked_gives_a_broken_answer() -> None:
    rig, models = await start()
    saying = asyncio.create_task(said(models))
    question = await asked(rig)
    rig.send({"jsonrpc": "2.0", "id": question["id"], "error": {"code": -32601, "message": "unknown"}})
    with pytest.raises(AnswerBroken, match="VS Code could not ask its model"):
        await saying


async def test_a_prompt_is_counted_by_the_models_own_count_over_the_whole_request() -> None:
    rig, models = await start()
    rig.answers[COUNT] = lambda _: {"tokens": 321}
    provider = ProviderRegistry(lambda: models)(MODEL, Settings())
    assert provider.capabilities(MODEL).counts_tokens
    message = Message(id="m1", role=Role.USER, content=(TextBlock(text="Why?"),))
    assert await provider.count_tokens(ModelRequest(model=MODEL, max_tokens=100, messages=(message,))) == 321
    question = await rig.until(lambda sent: sent.get("method") == COUNT)
    assert question["params"]["model"] == "copilot/gpt"
    assert question["params"]["messages"][-1] == {"role": "user", "text": "Why?"}


@pytest.mark.parametrize("reply", [{"result": {"tokens": None}}, {"error": {"code": -32601, "message": "unknown"}}])
async def test_a_model_or_a_client_that_cannot_count_leaves_the_local_count(reply: Any) -> None:
    rig, models = await start()
    counting = asyncio.create_task(models.count(MODEL, PROMPT))
    question = await rig.until(lambda sent: sent.get("method") == COUNT)
    rig.send({"jsonrpc": "2.0", "id": question["id"], **reply})
    assert await counting is None


async def test_an_answer_that_is_stopped_is_cancelled_at_the_client_and_its_late_pieces_are_dropped() -> None:
    rig, models = await start()
    async with aclosing(models.stream(MODEL, Purpose.ANSWER, PROMPT)) as pieces:
        first = asyncio.ensure_future(anext(pieces))
        question = await asked(rig)
        models.take_piece("1", "Because ")
        assert await first == "Because "
    await rig.settle()
    assert rig.notified("$/cancelRequest") == [{"id": question["id"]}]
    models.take_piece("1", "too late")
    assert not rig.connection.unfinished()


async def test_only_models_with_the_prefix_of_editors_are_the_editors() -> None:
    _, models = await start()
    assert models.offered(MODEL) == OFFER.models[0]
    assert models.offered("copilot/gpt") is None
    assert models.offered("editor/copilot/other") is None


async def test_the_registry_finds_the_editor_by_the_models_name_whatever_provider_is_set() -> None:
    _, models = await start()
    settings = Settings(
        provider="home", providers={"home": ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:1/v1")}
    )
    find = ProviderRegistry(lambda: models)
    assert find.name(MODEL, settings) == "VS Code"
    assert not find(MODEL, settings).capabilities(MODEL).native_tools
    assert await find(MODEL, settings).check(MODEL) == "offers GPT of Copilot"
    with pytest.raises(RequestRefused, match="does not offer editor/copilot/other"):
        await find(MODEL, settings).check("editor/copilot/other")


def test_without_an_editor_its_models_are_refused_with_a_remedy() -> None:
    find = ProviderRegistry()
    for ask in (find, find.name):
        with pytest.raises(NoModelConfigured, match="open the session there, or set another model"):
            ask(MODEL, Settings())


async def test_a_request_becomes_text_that_any_editor_can_pass_on() -> None:
    rig, models = await start()
    rig.answers[METHOD] = lambda _: {"pieces": 0}
    picture = ImageBlock(data="aGk=", media_type="image/png")
    request = ModelRequest(
        model=MODEL,
        max_tokens=100,
        instructions="Write the summary.",
        messages=(
            Message(id="m1", role=Role.SYSTEM, content=(TextBlock(text="Be brief."),)),
            Message(id="m2", role=Role.USER, content=(TextBlock(text="What is it?"), picture)),
            Message(id="m3", role=Role.ASSISTANT, content=(TextBlock(text="A cask."),)),
        ),
    )
    settings = Settings(models={MODEL: ModelSettings(tool_syntax="native")})
    provider = ProviderRegistry(lambda: models)(MODEL, settings)
    fragments = [fragment async for fragment in provider.stream(request)]
    assert [type(fragment) for fragment in fragments] == [Finished]
    params = (await asked(rig))["params"]
    assert params["purpose"] == "summary"
    assert [(message["role"], message["text"]) for message in params["messages"]] == [
        ("user", "Be brief."),
        ("user", "What is it?\n[a picture]"),
        ("assistant", "A cask."),
        ("user", "Write the summary."),
    ]


async def test_a_providers_fragments_are_its_pieces_and_then_the_end() -> None:
    rig, models = await start()
    provider = ProviderRegistry(lambda: models)(MODEL, Settings())
    message = Message(id="m1", role=Role.USER, content=(TextBlock(text="Why?"),))
    request = ModelRequest(model=MODEL, max_tokens=100, messages=(message,))

    async def collect() -> list[Any]:
        return [fragment async for fragment in provider.stream(request)]

    collecting = asyncio.create_task(collect())
    question = await asked(rig)
    models.take_piece("1", "Because.")
    answer(rig, question, pieces=1)
    fragments = await collecting
    assert "".join(fragment.text for fragment in fragments if isinstance(fragment, TextDelta)) == "Because."
    assert isinstance(fragments[-1], Finished)
