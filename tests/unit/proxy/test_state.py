"""The state table of a proxied session: what holds for the whole table. `tests/interaction/test_proxy_states.py`
drives its transitions by lines."""

from collections.abc import Set

import pytest

from ullage.model.errors import AgentError, SessionBusy
from ullage.proxy.session_life import BUSY, MUTED, OPEN, PASSING, TRANSITIONS, Event, State, after

ENDS = {State.LOST, State.CLOSED}


def in_order(states: Set[State]) -> list[State]:
    return [state for state in State if state in states]


def test_every_state_has_a_row_and_can_be_reached() -> None:
    assert set(TRANSITIONS) == set(State)
    reached = {state for row in TRANSITIONS.values() for state in row.values()}
    assert reached | {State.OPENING} == set(State)


@pytest.mark.parametrize("state", in_order(set(State) - {State.CLOSED}), ids=lambda state: state.name)
def test_the_agents_end_loses_a_session_in_any_state(state: State) -> None:
    assert after(state, Event.AGENT_ENDED) is State.LOST


@pytest.mark.parametrize("state", State, ids=lambda state: state.name)
def test_the_client_may_close_a_session_in_any_state(state: State) -> None:
    assert after(state, Event.CLOSE) is State.CLOSED


def test_a_closed_session_stays_closed() -> None:
    assert set(TRANSITIONS[State.CLOSED].values()) == {State.CLOSED}


def test_the_proxy_holds_a_session_only_when_the_agent_does_not_work_for_the_client() -> None:
    assert {state for state in State if Event.HELD in TRANSITIONS[state]} == {State.IDLE, State.LOST}


def test_only_a_held_session_gives_the_agent_a_turn_of_the_proxys_own() -> None:
    turns = {Event.COMPACT, Event.SUMMARIZE}
    assert {state for state in State if turns & TRANSITIONS[state].keys()} == {State.HOLDING}


@pytest.mark.parametrize("state", in_order(ENDS | {State.HOLDING}), ids=lambda state: state.name)
def test_a_turn_of_the_proxys_own_may_end_late(state: State) -> None:
    before = {State.COMPACTING, State.SUMMARIZING} if state is State.HOLDING else {state}
    assert {after(one, Event.DONE) for one in before} == {state}


def test_a_session_that_is_released_never_stays_held() -> None:
    released = {row[Event.RELEASED] for row in TRANSITIONS.values() if Event.RELEASED in row}
    assert released == (PASSING | ENDS) - {State.OPENING}


def test_a_prompt_that_was_passed_on_and_answered_leaves_nothing_to_release() -> None:
    assert after(State.IDLE, Event.RELEASED) is State.IDLE


@pytest.mark.parametrize("state", in_order(BUSY), ids=lambda state: state.name)
def test_a_session_that_is_busy_refuses_to_be_held(state: State) -> None:
    with pytest.raises(SessionBusy, match="wait for its turn to end"):
        after(state, Event.HELD)


@pytest.mark.parametrize("state", in_order(ENDS | MUTED), ids=lambda state: state.name)
def test_no_prompt_goes_to_a_session_that_the_agent_cannot_take_it_in(state: State) -> None:
    with pytest.raises(AgentError, match=state.value):
        after(state, Event.PROMPTED)


def test_whatever_passes_is_open_and_shown() -> None:
    assert BUSY < PASSING < OPEN
    assert not PASSING & MUTED
