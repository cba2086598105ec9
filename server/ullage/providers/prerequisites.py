"""What a provider needs before it can be asked: its SDK, which is one of Ullage's extras
(`pip install 'ullage[anthropic]'`, pyproject.toml), and a key.

Keys are found in the environment, else in the operating system's keyring (`kept_keys.py`). Keys are never logged, and
stored nowhere but in the keyring.
"""

import os
from importlib.util import find_spec

from ullage.model import words
from ullage.model.errors import SdkMissing
from ullage.model.settings import ProviderSettings
from ullage.providers.kept_keys import KEYRING_SERVICE, kept_key

# Each extra, and the import name of its package, are called the same.
EXTRAS = ("anthropic", "openai", "keyring", "mcp")
# The extra that each kind of provider needs; the others need none.
_OF_KIND = {"anthropic": "anthropic", "openai": "openai", "openai_chat": "openai"}


def is_installed(extra: str) -> bool:
    """Returns whether the extra's package can be imported. Imports nothing."""
    return find_spec(extra) is not None


def require_sdk(provider: str, kind: str) -> None:
    """Raises `SdkMissing`, which names the remedy, if the package that this kind of provider needs isn't installed."""
    extra = _OF_KIND.get(kind)
    if extra is not None and not is_installed(extra):
        raise SdkMissing(words.sdk_missing(provider, extra))


_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "openai_chat": "OPENAI_API_KEY"}
# The SDKs require a key; servers at home ignore it.
_NO_KEY = "none"


def key_variable(settings: ProviderSettings) -> str:
    """Returns the name of the environment variable for the provider's key; empty if this kind of provider has no
    key."""
    return settings.key_env or _VARIABLES.get(settings.kind, "")


def find_key(settings: ProviderSettings) -> str | None:
    """Returns the provider's key from its environment variable or the system's keyring. Returns None if the provider
    needs a key and none is found. For a provider that needs none (a script, or a server with `baseUrl` but no `keyEnv`)
    the key is `none`."""
    variable = key_variable(settings)
    if not variable:
        return _NO_KEY
    key = os.environ.get(variable, "").strip() or kept_key(variable)
    if key:
        return key
    return _NO_KEY if settings.base_url and not settings.key_env else None


def key_source(settings: ProviderSettings) -> str:
    """Returns words for the user that say where the provider's key was found, or how to provide it."""
    variable = key_variable(settings)
    if find_key(settings) == _NO_KEY:
        return "needs no key"
    if os.environ.get(variable, "").strip():
        return f"key from {variable}"
    if kept_key(variable):
        return f"key from the system's keyring ({KEYRING_SERVICE}, {variable})"
    return f"no key: {key_remedy(settings)}"


def key_remedy(settings: ProviderSettings) -> str:
    """Returns the words that say how to provide the provider's missing key: by which variable, or by the keyring."""
    return words.how_to_give_key(key_variable(settings), keyring=is_installed("keyring"))
