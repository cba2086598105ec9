"""Finds keys: in the environment, else in the operating system's keyring. Keys are never logged and never stored.

The keyring is only asked if the extra `keyring` is installed.
"""

import os
from functools import cache

from ullage.model import words
from ullage.model.settings import ProviderSettings
from ullage.providers.extras import is_installed

_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "openai_chat": "OPENAI_API_KEY"}
KEYRING_SERVICE = "ullage"
# The SDKs require a key; servers at home ignore it.
_NO_KEY = "none"


def key_variable(settings: ProviderSettings) -> str:
    """Returns the environment variable that holds the provider's key; empty if the provider needs no key."""
    return settings.key_env or _VARIABLES.get(settings.kind, "")


def find_key(settings: ProviderSettings) -> str | None:
    """Returns the key, or None if a key is needed and none is found. The user's own server needs none unless the
    settings name a variable for it."""
    variable = key_variable(settings)
    if not variable:
        return _NO_KEY
    key = os.environ.get(variable, "").strip() or _from_keyring(variable)
    if key:
        return key
    return _NO_KEY if settings.base_url and not settings.key_env else None


def key_source(settings: ProviderSettings) -> str:
    """Returns where the key was found, as shown to users."""
    variable = key_variable(settings)
    if not variable:
        return "needs no key"
    if os.environ.get(variable, "").strip():
        return f"key from {variable}"
    if _from_keyring(variable):
        return f"key from the system's keyring ({KEYRING_SERVICE}, {variable})"
    return f"no key: {key_remedy(settings)}"


def key_remedy(settings: ProviderSettings) -> str:
    """What to do about the provider's missing key."""
    return words.how_to_give_key(key_variable(settings), keyring=is_installed("keyring"))


@cache
def _from_keyring(variable: str) -> str:
    """Returns the key in the keyring; an empty string if it has none or cannot be asked."""
    if not is_installed("keyring"):
        return ""
    # The keyring's backends take long to import, and most users have the variable.
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        return (keyring.get_password(KEYRING_SERVICE, variable) or "").strip()
    except KeyringError:
        return ""
