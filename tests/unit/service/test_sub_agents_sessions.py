"""Which sessions are shown under which, and which are left out where one conversation is chosen."""

from support.memory_store import MemoryStore
from ullage.model.events import ConversationImported, Record, SessionCreated
from ullage.service.follow.sub_agents import SubAgents, list_main


def store_of(*origins: tuple[str, str, str]) -> MemoryStore:
    """Returns a store with a session for each `(id, agent's id, parent's id)`; `-` stands for a sub-agent's whose
    parent is not known, and "" for a user's conversation."""
    store = MemoryStore()
    for time, (session_id, origin, parent) in enumerate(origins):
        came = ConversationImported(
            format="f", agent="A", origin_id=origin, parent_id=parent.strip("-"), is_sub_agent=bool(parent)
        )
        events = (SessionCreated(cwd="/p"), came)
        store.create(session_id, [Record(position=at, timestamp=time, event=event) for at, event in enumerate(events)])
    return store


def listed(store: MemoryStore, limit: int = 50, offset: int = 0) -> list[str]:
    return [info.session_id for info in list_main(store, "/p", limit, offset)]


def test_sub_agents_sessions_are_shown_under_their_parents_and_left_out_of_choices() -> None:
    store = store_of(("s1", "one", ""), ("s2", "two", "one"), ("s3", "three", "two"), ("s4", "four", ""))
    assert listed(store) == ["s4", "s1"]
    assert (listed(store, 1), listed(store, 1, 1)) == (["s4"], ["s1"])
    sub_agents = SubAgents.of(store)
    assert (sub_agents.shown_under("s3"), sub_agents.shown_under("s1")) == ("s2", None)
    assert sub_agents.children("s1") == ["s2", "s3"]
    assert [info.session_id for info in sub_agents.list_parents(store, "/p", 50)] == ["s4", "s1"]


def test_one_whose_parent_is_not_stored_is_shown_by_itself() -> None:
    assert listed(store_of(("s2", "two", "one"))) == ["s2"]


def test_one_whose_parent_is_not_known_is_left_out_of_choices_but_listed() -> None:
    store = store_of(("s1", "one", ""), ("s2", "two", "-"))
    assert listed(store) == ["s1"]
    assert [info.session_id for info in SubAgents.of(store).list_parents(store, "/p", 50)] == ["s2", "s1"]


def test_files_that_name_each_other_as_parents_do_not_hang_the_list() -> None:
    sub_agents = SubAgents.of(store_of(("s1", "one", "two"), ("s2", "two", "one")))
    assert (sub_agents.children("s1"), sub_agents.children("s2")) == (["s2"], ["s1"])


def test_a_fork_is_no_sub_agent() -> None:
    store = store_of(("s1", "one", ""))
    fork = ConversationImported(format="f", agent="A", origin_id="two", parent_id="one")
    store.create(
        "s2",
        [Record(position=0, timestamp=9, event=SessionCreated(cwd="/p")), Record(position=1, timestamp=9, event=fork)],
    )
    assert listed(store) == ["s2", "s1"]
