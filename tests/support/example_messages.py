"""Keeps the messages of the examples by name."""

from pathlib import Path
from typing import Any

from msgspec import UNSET

from support.workspace import TestClient, as_json
from ullage.api.methods import METHODS, NOTIFICATIONS
from ullage.api.protocol import CLIENT_METHODS, ClientAbilities, SessionNotification, error_object
from ullage.jsonrpc.envelope import ErrorObject
from ullage.model.errors import UllageError
from ullage.model.settings import Settings
from ullage.model.updates import CompactionUpdate, Notice, SessionInfoUpdate, UsageUpdate
from ullage.model.usage import UsageSource


class Examples:
    """Messages by file name without `.json`. The first message of each name is kept."""

    def __init__(self) -> None:
        self.messages: dict[str, Any] = {}

    async def call(self, client: TestClient, method: str, variant: str = "", **params: Any) -> Any:
        """Calls a method and keeps params and result."""
        result = await client.call(method, **params)
        name = ".".join(filter(None, [method.replace("/", "."), variant]))
        self.keep(f"{name}.params", params)
        self.keep(f"{name}.result", result)
        client.clock.advance(seconds=20)
        return result

    async def refusal(self, client: TestClient, method: str, **params: Any) -> None:
        """Calls a method that refuses, and keeps the error."""
        try:
            await client.call(method, **params)
        except UllageError as error:
            self.error(error)
            return
        raise AssertionError(f"{method} was expected to refuse")

    def error(self, error: UllageError) -> None:
        """Keeps an error."""
        made = error_object(error)
        self.keep(f"error.{type(error).__name__}", as_json(made))

    def keep_updates(self, client: TestClient) -> None:
        """Keeps the updates that the client got since the last call."""
        for notification in client.recorder.notifications:
            self.keep(update_name(notification), as_json(notification))
        client.recorder.notifications.clear()

    def keep(self, name: str, message: Any) -> None:
        """Keeps a message."""
        self.messages.setdefault(name, message)


def update_name(notification: SessionNotification) -> str:
    """Returns the name of a notification's example."""
    update = notification.update
    words = ["update", str(update.__struct_config__.tag)]
    if isinstance(update, CompactionUpdate):
        words.append(update.status.value)
    if isinstance(update, Notice) and update.meta is not UNSET:
        words.append(update.meta.ullage.kind)
    if isinstance(update, UsageUpdate) and update.meta is not UNSET:
        source = update.meta.ullage.source
        words += [source.value] if source is not UsageSource.REPORTED else []
    if isinstance(update, SessionInfoUpdate) and update.title is not UNSET:
        words.append("title")
    return ".".join(words)


EXAMPLES = Path(__file__).resolve().parents[2] / "protocol" / "examples"


def type_of(name: str) -> Any:
    """Returns the struct of the example with this name."""
    first, last = name.split(".", maxsplit=1)[0], name.rsplit(".", maxsplit=1)[-1]
    single: dict[str, Any] = {
        "update": SessionNotification,
        "error": ErrorObject,
        "settings": Settings,
        "client": ClientAbilities,
    }
    if first in single:
        return single[first]
    if name.removesuffix(".params").replace(".", "/") in NOTIFICATIONS:
        return NOTIFICATIONS[name.removesuffix(".params").replace(".", "/")]
    method = next(
        method for method in (*METHODS, *CLIENT_METHODS) if name.startswith(f"{method.name.replace('/', '.')}.")
    )
    return {"params": method.params, "result": method.result}[last]
