"""A conversation that grows is read as the finished one is, whatever its records and in whatever pieces."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from support.growing_files import expect_pieces_to_equal_the_whole, records_of
from support.samples import SAMPLES, samples
from support.transcripts import ROOT
from ullage.agents.transcripts import detect_format, known_format
from ullage.formats.parsing import Line, parse_document
from ullage.formats.transcripts.format import Format

# The records of each format's samples, of which any sequence may make up a file.
RECORDS: dict[str, tuple[Format, list[Line]]] = {}
for path in sorted(SAMPLES.glob("*.txt")):
    for sample in samples(path):
        known = detect_format(sample.document)
        if known.reader is not None:
            RECORDS.setdefault(known.name, (known, []))[1].extend(records_of(known, sample.document))


@pytest.mark.parametrize("name", sorted(RECORDS))
@settings(max_examples=50)
@given(data=st.data(), cuts=st.lists(st.integers(0, 20), max_size=4))
def test_any_growing_conversation_is_read_as_the_whole_is(name: str, data: st.DataObject, cuts: list[int]) -> None:
    known, records = RECORDS[name]
    drawn = data.draw(st.lists(st.sampled_from(records), max_size=20))
    numbered = [replace(record, number=number) for number, record in enumerate(drawn, start=1)]
    expect_pieces_to_equal_the_whole(known, [*numbered, Line(number=99, problem="not JSON")], cuts)


def test_what_a_reader_has_counted_is_known_to_the_process_that_reads_on() -> None:
    known, records = RECORDS["openhands"]

    def first(key: str, value: str = "") -> Line:
        return next(one for one in records if (found := (one.value or {}).get(key)) and value in ("", found))

    state, call, prompt = first("state"), first("llm_response_id"), first("kind", "SystemPromptEvent")
    # The second line of the answer has no usage of its own.
    numbered = [replace(record, number=number) for number, record in enumerate((state, call, prompt, call), start=1)]
    expect_pieces_to_equal_the_whole(known, numbered, [3])


@pytest.mark.skipif(not ROOT.is_dir(), reason="no recorded conversations on this machine (set ULLAGE_TRANSCRIPTS)")
@pytest.mark.parametrize(
    ("pattern", "step"),
    [
        ("live/copilot-cli/*/events.jsonl", 1),
        ("live/codex/*.jsonl", 1),
        ("agent_fixtures/*.json*", 1),
        ("codex_tui_log/*.jsonl", 97),
    ],
)
def test_recorded_conversations_that_grow_are_read_as_the_whole_is(pattern: str, step: int) -> None:
    for path in sorted(ROOT.glob(pattern)):
        document = parse_document(path.read_bytes(), path.name)
        known = known_format(document)
        if known is not None and known.reader is not None:
            records = records_of(known, document)
            expect_pieces_to_equal_the_whole(known, records, range(0, len(records), step))
