"""A Codex session file that grows is read as the finished file is."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.codex_files import call, compacted, counted, event, item, line, output, said, session, usage
from support.foreign import to_lines
from support.growing_files import expect_pieces_to_equal_the_whole, records_of
from support.transcripts import ROOT
from ullage.agents.codex import early_log
from ullage.agents.codex.rollout import FORMAT
from ullage.formats.parsing import parse_document

NUMBER = st.integers(1, 5)
TEXT = st.sampled_from(["one", "two", "<environment_context>x</environment_context>", "summary"])
LINES: st.SearchStrategy[dict[str, Any]] = st.one_of(
    st.builds(said, st.sampled_from(["user", "assistant", "developer"]), TEXT),
    NUMBER.map(lambda number: call(f"c{number}")),
    NUMBER.map(lambda number: output(f"c{number}")),
    NUMBER.map(lambda number: counted(100 * number)),
    NUMBER.map(
        lambda number: line(
            "token_usage_record", usage=usage(100 * number), thread_token_usage={"total_tokens": 100 * number}
        )
    ),
    TEXT.map(lambda text: compacted("summary", said("user", text), said("user", "summary"))),
    st.just(line("compacted", message="summary")),
    NUMBER.map(lambda number: event("thread_rolled_back", num_turns=number)),
    st.just(event("task_started", model_context_window=1_000)),
    NUMBER.map(lambda number: line("turn_context", model=f"m{number}")),
    st.just(session(instructions="one")),
    st.just(item("tool_call", function={"name": "shell"}, arguments={})),
    st.just(item("tool_result", name="shell", result={})),
    st.just(item("agent_message", author="a", content=[])),
)


@given(st.lists(LINES, max_size=25), st.lists(st.integers(0, 25), max_size=4))
def test_any_growing_session_file_is_read_as_the_whole_is(lines: list[dict[str, Any]], cuts: list[int]) -> None:
    records = records_of(FORMAT, parse_document(to_lines(*lines), "test.jsonl"))
    expect_pieces_to_equal_the_whole(FORMAT, records, cuts)


def test_recorded_session_files_that_grow_are_read_as_the_whole_is() -> None:
    files = [*ROOT.glob("live/codex/*.jsonl"), *ROOT.glob("agent_fixtures/codex__*.jsonl")]
    if not files:
        pytest.skip("no recorded session files on this machine (set ULLAGE_TRANSCRIPTS)")
    for path in sorted(files):
        records = records_of(FORMAT, parse_document(path.read_bytes(), path.name))
        expect_pieces_to_equal_the_whole(FORMAT, records, range(len(records)))


def test_recorded_terminal_logs_that_grow_are_read_as_the_whole_is() -> None:
    files = sorted(ROOT.glob("codex_tui_log/*.jsonl"))
    if not files:
        pytest.skip("no recorded terminal logs on this machine (set ULLAGE_TRANSCRIPTS)")
    for path in files:
        records = records_of(early_log.FORMAT, parse_document(path.read_bytes(), path.name))
        expect_pieces_to_equal_the_whole(early_log.FORMAT, records, range(0, len(records), 97))
