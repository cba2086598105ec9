"""Which sessions are shown under which, and which are left out where one conversation is chosen."""

from support.logs import message, records
from support.memory_store import MemoryStore
from ullage.model.events import ConversationImported, Record, SessionCreated
from ullage.service.archive.naming import SubAgents, list_main

SAID = message("m", "Hello.")


def store_of(*origins: tuple[str, str, str]) -> MemoryStore:
    """Returns a store with a session for each `(id, agent's id, parent's id)`; `-` stands for a sub-agent's whose
    parent is not known, and "" for a user's conversation."""
    store = MemoryStore()
    for time, (session_id, origin, parent) in enumerate(origins):
        came = ConversationImported(
            format="f", agent="A", origin_id=origin, parent_id=parent.strip("-"), is_sub_agent=bool(parent)
        )
        store.create(session_id, records(SessionCreated(cwd="/p"), came, SAID, timestamp=time))
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
    store.create("s2", records(SessionCreated(cwd="/p"), fork, SAID, timestamp=9))
    assert listed(store) == ["s2", "s1"]


def test_a_session_with_neither_a_message_nor_a_title_is_not_listed() -> None:
    store = MemoryStore()
    for number in range(10):
        store.create(f"empty{number}", records(SessionCreated(cwd="/p"), timestamp=number))
    store.create("titled", records(SessionCreated(cwd="/p", title="Later"), timestamp=5))
    for number in (0, 3):
        store.create(f"said{number}", records(SessionCreated(cwd="/p"), SAID, timestamp=number))
    assert listed(store) == ["titled", "said3", "said0"]
    assert [listed(store, 1, at) for at in range(4)] == [["titled"], ["said3"], ["said0"], []]
    assert [info.session_id for info in SubAgents.of(store).list_parents(store, None, 2)] == ["titled", "said3"]
    store.append("empty2", [Record(position=1, timestamp=20, event=SAID)])
    assert listed(store)[0] == "empty2"
