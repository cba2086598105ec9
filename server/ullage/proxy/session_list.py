"""Lists the agent's sessions to the client as its own: without those that the proxy has made, and by the client's ids.

A conversation that was compacted may have several sessions of the agent: the one in use, those that it has left, and
copies. The client sees one of them, under the id that it knows.
"""

from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from ullage.jsonrpc.envelope import Response
from ullage.model.json_values import JsonObject, as_objects, as_text
from ullage.proxy.connection import Connection
from ullage.proxy.open_requests import Pending
from ullage.proxy.pipe.frames import Frame, fields, line
from ullage.proxy.pipe.lines import Piece
from ullage.service.ports.store import AttachedSession


def pending_list(connection: Connection, frame: Frame) -> Pending:
    """Returns the `Pending` for a `session/list` of the client's, which rewrites the agent's answer. A request without
    a cursor begins a new list."""
    if not fields(frame.params).get("cursor"):
        connection.listed.clear()

    async def answered(piece: Piece, frame: Frame) -> None:
        await _answer(connection, piece, frame)

    return Pending(method="session/list", answered=answered)


async def _answer(connection: Connection, piece: Piece, frame: Frame) -> None:
    workspace = None if memoryview(frame.error) else await connection.recorder.opened()
    result = fields(frame.result)
    entries = as_objects(result.get("sessions"))
    attached = workspace.ports.store.attached() if workspace else ()
    shown = rewritten(entries, attached, connection.listed)
    if shown == entries:
        connection.client.pass_on(piece)
        return
    known_id = None if frame.id is UNSET else frame.id
    connection.client.insert(line(Response(id=known_id, result={**result, "sessions": shown})))


def rewritten(entries: list[JsonObject], attached: Iterable[AttachedSession], listed: set[str]) -> list[JsonObject]:
    """Returns one page of the agent's list as the client gets it. A compacted conversation is shown once, where its
    first entry is, and with the time of its last; entries of other sessions are not changed.

    `listed` has the conversations that earlier pages have shown; those of this page are added.
    """
    owners = {agent_id: owner for owner in attached for agent_id in owner.agent_ids}
    pages: dict[str, list[JsonObject]] = {}
    for entry in entries:
        owner = owners.get(as_text(entry.get("sessionId")))
        if owner is not None:
            pages.setdefault(owner.session_id, []).append(entry)
    shown: list[JsonObject] = []
    for entry in entries:
        owner = owners.get(as_text(entry.get("sessionId")))
        if owner is None:
            shown.append(entry)
        elif owner.session_id not in listed and (one := _one(owner, pages[owner.session_id])) is not None:
            listed.add(owner.session_id)
            shown.append(one)
    return shown


def _one(owner: AttachedSession, entries: list[JsonObject]) -> JsonObject | None:
    """Returns the entry of a conversation, from those of its sessions on one page. Returns None if these are copies and
    sessions that it has left, and not the one that the client knows."""
    by_id = {as_text(entry.get("sessionId")): entry for entry in entries}
    known, used = by_id.get(owner.session_id), by_id.get(owner.agent_ids[-1])
    if known is None and used is None:
        return None
    times: list[Any] = [time for entry in (known, used) if entry and (time := as_text(entry.get("updatedAt")))]
    # The title of a session that begins with a summary is the summary's.
    one = known or {**(used or {}), "sessionId": owner.session_id, **({"title": owner.title} if owner.title else {})}
    return {**one, "updatedAt": max(times)} if times else one
