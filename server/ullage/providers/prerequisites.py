"""What a provider needs before it can be asked: its SDK, which is one of Ullage's extras, and a key.

Extras are in pyproject.toml. Keys are found in the environment, else in the
operating system's keyring, which is only asked if the extra `keyring` is installed. Keys are never logged, and stored
nowhere but in the keyring. A key is read once. One that is not there is looked for again, because the user may store it
while the program runs (`ullage acp --login`).
"""

import os
import time
from importlib.util import find_spec
from types import ModuleType

from ullage.model import words
from ullage.model.errors import SdkMissing
from ullage.model.settings import ProviderSettings

# What each extra is for.
EXTRAS = {
    "anthropic": "summaries by Anthropic's models",
    "openai": "summaries by OpenAI's models or a local server's",
    "keyring": "keys kept by the operating system",
    "mcp": "MCP servers that an editor gives to `ullage acp` (what `ullage wire` adds works without it)",
    "postgres": "conversations in PostgreSQL",
    "otel": "spans and metrics for programs",
}
# The import names of packages that are not called as their extra is.
_IMPORTED = {"postgres": "psycopg", "otel": "opentelemetry"}
# The extra that each kind of provider needs; the others need none.
_OF_KIND = {"anthropic": "anthropic", "openai": "openai", "openai_chat": "openai"}
_VARIABLES = {"anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "openai_chat": "OPENAI_API_KEY"}
# The SDKs require a key; servers at home ignore it.
_NO_KEY = "none"
KEYRING_SERVICE = "ullage"
# Seconds for which a key counts as absent once it was not there. A new session looks for keys several times.
_ABSENT_FOR = 2.0
_found: dict[str, str] = {}
# Until when each key counts as absent, by the monotonic clock.
_absent: dict[str, float] = {}


def is_installed(extra: str) -> bool:
    """Returns whether the extra's package can be imported. Imports nothing."""
    return find_spec(_IMPORTED.get(extra, extra)) is not None


def require_sdk(provider: str, kind: str) -> None:
    """Raises `SdkMissing`, which names the remedy, if the package that this kind of provider needs isn't installed."""
    extra = _OF_KIND.get(kind)
    if extra is not None and not is_installed(extra):
        raise SdkMissing(words.sdk_missing(provider, extra))


def key_variable(settings: ProviderSettings) -> str:
    """Returns the environment variable for the provider's key; "" if such a provider has no key."""
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


def kept_key(variable: str) -> str:
    """Returns the key that the keyring has for the variable; an empty string if it has none or cannot be asked. A
    keyring that cannot be asked is not asked again before `forget_keys`, because it may show the user a dialog."""
    if variable in _found:
        return _found[variable]
    if time.monotonic() < _absent.get(variable, 0.0) or find_spec("keyring") is None:
        return ""
    keyring = _keyring()
    try:
        key = (keyring.get_password(KEYRING_SERVICE, variable) or "").strip()
    except (keyring.errors.KeyringError, OSError):
        _absent[variable] = float("inf")
        return ""
    if key:
        _found[variable] = key
    else:
        _absent[variable] = time.monotonic() + _ABSENT_FOR
    return key


def _keyring() -> ModuleType:
    # Its backends take long to import, and most users have the variable.
    import keyring  # noqa: PLC0415

    return keyring


def forget_keys() -> None:
    """Has every key read again, as after one was refused: the user may have stored another."""
    _found.clear()
    _absent.clear()


def keyring_fault(variable: str) -> str:
    """Returns why the system's keyring cannot be asked for the key of the variable, with what to do instead; "" if it
    can."""
    if find_spec("keyring") is None:
        return words.no_keyring_package(variable)
    keyring = _keyring()
    try:
        keyring.get_password(KEYRING_SERVICE, variable)
    except (keyring.errors.KeyringError, OSError) as error:
        return words.no_keyring(variable, str(error))
    return ""


def keep_key(variable: str, key: str) -> str:
    """Stores a key in the keyring in place of the one that is there. Returns why the keyring refuses, with what to do
    instead; "" if the key is stored."""
    keyring = _keyring()
    try:
        keyring.set_password(KEYRING_SERVICE, variable, key)
    except (keyring.errors.KeyringError, OSError) as error:
        return words.no_keyring(variable, str(error))
    forget_keys()
    return ""
