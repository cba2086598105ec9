"""The checks of `ullage doctor` for providers.

They find out which packages are installed, where the key comes from, whether the provider answers, and what to do if
not.
"""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from ullage.model import words
from ullage.model.errors import AuthenticationFailed, InputError, ProviderUnavailable, SdkMissing, UllageError
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.extras import EXTRAS, is_installed
from ullage.providers.keys import find_key, key_remedy, key_source
from ullage.providers.registry import KNOWN, ProviderRegistry

# Seconds to wait for a provider. Longer than a slow network takes to connect, short enough for a waiting user.
_PATIENCE = 10.0


class Check(Struct, frozen=True, kw_only=True):
    """The result of one check. `remedy` says what to do; it is empty if nothing is wrong."""

    what: str
    found: str
    remedy: str = ""


class GivenProvider(Struct, frozen=True, kw_only=True):
    """A provider described on the command line. If `model` is given, the check asks for that model."""

    name: str
    settings: ProviderSettings
    model: str = ""


def provider_checks(given: GivenProvider | None) -> Iterator[Check]:
    """Yields a check of the given provider, or else of each known one.

    A known provider without a key is not a failure: counting and offline compaction need no key.
    """
    if given is not None:
        yield _check(given)
        return
    for name, settings in KNOWN.items():
        if find_key(settings) is None:
            yield Check(what=name, found=f"not set up: {key_source(settings)}")
        else:
            yield _check(GivenProvider(name=name, settings=settings))


def extras_check() -> Check:
    """Returns which extras are installed. A missing extra is not a failure: only a provider or the keyring needs it."""
    installed = [extra for extra in EXTRAS if is_installed(extra)]
    missing = [f"{extra} ({words.how_to_install(extra)})" for extra in EXTRAS if extra not in installed]
    parts = [", ".join(installed), f"not installed: {', '.join(missing)}" if missing else ""]
    return Check(what="extras", found="; ".join(filter(None, parts)))


def _check(given: GivenProvider) -> Check:
    source = key_source(given.settings)
    if find_key(given.settings) is None:
        return Check(what=given.name, found="has no key", remedy=key_remedy(given.settings))
    try:
        found = asyncio.run(_ask(given))
    except TimeoutError:
        found = f"no answer within {_PATIENCE:.0f} s ({source})"
        return Check(what=given.name, found=found, remedy=_reach(given.settings))
    except SdkMissing as error:
        return Check(what=given.name, found=f"{source}, but no way to use it", remedy=str(error))
    except UllageError as error:
        return Check(what=given.name, found=f"{error} ({source})", remedy=_remedy(given, error))
    return Check(what=given.name, found=f"{found} ({source})")


async def _ask(given: GivenProvider) -> str:
    settings = Settings(provider=given.name, providers={given.name: given.settings})
    providers = ProviderRegistry()
    try:
        return await asyncio.wait_for(providers(given.model, settings).check(given.model), _PATIENCE)
    finally:
        await providers.close()


def _remedy(given: GivenProvider, error: UllageError) -> str:
    match error:
        case AuthenticationFailed():
            return f"the key is not accepted; make a new one, and {key_remedy(given.settings)}"
        case ProviderUnavailable():
            return _reach(given.settings)
        case InputError():
            return "correct the file"
        case _:
            return "check the model's name and the kind of server"


def _reach(settings: ProviderSettings) -> str:
    if settings.base_url:
        return f"start the server, or correct its address {settings.base_url}"
    return "look at the network; behind a proxy, set HTTPS_PROXY"
