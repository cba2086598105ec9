"""What holds until further notice: constraints in long requests, and standing instructions."""

from support.conversations import call, places, user
from ullage.agents.calls import tool_calls
from ullage.model.message import Message
from ullage.summary.choosing.constraints import constraints_of, instructions_of
from ullage.summary.choosing.items import Item, Section
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader

LONG = "Port the spool to Rust. " + "It has many parts and each of them matters. " * 40


def digest(*messages: Message) -> Digest:
    return read_messages(messages, places(messages), Reader())


def texts(items: list[Item]) -> list[str]:
    return [item.text for item in items]


def instructions(*messages: Message, kept: frozenset[str] = frozenset()) -> list[str]:
    calls = tool_calls(messages, places(messages))
    return texts(list(instructions_of(messages, places(messages), kept, calls)))


def test_what_a_long_request_forbids_is_a_constraint_and_worth_more_than_what_it_limits() -> None:
    found = digest(user(f"{LONG} Never touch config/legacy.ini here. It must use two threads. It is nice."))
    items = list(constraints_of(found))
    assert [item.section for item in items] == [Section.CONSTRAINTS] * len(items)
    never = next(item for item in items if "Never touch" in item.text)
    limit = next(item for item in items if "two threads" in item.text)
    assert never.value >= limit.value
    assert not any(text.endswith("It is nice.") and "Never" not in text and "must" not in text for text in texts(items))


def test_a_row_of_a_pasted_table_is_no_constraint() -> None:
    rows = "M140 Snnn\tSet bed temperature (don't wait)\tAll\n| M106 | Fan on, must be last | All |\n"
    found = digest(user(f"{LONG}\n{rows}\nNever touch config/legacy.ini here."))
    assert [text for text in texts(list(constraints_of(found))) if "M1" in text] == []


def test_code_a_patch_a_forms_comment_and_what_is_only_so_are_no_constraints() -> None:
    code = "```sh\n# Never replace more than the first one\nsed -i s/a/b/ a.py\n```"
    form = "<!-- Do not write\nthe number of the issue here. -->"
    patch = "+        # Never build it twice, always cache it"
    told = "This package is only used on the old machines. The rank is: CRITICAL, IMPORTANT, NICE TO HAVE."
    found = digest(user(f"{LONG}\n{code}\n{form}\n{patch}\n{told}\n- Never touch config/legacy.ini here."))
    assert texts(list(constraints_of(found))) == ["Never touch config/legacy.ini here."]


def test_demands_in_other_languages_are_constraints() -> None:
    german, chinese = "Die Datei config/alt.ini darfst du auf keinen Fall ändern.", "不要改动公共接口和配置文件。"
    found = digest(user(f"{LONG}\n{german}\n{chinese}必须使用两个线程来处理。"))
    assert set(texts(list(constraints_of(found)))) >= {german}
    assert any("不要改动" in text for text in texts(list(constraints_of(found))))


def test_a_short_request_gives_no_separate_constraint() -> None:
    assert list(constraints_of(digest(user("Never touch config/legacy.ini.")))) == []


def test_instructions_come_from_what_was_inserted_and_from_files_read_last() -> None:
    inserted = user("<user_instructions>\nAlways run the linter before a commit.\n</user_instructions>")
    old = call("Read", {"file_path": "AGENTS.md"}, "Commit to the branch called old.", call_id="a")
    new = call("Read", {"file_path": "AGENTS.md"}, "Commit to the branch called new.", call_id="b")
    found = instructions(inserted, *old, *new)
    assert found == ["Always run the linter before a commit.", "Commit to the branch called new."]


def test_instructions_in_a_message_that_stays_are_not_repeated() -> None:
    inserted = user("<user_instructions>\nAlways run the linter before a commit.\n</user_instructions>")
    assert instructions(inserted, kept=frozenset({inserted.id})) == []


def test_a_file_that_could_not_be_read_gives_no_instructions() -> None:
    failed = call("Read", {"file_path": "AGENTS.md"}, "No such file or directory: AGENTS.md", is_error=True)
    assert instructions(*failed) == []


def test_of_an_instruction_file_sentences_and_demands_stay_and_headings_code_and_drawings_do_not() -> None:
    text = "\n".join(
        [
            "     1→# Working on the spool of threads",
            "     2→## Commands for everything (all of them)",
            "     3→Always run `make lint` before a commit.",
            "     4→```go",
            "     5→form := NewForm(everything, that, is, needed)",
            "     6→```",
            "     7→├── spool/          # where the spools are kept",
            "     8→The spool is wound by `winder.py` alone.",
            "     9→- packages/tui/README.md",
            "    10→- Language and build:",
        ]
    )
    assert instructions(*call("Read", {"file_path": "AGENTS.md"}, text)) == [
        "Always run `make lint` before a commit.",
        "The spool is wound by `winder.py` alone.",
        "packages/tui/README.md",
    ]
