"""The bus: which listeners get an update, in what order, and that a failing listener does not affect the others."""

import logging

import pytest

from support.workspace import Recorder
from ullage.model.updates import Update
from ullage.service.conversation.bus import Bus, notice

WARNING = notice("context_warning", "The context is 82% full.")


class Broken:
    """A listener that always raises."""

    def session_updated(self, session_id: str, update: object) -> None:
        raise RuntimeError("broken")


class Named:
    """A listener that notes that it was called."""

    def __init__(self, name: str, called: list[str]) -> None:
        self._name, self._called = name, called

    def session_updated(self, session_id: str, update: Update) -> None:
        self._called.append(f"{self._name}: {session_id}")


def test_listeners_get_the_updates_of_all_sessions_in_the_order_of_their_subscription() -> None:
    bus, called = Bus(), list[str]()
    for name in ("first", "second"):
        bus.listen(Named(name, called))
    bus.emit("s_1", WARNING)
    bus.emit("s_2", WARNING)
    assert called == ["first: s_1", "second: s_1", "first: s_2", "second: s_2"]


def test_a_listener_that_raises_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    bus, recorder = Bus(), Recorder()
    bus.listen(Broken())
    bus.listen(recorder)
    with caplog.at_level(logging.ERROR):
        bus.emit("s_1", WARNING)
    assert [update["title"] for update in recorder.take()] == ["The context is 82% full."]
    assert len(caplog.records) == 1
