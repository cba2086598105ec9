"""What a summary says of names that found no room in it: where each was seen last."""

from support.conversations import agent, bash, call, user
from ullage.model.message import Message
from ullage.summary.choosing.hints import hints_of
from ullage.summary.choosing.items import write_item
from ullage.summary.choosing.weights import count_mentions, weigh
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.text_reader import Reader


def hints(*messages: Message, covered: frozenset[str] = frozenset()) -> list[str]:
    digest = read_messages(messages, range(len(messages)), Reader())
    mentions = count_mentions(digest.contents)
    return sorted(write_item(item) for item in hints_of(digest, weigh(mentions), mentions, covered))


READ = call("Read", {"file_path": "/repo/src/store/rows.py"}, "def load_rows(file): ...\ndef save_rows(file): ...")


def test_names_that_are_not_on_the_page_are_listed_with_the_file_in_which_they_were_seen_last() -> None:
    path = "/repo/src/store/rows.py"
    assert hints(user("go"), *READ, covered=frozenset({path})) == ["- #3 `load_rows`, `save_rows` in store/rows.py"]
    assert hints(user("go"), *READ, covered=frozenset({path, "load_rows"})) == ["- #3 `save_rows` in store/rows.py"]


def test_a_name_that_was_seen_in_no_file_is_listed_with_its_last_message() -> None:
    said = (user("go"), agent("The cause is old_cache."), *bash("env | grep MY_HOME", "MY_HOME=/x"))
    assert hints(*said) == ["- #2 `old_cache`", "- #4 `MY_HOME`"]


def test_what_was_seen_in_one_file_at_several_times_is_one_entry_with_the_newest_message() -> None:
    again = call(
        "Read", {"file_path": "/repo/src/store/rows.py", "offset": 90}, "def drop_rows(file): ...", call_id="2"
    )
    listed = hints(
        user("go"), *READ, agent("Now the end of it."), *again, covered=frozenset({"/repo/src/store/rows.py"})
    )
    assert listed == ["- #6 `drop_rows`, `load_rows`, `save_rows` in store/rows.py"]
