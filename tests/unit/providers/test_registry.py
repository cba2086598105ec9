"""The provider that answers for a model, found without making one; its keys in the system's keyring, which are never
shown."""

import logging
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import keyring.backends.fail
import pytest

from support.file_keyring import FileKeyring, put_key
from support.wire.clients import KEY, served
from support.wire.replies import say
from ullage.model.errors import NoModelConfigured, RequestRefused, SdkMissing
from ullage.model.settings import ModelSettings, ProviderSettings, Settings
from ullage.providers import prerequisites
from ullage.providers.anthropic_messages import AnthropicProvider
from ullage.providers.failures import Refusal, translate_refusal
from ullage.providers.openai_apis import OpenAIChatProvider, OpenAIResponsesProvider
from ullage.providers.prerequisites import EXTRAS, find_key, forget_keys, keep_key, kept_key, key_source, keyring_fault
from ullage.providers.registry import ProviderRegistry
from ullage.providers.tools_in_text import ToolsInText

HOME = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:1/v1", models=("llama*",))


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The developer's own keys and keyring must not influence the tests."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "MY_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    forget_keys()


def test_a_model_is_answered_by_the_provider_whose_name_and_key_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    find = ProviderRegistry()
    assert isinstance(find("claude-sonnet-4-5", Settings()), AnthropicProvider)
    assert isinstance(find("gpt-5", Settings()), OpenAIResponsesProvider)


def test_the_setting_decides_before_the_models_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    settings = Settings(provider="home", providers={"home": HOME})
    assert isinstance(ProviderRegistry()("gpt-5", settings), OpenAIChatProvider)


def test_a_server_of_ones_own_serves_its_models_without_a_key() -> None:
    found = ProviderRegistry()("llama-3-8b", Settings(providers={"home": HOME}))
    assert isinstance(found, OpenAIChatProvider)
    assert found.name == "home"


def test_a_server_that_names_its_key_must_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keyed = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    settings = Settings(provider="home", providers={"home": keyed})
    with pytest.raises(NoModelConfigured, match="MY_KEY"):
        ProviderRegistry()("any", settings)
    monkeypatch.setenv("MY_KEY", KEY)
    assert ProviderRegistry()("any", settings).name == "home"


@pytest.mark.parametrize(
    ("model", "settings", "named"),
    [
        ("claude-sonnet-4-5", Settings(), "ANTHROPIC_API_KEY"),
        ("gpt-5", Settings(provider="openai"), "ullage acp --login"),
        ("gpt-5", Settings(provider="nobody"), "no provider is called 'nobody'"),
        ("unheard-of", Settings(), "the setting `provider`"),
    ],
)
def test_what_is_missing_is_named_with_its_remedy(model: str, settings: Settings, named: str) -> None:
    with pytest.raises(NoModelConfigured, match=named):
        ProviderRegistry()(model, settings)


@pytest.mark.parametrize(
    ("package", "model", "settings"),
    [
        ("anthropic", "claude-sonnet-4-5", Settings()),
        ("openai", "gpt-5", Settings()),
        ("openai", "llama-3-8b", Settings(providers={"home": HOME})),
    ],
)
def test_a_missing_sdk_is_named_with_its_remedy_before_anything_is_asked(
    package: str, model: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setitem(sys.modules, package, None)
    for ask in (ProviderRegistry(), ProviderRegistry().name):
        with pytest.raises(SdkMissing, match=rf"-m pip install .*'{package}>"):
            ask(model, settings)


def test_a_key_is_looked_for_without_a_keyring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(NoModelConfigured, match="pip install 'keyring>"):
        ProviderRegistry()("gpt-5", Settings(provider="openai"))


def test_the_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).resolve().parents[3] / "pyproject.toml").read_text())["project"]
    assert {*EXTRAS, "all"} == {*project["optional-dependencies"]}


def test_a_provider_is_made_once_and_again_when_its_key_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    find = ProviderRegistry()
    first = find("gpt-5", Settings())
    assert find("gpt-5", Settings()) is first
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}-new")
    assert find("gpt-5", Settings()) is not first


def test_a_server_without_tool_calls_has_them_in_text() -> None:
    plain = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:1/v1", native_tools=False)
    found = ProviderRegistry()("any", Settings(provider="home", providers={"home": plain}))
    assert isinstance(found, ToolsInText)
    assert not found.capabilities("any").native_tools


@pytest.mark.parametrize(("syntax", "in_text"), [("native", False), ("xml", True), ("caret", True), (None, False)])
def test_a_model_calls_tools_as_its_settings_say(syntax: Any, in_text: bool) -> None:
    server = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:1/v1")
    models = {"mine": ModelSettings(tool_syntax=syntax)}
    find, settings = ProviderRegistry(), Settings(provider="home", providers={"home": server}, models=models)
    assert isinstance(find("mine", settings), ToolsInText) is in_text
    assert not isinstance(find("other", settings), ToolsInText)


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-5"])
def test_no_key_shows_in_what_is_printed_or_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, model: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    find = ProviderRegistry()
    with caplog.at_level(logging.DEBUG):
        provider = find(model, Settings())
    assert KEY not in f"{provider!r} {provider} {find!r} {caplog.text}"


VARIABLE = "NOBODYS_KEY"
SERVER = ProviderSettings(kind="openai_chat", base_url="http://127.0.0.1:9/v1", key_env=VARIABLE)


@pytest.fixture
def a_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A keyring of which nothing has been read yet."""
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path / "keyring.json"))
    monkeypatch.delenv(VARIABLE, raising=False)
    before = keyring.get_keyring()
    keyring.set_keyring(FileKeyring())
    forget_keys()
    yield
    keyring.set_keyring(before)
    forget_keys()


@pytest.mark.usefixtures("a_keyring")
def test_a_keyring_that_cannot_read_its_file_has_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILE_KEYRING", str(tmp_path))
    assert kept_key(VARIABLE) == ""
    assert "has no keyring that can be used" in keyring_fault(VARIABLE)


@pytest.mark.usefixtures("a_keyring")
def test_a_key_that_another_program_stores_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(prerequisites.time, "monotonic", lambda: now[0])
    assert find_key(SERVER) is None
    put_key(VARIABLE, " a-key\n")
    # A burst of questions asks the keyring once.
    assert find_key(SERVER) is None
    now[0] += 3
    assert find_key(SERVER) == "a-key"
    assert key_source(SERVER) == f"key from the system's keyring (ullage, {VARIABLE})"


@pytest.mark.usefixtures("a_keyring")
def test_a_key_that_was_refused_is_read_again() -> None:
    put_key(VARIABLE, "an-old-key")
    assert kept_key(VARIABLE) == "an-old-key"
    put_key(VARIABLE, "a-new-key")
    assert kept_key(VARIABLE) == "an-old-key"
    translate_refusal("nobody", Refusal(status=401))
    assert kept_key(VARIABLE) == "a-new-key"


@pytest.mark.usefixtures("a_keyring")
def test_a_key_that_is_stored_here_is_used_at_once() -> None:
    assert kept_key(VARIABLE) == ""
    assert keyring_fault(VARIABLE) == ""
    assert keep_key(VARIABLE, "a-key") == ""
    assert kept_key(VARIABLE) == "a-key"
    forget_keys()
    assert kept_key(VARIABLE) == "a-key"


@pytest.mark.usefixtures("a_keyring")
def test_without_a_keyring_it_is_said_what_to_do_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    keyring.set_keyring(keyring.backends.fail.Keyring())
    assert kept_key(VARIABLE) == ""
    said = f"Set {VARIABLE} in the agent's environment instead."
    assert keyring_fault(VARIABLE).endswith(said)
    assert keep_key(VARIABLE, "a-key").endswith(said)
    monkeypatch.setattr(prerequisites, "find_spec", absent)
    forget_keys()
    assert kept_key(VARIABLE) == ""
    assert keyring_fault(VARIABLE).endswith(f"run `{sys.executable} -m pip install 'keyring>=25'`, or set {VARIABLE}.")


def absent(_: str) -> None:
    """Finds no package."""


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
