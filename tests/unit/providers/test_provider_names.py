"""The provider that would answer is found without making one, and a check names the models it lacks."""

import pytest

from support.wire.clients import served
from support.wire.replies import say
from ullage.model.errors import NoModelConfigured, RequestRefused
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.registry import ProviderRegistry

# The file does not exist, so making this provider would fail.
SCRIPTED = ProviderSettings(kind="scripted", file="/no/such/script", models=("demo-*",))


def test_the_providers_name_is_known_without_making_it() -> None:
    registry = ProviderRegistry()
    assert registry.name("any", Settings(provider="mine", providers={"mine": SCRIPTED})) == "mine"
    assert registry.name("demo-1", Settings(providers={"mine": SCRIPTED})) == "mine"


def test_a_name_that_no_provider_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(NoModelConfigured, match="no provider is called 'yours'; there are anthropic, openai, mine"):
        ProviderRegistry().name("any", Settings(provider="yours", providers={"mine": SCRIPTED}))


def test_a_provider_without_its_key_says_which_variable_holds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOBODYS_KEY", raising=False)
    needy = ProviderSettings(kind="openai_chat", key_env="NOBODYS_KEY", base_url="http://127.0.0.1:9")
    with pytest.raises(NoModelConfigured, match="mine has no key: set NOBODYS_KEY"):
        ProviderRegistry().name("any", Settings(provider="mine", providers={"mine": needy}))


async def test_a_check_refuses_a_model_that_the_server_does_not_list() -> None:
    async with served("openai_chat", say("Yes.")) as (_, provider):
        with pytest.raises(RequestRefused, match=r"does not list nope:1b; it has test-model"):
            await provider.check("nope:1b")
