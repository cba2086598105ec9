"""The shapes of the versions: the proxy reads and makes those of version 1, and `Shapes` converts them."""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from msgspec import Struct

from ullage.acp.v2.introductions import VERSION, greeting_as_v1, introduction_as_v1
from ullage.acp.v2.read import UpdateReader, opened_as_v1, request_as_v2
from ullage.acp.v2.shown import opened_as_v2, update_as_v2
from ullage.model.json_values import JsonObject, as_plain

Change = Callable[[JsonObject], JsonObject]


def _same(value: JsonObject) -> JsonObject:
    return value


class PlainReader:
    """Reads updates of version 1, each by itself."""

    def read(self, update: JsonObject) -> Iterable[JsonObject]:
        """Returns the update alone."""
        return (update,)

    def rest(self) -> Iterable[JsonObject]:
        """Returns nothing."""
        return ()


class Shapes(Struct, frozen=True, kw_only=True):
    """How one version's messages become those of version 1, and back.

    - `capabilities`: the field of an agent's result of `initialize` that has its capabilities.
    - `greeting`, `introduction`: the params and the result of `initialize`, as version 1 has them.
    - `opened`, `opened_again`: the result of a request that opens a session, from and to this version.
    - `update`: a session update of the proxy's own as the client gets it, or None to send nothing.
    - `request`: the method and the params of a request of the proxy's own as the agent gets them.
    - `server`: an MCP server that runs on standard streams, as the agent is offered it.
    - `reader`: makes a reader of one session's updates.
    """

    capabilities: str = "agentCapabilities"
    greeting: Change = _same
    introduction: Change = _same
    opened: Change = _same
    opened_again: Change = _same
    update: Callable[[Any], Any] = _same
    request: Callable[[str, JsonObject], tuple[str, JsonObject]] = lambda method, params: (method, params)
    server: Change = _same
    reader: Callable[[], UpdateReader | PlainReader] = PlainReader


def _update(update: Any) -> JsonObject | None:
    return update_as_v2(as_plain(update), lambda: uuid4().hex)


def _server(server: JsonObject) -> JsonObject:
    return {"type": "stdio", **server}


SHAPES = {
    1: Shapes(),
    VERSION: Shapes(
        capabilities="capabilities",
        greeting=greeting_as_v1,
        introduction=introduction_as_v1,
        opened=opened_as_v1,
        opened_again=opened_as_v2,
        update=_update,
        request=request_as_v2,
        server=_server,
        reader=UpdateReader,
    ),
}
