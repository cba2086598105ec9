"""`ullage acp --login`: asks in a terminal for a provider and its key, tries the key, and keeps it in the keyring.

The key is never shown. It is kept although the provider does not answer, but not if the provider refuses it.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from getpass import getpass

from ullage.model.errors import AuthenticationFailed, InputError, UllageError
from ullage.model.settings import ProviderSettings, Settings
from ullage.providers.prerequisites import KEYRING_SERVICE, keep_key, key_variable, keyring_fault
from ullage.providers.registry import KNOWN, make_provider, serves

# Seconds to wait for the provider: the user waits, too.
_PATIENCE = 10.0


def log_in(settings: Settings) -> int:
    """Asks for a key and keeps it. Returns 0 once it is kept, else 1. Raises `InputError` without a keyring."""
    if not sys.stdin.isatty():
        raise InputError("--login needs a terminal, because a key that is typed must not be shown")
    # Servers of the user's own take a key only if the settings name it.
    providers = {
        name: one
        for name, one in {**KNOWN, **settings.providers}.items()
        if key_variable(one) and (not one.base_url or one.key_env)
    }
    name = _ask_provider(providers, _likely(providers, settings))
    provider = providers[name]
    variable = key_variable(provider)
    if fault := keyring_fault(variable):
        raise InputError(fault)
    if not (key := _ask_key(name)):
        return _print_and_exit("No key was given, and none is kept.", 1)
    try:
        tried = asyncio.run(_try(name, provider, key))
    except AuthenticationFailed as error:
        return _print_and_exit(f"{error} It is not kept.", 1)
    except (UllageError, TimeoutError) as error:
        tried = f"it could not be tried: {str(error) or f'no answer within {_PATIENCE:.0f} s'}"
    if fault := keep_key(variable, key):
        raise InputError(fault)
    _print_and_exit(f"The key of {name} is kept in the system's keyring ({KEYRING_SERVICE}, {variable}); {tried}", 0)
    if os.environ.get(variable, "").strip():
        _print_and_exit(f"{variable} is set here. Where it is set, it is used and not the keyring.", 0)
    return 0


def _likely(providers: Mapping[str, ProviderSettings], settings: Settings) -> str:
    """Returns the provider that the settings name or that has their model, else the first."""
    serving = [name for name, one in providers.items() if settings.model and serves(one, settings.model)]
    return settings.provider if settings.provider in providers else next(iter([*serving, *providers]))


def _ask_provider(providers: Mapping[str, ProviderSettings], likely: str) -> str:
    """Asks until the user names one of the providers; an empty answer is the likely one."""
    if len(providers) == 1:
        return likely
    try:
        while (answer := input(f"Provider ({', '.join(providers)}) [{likely}]: ").strip() or likely) not in providers:
            _print_and_exit(f"There is no provider {answer!r} that takes a key.", 0)
    except EOFError:
        raise InputError("no provider was chosen") from None
    return answer


def _ask_key(name: str) -> str:
    try:
        return getpass(f"Key of {name} (not shown): ").strip()
    except EOFError:
        return ""


async def _try(name: str, settings: ProviderSettings, key: str) -> str:
    """Asks the provider for its list of models, with the key. Returns what it says, in words for the user."""
    provider = make_provider(name, settings, key)
    try:
        async with asyncio.timeout(_PATIENCE):
            return f"the provider answers: {await provider.check('')}"
    finally:
        await provider.close()


def _print_and_exit(text: str, status: int) -> int:
    sys.stdout.write(f"{text}\n")
    return status
