"""An earlier summary as an outline: a line stays with its parents."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.ledger.outline import lines_of, outline_of

SUMMARY = """\
This session is being continued from a previous conversation.
Analysis:
Let me chronologically analyze the conversation:
1. The user asked for it.

Summary:
1. Primary Request and Intent:
   - Count only cards of the current year, never all
4. Errors and fixes:
   - **count_cards redeclared**: two of one name
     - Fixed by extracting a constant
   - **Wrong year**
     - Fixed by reading the state
```py
x = 1
```
"""


def test_what_stands_before_the_summary_is_not_kept() -> None:
    assert "chronologically" not in " ".join(line.text for line in lines_of(SUMMARY))


def test_a_fix_stands_under_its_own_error() -> None:
    entries = {entry.text: entry.beside.splitlines() for entry in outline_of(SUMMARY, 0)}
    assert entries["- Fixed by extracting a constant"] == [
        "4. Errors and fixes:",
        "- **count_cards redeclared**: two of one name",
    ]
    assert entries["- Fixed by reading the state"] == ["4. Errors and fixes:", "- **Wrong year**"]


def test_code_in_fences_is_left_out() -> None:
    assert all("x = 1" not in line.text for line in lines_of(SUMMARY))


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["a", "b", "c"])), min_size=1, max_size=12))
def test_the_parent_of_every_item_is_the_nearest_item_before_it_that_is_less_indented(
    items: list[tuple[int, str]],
) -> None:
    text = "\n".join(f"{'  ' * depth}- {word}{number}" for number, (depth, word) in enumerate(items))
    lines = lines_of(text)
    assert len(lines) == len(items)
    for number, (depth, _) in enumerate(items):
        nearest = next((before for before in range(number - 1, -1, -1) if items[before][0] < depth), None)
        assert (lines[number].parents[-1] if lines[number].parents else None) == nearest
