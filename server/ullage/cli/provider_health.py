"""What `ullage doctor` finds out about providers: which packages for them are installed, where the key comes from,
whether they answer, and what to do if not."""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from ullage.model import words
from ullage.model.errors import AuthenticationFailed, InputError, ProviderUnavailable, SdkMissing, UllageError
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.prerequisites import EXTRAS, find_key, is_installed, key_remedy, key_source
from ullage.providers.registry import KNOWN, ProviderRegistry

# Seconds. Longer than a slow network takes to connect; people wait for this.
_PATIENCE = 10.0


class Check(Struct, frozen=True, kw_only=True):
    """One thing that was looked at: what was found, and `remedy` only if something is wrong."""

    what: str
    found: str
    remedy: str = ""


class GivenProvider(Struct, frozen=True, kw_only=True):
    """A provider as described on the command line; `model` is asked for, if given."""

    name: str
    settings: ProviderSettings
    model: str = ""


def provider_checks(given: GivenProvider | None) -> Iterator[Check]:
    """The given provider, else each known one that has a key. Having none is nothing to mend: no key is needed for
    counting and offline compaction."""
    if given is not None:
        yield _check(given)
        return
    for name, settings in KNOWN.items():
        if find_key(settings) is None:
            yield Check(what=name, found=f"not set up: {key_source(settings)}")
        else:
            yield _check(GivenProvider(name=name, settings=settings))


def extras_check() -> Check:
    """Which extras are installed. A missing one is no fault: nothing needs it until a provider or a key does."""
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
