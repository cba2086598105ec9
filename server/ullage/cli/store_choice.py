"""Which session store a command has: that of `--store`, else of the environment variable ULLAGE_STORE. A server without
both has that of its settings, and every other command the one in the user's data folder.

Imports almost nothing: a status line and a hook read this, too, and an agent waits for them.
"""

import os

from ullage.cli.statusline.files import default_store
from ullage.model.store_address import PASSWORD_REFUSED, has_password, is_address, local_name

_VARIABLE = "ULLAGE_STORE"


def chosen_store(given: str | None) -> str | None:
    """Returns the file or the address in PostgreSQL that was chosen, `given` by `--store` or else by the environment;
    None if none was. Raises `InvalidRequest` if it contains a password."""
    place = given or os.environ.get(_VARIABLE)
    if not place:
        return None
    if has_password(place):
        from ullage.model.errors import InvalidRequest  # noqa: PLC0415  (a status line never needs it)

        raise InvalidRequest(PASSWORD_REFUSED)
    return place if is_address(place) else os.path.expanduser(place)  # noqa: PTH111


def local_store(given: str) -> str:
    """Returns the path with which the files begin that this machine keeps next to the store, as
    `ullage.store.store_place.local_path` does. An address with a password is not used."""
    place = given or os.environ.get(_VARIABLE) or ""
    if not is_address(place):
        return os.path.expanduser(place) if place else default_store()  # noqa: PTH111
    return default_store() if has_password(place) else os.path.join(os.path.dirname(default_store()), local_name(place))  # noqa: PTH118, PTH120
