"""Conflicts of a merge: what a summary shows of files that are still to be resolved."""

from collections.abc import Sequence

from msgspec.structs import replace

from support.conversations import agent, bash, call, places, user
from ullage.model.message import Message
from ullage.summary.choosing.composition import compose
from ullage.summary.choosing.conflicts import conflicts_of
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest
from ullage.tokens.counter_choice import get_counter

REGION = """<<<<<<< HEAD
    step_count = 0
=======
    checkpoint_count = 0
>>>>>>> origin/spools"""
SHOWN = f"import os\n\nclass Spool:\n{REGION}\n    name = ''"


def read(path: str = "spool.py", text: str = SHOWN) -> Sequence[Message]:
    return call("Read", {"file_path": path}, text, call_id=f"read-{path}")


def edit(path: str, old: str) -> Sequence[Message]:
    return call("Edit", {"file_path": path, "old_string": old, "new_string": "    step_count = 0"}, "done", call_id="e")


def conflicts(*messages: Message, stays: int = 0) -> list[str]:
    split = len(messages) - stays
    digest = read_messages(messages[:split], range(split), Reader())
    if stays:
        after = read_messages(messages[split:], range(split, len(messages)), Reader())
        digest = replace(digest, after=after)
    return [f"{item.group}: {item.text}" for item in conflicts_of(digest)]


def test_a_region_in_conflict_is_shown_whole_with_the_lines_around_it() -> None:
    assert conflicts(*read()) == [f"spool.py: {SHOWN}"]


def test_regions_next_to_each_other_share_no_line() -> None:
    other = REGION.replace("step_count", "stack_depth").replace("checkpoint_count", "depth")
    assert conflicts(*read(text=f"class Spool:\n{REGION}\n    name = ''\n{other}\n    end = 1")) == [
        f"spool.py: class Spool:\n{REGION}\n    name = ''",
        f"spool.py: {other}\n    end = 1",
    ]


def test_lines_around_a_region_that_an_edit_removed_are_left_out() -> None:
    messages = (*read(text=f"class OldSpool(Base):\n{REGION}"), *edit("spool.py", "class OldSpool(Base):"))
    assert conflicts(*messages) == [f"spool.py: {REGION}"]


def test_what_a_compiler_draws_of_a_conflict_is_no_region() -> None:
    drawn = (
        "error: a mark of a conflict\n  |\n95 | <<<<<<< HEAD\n  | ^^^^^^^ here\n96 | a = 1\n99 | >>>>>>> origin/spools"
    )
    assert conflicts(*bash("cargo fmt", drawn)) == []


def test_a_region_whose_lines_are_shown_again_without_it_is_resolved() -> None:
    numbered = "\n".join(f"{number:>5}→{line}" for number, line in enumerate(SHOWN.splitlines(), start=1))
    resolved = "\n".join(f"{number:>5}→    value_{number} = {number}" for number in range(1, 9))
    assert conflicts(*read(text=numbered)) == [f"spool.py: {SHOWN}"]
    assert conflicts(*read(text=numbered), *bash("git checkout --ours spool.py", ""), *read(text=resolved)) == []


def test_a_region_whose_surroundings_are_shown_again_without_it_is_resolved() -> None:
    resolved = SHOWN.replace(REGION, "    step_count = 0")
    took_theirs = bash("git checkout --theirs spool.py", "")
    assert conflicts(*bash("cat spool.py", SHOWN, call_id="1"), *took_theirs, *bash("cat spool.py", resolved)) == []
    assert conflicts(*read(), *took_theirs, *bash("cat spool.py", resolved)) == []
    numbered = "\n".join(f"{number:>5}→{line}" for number, line in enumerate(resolved.splitlines(), start=1))
    assert conflicts(*bash("cat spool.py", SHOWN), *took_theirs, *read(text=numbered)) == []


def test_a_region_whose_surroundings_are_shown_with_another_file_or_in_part_is_not_resolved() -> None:
    resolved = SHOWN.replace(REGION, "    step_count = 0")
    assert conflicts(*read(), *bash("cat other.py", resolved)) == [f"spool.py: {SHOWN}"]
    assert conflicts(*read(), *bash("head -3 spool.py", "import os\n\nclass Spool:")) == [f"spool.py: {SHOWN}"]
    assert conflicts(*read(), *bash("cat spool.py", SHOWN)) == [f"$ cat spool.py: {SHOWN}"]


def test_a_resolved_region_is_not_shown() -> None:
    assert conflicts(*read(), *edit("spool.py", REGION)) == []


def test_a_region_that_a_command_printed_and_an_edit_removed_is_not_shown() -> None:
    assert conflicts(*bash("cat spool.py", SHOWN), *edit("spool.py", REGION)) == []


def test_of_two_regions_the_one_that_is_left_is_shown() -> None:
    other = REGION.replace("step_count", "stack_depth").replace("checkpoint_count", "depth")
    shown = conflicts(*read(text=f"{SHOWN}\n{other}\n"), *edit("spool.py", REGION))
    assert shown == [f"spool.py: {other}"]


def test_after_a_commit_or_an_aborted_merge_there_are_no_conflicts() -> None:
    assert conflicts(*read(), *bash("git add -A && git commit -m done", "[main 1a2b3c4] done")) == []
    assert conflicts(*read(), *bash("git merge --abort", "")) == []


def test_a_region_that_the_agent_still_sees_is_not_shown_again() -> None:
    assert conflicts(*read("a.py"), *read("spool.py"), stays=2) == [f"a.py: {SHOWN}"]


def test_conflicts_come_before_other_passages() -> None:
    noise = [
        message for number in range(30) for message in bash(f"cat f{number}.py", _lines(number), call_id=f"c{number}")
    ]
    messages = (user("Merge the branch `spools`."), *read(), *noise, agent("I look at the other files first."))
    request = SummaryRequest(messages=messages, indices=tuple(places(messages)), max_tokens=700)
    summary = compose(request, get_counter("gpt-4o")).summary
    assert "<<<<<<< HEAD" in summary
    assert ">>>>>>> origin/spools" in summary


def _lines(number: int) -> str:
    return "\n".join(f"value_{number}_{line} = load_value_{number}(line_{line})" for line in range(40))
