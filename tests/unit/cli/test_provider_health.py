"""What `ullage doctor` says of a provider."""

import json

import msgspec

from ullage.cli.health_checks import GivenProvider, provider_checks
from ullage.model.settings import ProviderSettings


def test_a_password_in_the_servers_address_is_not_shown() -> None:
    given = {"kind": "openai_chat", "baseUrl": "http://jo:walnut-cake@127.0.0.1:9/v1"}
    settings = msgspec.convert(given, ProviderSettings)
    (check,) = provider_checks(GivenProvider(name="local", settings=settings))
    said = json.dumps(msgspec.to_builtins(check))
    assert "127.0.0.1:9" in said
    assert "walnut-cake" not in said
    assert check.remedy
