"""Keys in the operating system's keyring, which is only asked if the extra `keyring` is installed.

A key is read once. One that is not there is looked for again, because the user may store it while the program runs
(`ullage acp --login`).
"""

import time
from importlib.util import find_spec

from ullage.model import words

KEYRING_SERVICE = "ullage"
# Seconds for which a key counts as absent once it was not there. A new session looks for keys several times.
_ABSENT_FOR = 2.0
_found: dict[str, str] = {}
# Until when each key counts as absent, by the monotonic clock.
_absent: dict[str, float] = {}


def kept_key(variable: str) -> str:
    """Returns the key that the keyring has for the variable; an empty string if it has none or cannot be asked. A
    keyring that cannot be asked is not asked again before `forget_keys`, because it may show the user a dialog."""
    if variable in _found:
        return _found[variable]
    if time.monotonic() < _absent.get(variable, 0.0) or find_spec("keyring") is None:
        return ""
    # The keyring's backends take long to import, and most users have the variable.
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        key = (keyring.get_password(KEYRING_SERVICE, variable) or "").strip()
    except KeyringError:
        _absent[variable] = float("inf")
        return ""
    if key:
        _found[variable] = key
    else:
        _absent[variable] = time.monotonic() + _ABSENT_FOR
    return key


def forget_keys() -> None:
    """Has every key read again, as after one was refused: the user may have stored another."""
    _found.clear()
    _absent.clear()


def keyring_fault(variable: str) -> str:
    """Returns why the system's keyring cannot be asked for the key of the variable, with what to do instead; "" if it
    can."""
    if find_spec("keyring") is None:
        return words.no_keyring_package(variable)
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.get_password(KEYRING_SERVICE, variable)
    except KeyringError as error:
        return words.no_keyring(variable, str(error))
    return ""


def keep_key(variable: str, key: str) -> str:
    """Stores a key in the keyring in place of the one that is there. Returns why the keyring refuses, with what to do
    instead; "" if the key is stored."""
    import keyring  # noqa: PLC0415
    from keyring.errors import KeyringError  # noqa: PLC0415

    try:
        keyring.set_password(KEYRING_SERVICE, variable, key)
    except KeyringError as error:
        return words.no_keyring(variable, str(error))
    forget_keys()
    return ""
