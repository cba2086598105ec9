"""The checks of `ullage doctor` for providers.

They find out which extras are installed, where a provider's key comes from, whether the provider answers, and what to
do if it doesn't.
"""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from ullage.model import words
from ullage.model.errors import AuthenticationFailed, InputError, ProviderUnavailable, SdkMissing, UllageError
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.failures import shown_address
from ullage.providers.prerequisites import EXTRAS, find_key, is_installed, key_remedy, key_source
from ullage.providers.registry import KNOWN, ProviderRegistry
from ullage.watch.unpacking import reads_zstd

# Seconds to wait for a provider. Longer than a slow network takes to connect, short enough for a waiting user.
_PATIENCE = 10.0


class Check(Struct, frozen=True, kw_only=True):
    """The result of one check. `what` is the name of the check and `found` is its result in words. `remedy` is what the
    user must do, or "" if nothing is wrong. `absent` means that the thing checked is not set up, which is no failure.
    """

    what: str
    found: str
    remedy: str = ""
    absent: bool = False


class GivenProvider(Struct, frozen=True, kw_only=True):
    """A provider that the user describes on the command line. If `model` is given, the check also asks whether the
    provider has that model."""

    name: str
    settings: ProviderSettings
    model: str = ""


def provider_checks(given: GivenProvider | None) -> Iterator[Check]:
    """Yields the check of the given provider, or, if `given` is None, of each known one.

    A known provider without a key is not a failure, because counting and offline compaction need no key.
    """
    if given is not None:
        yield _check(given)
        return
    for name, settings in KNOWN.items():
        if find_key(settings) is None:
            yield Check(what=name, found=f"not set up: {key_source(settings)}", absent=True)
        else:
            yield _check(GivenProvider(name=name, settings=settings))


def extras_check() -> Check:
    """Returns a check that lists which optional packages (extras) are installed. A missing one is not a failure,
    because only a provider or the keyring needs it."""
    found = {extra: is_installed(extra) for extra in EXTRAS} | {"zstd": reads_zstd()}
    installed = [extra for extra, is_there in found.items() if is_there]
    missing = [f"{extra} ({words.how_to_install(extra)})" for extra, is_there in found.items() if not is_there]
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
        async with asyncio.timeout(_PATIENCE):
            return await providers(given.model, settings).check(given.model)
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
        return f"start the server, or correct its address {shown_address(settings.base_url)}"
    return "look at the network; behind a proxy, set HTTPS_PROXY"
