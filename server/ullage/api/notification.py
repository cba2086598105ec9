"""The one notification of our own that the server sends: an update of a session."""

from msgspec import Struct

from ullage.model.updates import Update

UPDATE = "session/update"


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`, which is ACP's `SessionNotification`."""

    session_id: str
    update: Update
