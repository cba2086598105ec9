"""The official SDKs with servers that mean harm: nothing grows without bound, and nothing is an internal error."""

import asyncio

import pytest

from support.steps import python_steps
from support.wire.clients import DIALECTS, KEY, collect, served
from support.wire.hostile import ATTACKS, NONSENSE, attacked, error_with_key, many, one_event
from support.wire.replies import say
from ullage.model.errors import AnswerBroken, ProviderError

pytestmark = pytest.mark.parametrize("kind", DIALECTS)
# Seconds. The longest attack takes a few; unbounded, it would take minutes.
PATIENCE = 120.0


@pytest.mark.parametrize("attack", ATTACKS)
async def test_an_answer_that_never_ends_is_cut_off(kind: str, attack: str) -> None:
    encoding, pieces = ATTACKS[attack]
    async with attacked(kind, pieces, encoding) as provider:
        with pytest.raises(AnswerBroken, match=r"does not end|not asked for"):
            await asyncio.wait_for(collect(provider), PATIENCE)


@pytest.mark.parametrize("data", NONSENSE)
async def test_json_of_another_shape_is_an_answer_that_cannot_be_read(kind: str, data: str) -> None:
    async with attacked(kind, one_event(data)) as provider:
        try:
            fragments = await asyncio.wait_for(collect(provider), PATIENCE)
        except AnswerBroken as error:
            assert str(error).startswith(kind)
        else:
            # An event that this protocol does not know is passed over.
            assert fragments == []


async def test_an_error_in_the_middle_of_an_answer_does_not_show_the_key(kind: str) -> None:
    async with attacked(kind, error_with_key) as provider:
        with pytest.raises(ProviderError, match="oops") as raised:
            await asyncio.wait_for(collect(provider), PATIENCE)
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r}"


@pytest.mark.parametrize("data", ["{}", '{"type": "ping"}'])
async def test_an_event_that_is_not_known_costs_little(kind: str, data: str) -> None:
    with python_steps() as steps:
        async with attacked(kind, many(data, 1_000)) as provider:
            try:
                assert await asyncio.wait_for(collect(provider), PATIENCE) == []
            except AnswerBroken as error:
                # Chat has events of one kind only.
                assert kind == "openai_chat", error
    # An event that is tried as each type that the SDK has takes four times as many.
    assert steps.taken < 5_000_000


async def test_no_other_key_of_the_environment_is_sent(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_ADMIN_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "never-to-be-sent")
    async with served(kind, say("Hello.")) as (server, provider):
        await asyncio.wait_for(collect(provider), PATIENCE)
    assert server.received
    assert "never-to-be-sent" not in repr([one.headers for one in server.received])
