"""The one notification that the server sends of its own: what happens in a session."""

from msgspec import Struct

from ullage.model.updates import Update

UPDATE = "session/update"


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`, ACP's `SessionNotification`."""

    session_id: str
    update: Update
