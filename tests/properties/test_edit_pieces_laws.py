"""What is taken for the same edit of two texts."""

import json
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from ullage.wire import plan
from ullage.wire.json_files import add
from ullage.wire.plan import Added, McpServer, edit_pieces

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=40)
NAMES = st.sampled_from(["numStartups", "projects", "tips", "model", "env"])
VALUES = st.one_of(st.integers(), TEXTS, st.lists(TEXTS, max_size=3), st.dictionaries(TEXTS, TEXTS, max_size=3))


@given(TEXTS, TEXTS)
def test_a_text_that_does_not_change_has_no_pieces(one: str, other: str) -> None:
    assert edit_pieces(one, one) == ()
    assert bool(edit_pieces(one, other)) == (one != other)


@given(st.dictionaries(NAMES, VALUES, min_size=1), st.dictionaries(NAMES, VALUES, min_size=1))
def test_a_server_that_is_added_is_the_same_edit_whatever_else_the_settings_say(
    one: dict[str, object], other: dict[str, object]
) -> None:
    added = Added(mcp=McpServer(name="ullage", command="ullage", arguments=("mcp",)))
    pieces = [edit_pieces(text, add(text, added)) for text in (json.dumps(one, indent=2), json.dumps(other, indent=2))]
    assert pieces[0] == pieces[1]
    ((old, new),) = pieces[0]
    assert (old, "mcpServers" in new) == ("", True)


@given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40), st.text("ab\n", max_size=40))
def test_an_edit_of_a_long_text_is_that_of_a_short_one(same: str, one: str, other: str) -> None:
    whole = edit_pieces(same + one + same, same + other + same)
    with patch.object(plan, "_STEP", 3):
        assert edit_pieces(same + one + same, same + other + same) == whole
