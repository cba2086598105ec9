"""The bus: which listeners get an event, in what order, and that a failing listener does not affect the others."""

import logging

import pytest

from support.workspace import Recorder
from ullage.model.events import AutoCompacting, ContextEvent, ContextWarning
from ullage.service.conversation.bus import Bus

WARNING = ContextWarning(session_id="s_1", used=820, usable=1_000, window=1_250, compact_at=900)
COMPACTING = AutoCompacting(session_id="s_2", used=910)


class Broken:
    """A listener that always raises."""

    def session_updated(self, session_id: str, update: object) -> None:
        raise RuntimeError("broken")


def test_a_handler_gets_the_events_of_its_kind_alone() -> None:
    bus, got = Bus(), list[ContextWarning]()
    bus.subscribe(ContextWarning, got.append)
    bus.publish(COMPACTING)
    bus.publish(WARNING)
    assert got == [WARNING]


def test_a_handler_may_ask_for_one_session() -> None:
    bus, got = Bus(), list[ContextEvent]()
    bus.subscribe(ContextWarning, got.append, session_id="s_2")
    bus.subscribe(AutoCompacting, got.append, session_id="s_2")
    bus.publish(WARNING)
    bus.publish(COMPACTING)
    assert got == [COMPACTING]


def test_a_listener_gets_an_event_as_a_notice_in_words() -> None:
    bus, everything, one = Bus(), Recorder(), Recorder()
    bus.listen(everything)
    bus.listen(one, session_id="s_2")
    bus.publish(WARNING)
    bus.publish(COMPACTING)
    kinds = [update["_meta"]["ullage"]["kind"] for update in everything.take()]
    assert kinds == ["context_warning", "auto_compacting"]
    assert [update["title"] for update in one.take()] == ["Compacting the context (910)…"]


def test_an_unsubscribed_listener_gets_nothing_more_and_may_unsubscribe_twice() -> None:
    bus, got, recorder = Bus(), list[ContextWarning](), Recorder()
    for unsubscribe in (bus.subscribe(ContextWarning, got.append), bus.listen(recorder)):
        unsubscribe()
        unsubscribe()
    bus.publish(WARNING)
    assert got == []
    assert recorder.take() == []


def test_one_subscription_of_two_alike_is_ended_alone() -> None:
    bus, got = Bus(), list[ContextWarning]()
    first = bus.subscribe(ContextWarning, got.append)
    bus.subscribe(ContextWarning, got.append)
    first()
    bus.publish(WARNING)
    assert got == [WARNING]


def test_a_listener_or_handler_that_raises_does_not_affect_others(caplog: pytest.LogCaptureFixture) -> None:
    bus, got, recorder = Bus(), list[ContextWarning](), Recorder()

    def fail(event: ContextWarning) -> None:
        raise RuntimeError(event.session_id)

    bus.subscribe(ContextWarning, fail)
    bus.subscribe(ContextWarning, got.append)
    bus.listen(Broken())
    bus.listen(recorder)
    with caplog.at_level(logging.ERROR):
        bus.publish(WARNING)
    assert got == [WARNING]
    assert len(recorder.take()) == 1
    assert len(caplog.records) == 2


def test_a_handler_may_unsubscribe_while_it_is_called() -> None:
    bus, got = Bus(), list[str]()

    def once(event: ContextWarning) -> None:
        got.append(event.session_id)
        stop()

    stop = bus.subscribe(ContextWarning, once)
    bus.subscribe(ContextWarning, lambda _: got.append("other"))
    bus.publish(WARNING)
    bus.publish(WARNING)
    assert got == ["s_1", "other", "other"]
